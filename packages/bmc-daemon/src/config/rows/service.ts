/** Settings of consoles, shutdown, served resources, tasks, discovery and the state of the service. */
import { z } from 'zod';
import { featureSets } from '../../resources/feature-set.js';
import { boolean, number, oneOf, optionalPath, optionalText, type SettingDefinition } from './row.js';

/** The settings, in the order of the page of the configuration. */
export const serviceSettings = {
  consoleSshPort: {
    name: 'EMULATOR_CONSOLE_SSH_PORT',
    type: z.union([z.int().min(0).max(65_535), z.literal('auto'), z.null()]),
    expected: "an integer from 0 to 65535, 'auto' or None",
    default: 'auto',
    form: 'literal',
    doc: 'TCP port of the serial consoles over SSH.',
  } satisfies SettingDefinition<number | 'auto' | null>,
  shutdownWaitSeconds: number(0, 3600, {
    name: 'EMULATOR_SHUTDOWN_WAIT_SECONDS',
    default: 5,
    doc: 'How long running requests may continue after SIGTERM or SIGINT.',
  }),
  dmtfStrict: boolean({
    name: 'EMULATOR_DMTF_STRICT',
    default: false,
    flag: '--dmtf-strict',
    doc: "Whether answers follow DMTF's validators instead of the contract.",
  }),
  featureSet: oneOf(featureSets, {
    name: 'EMULATOR_FEATURE_SET',
    default: 'full',
    flag: '--feature-set',
    doc: 'The set of resources that the daemon serves.',
  }),
  taskAfterSeconds: number(0, 600, {
    name: 'EMULATOR_TASK_AFTER_SECONDS',
    default: 8,
    doc: 'Time after which a running action becomes a task.',
  }),
  ssdp: boolean({
    name: 'EMULATOR_SSDP',
    default: false,
    doc: 'Whether clients can find the service by SSDP.',
  }),
  consoleLog: boolean({
    name: 'EMULATOR_CONSOLE_LOG',
    default: true,
    doc: 'Whether the daemon records the output of serial ports.',
  }),
  sharedStore: optionalText({
    name: 'EMULATOR_SHARED_STORE',
    default: null,
    doc: 'URL of a Redis in which several daemons for one OpenStack cloud share their state.',
  }),
  stateDir: optionalPath({
    name: 'EMULATOR_STATE_DIR',
    default: null,
    doc: 'Folder for the state of the service.',
  }),
};
