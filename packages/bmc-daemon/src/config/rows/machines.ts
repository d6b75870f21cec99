/** The settings of the hypervisor and of the machines to serve. */
import { z } from 'zod';
import { fakeSystemSettings } from './fake-systems.js';
import { boolean, number, optionalPath, optionalText, type SettingDefinition } from './row.js';

/** The settings, in the order of the page of the configuration. */
export const machineSettings = {
  fakeDriver: boolean({
    name: 'EMULATOR_FAKE_DRIVER',
    default: false,
    flag: '--fake',
    doc: 'Whether the daemon serves machines in memory instead of those of libvirt.',
  }),
  ...fakeSystemSettings,
  ironicCloud: optionalText({
    name: 'EMULATOR_IRONIC_CLOUD',
    default: null,
    flag: '--ironic-cloud',
    doc: 'Not supported: there is no Ironic backend, so a value prevents the start.',
  }),
  allowedInstances: {
    name: 'EMULATOR_ALLOWED_INSTANCES',
    type: z.array(z.string().min(1)).nullable(),
    expected: 'a list of UUIDs or names (strings), or None',
    expectedPart: 'a UUID or a name (a string)',
    default: null,
    form: 'literal',
    doc: 'The machines that clients can see.',
  } satisfies SettingDefinition<string[] | null>,
  secureBootEnabledNvram: optionalPath({
    name: 'EMULATOR_SECURE_BOOT_ENABLED_NVRAM',
    default: null,
    doc: 'Template of the UEFI variables with the keys of Secure Boot.',
  }),
  secureBootDisabledNvram: optionalPath({
    name: 'EMULATOR_SECURE_BOOT_DISABLED_NVRAM',
    default: null,
    doc: 'Template of the UEFI variables without the keys of Secure Boot.',
  }),
  disablePowerOff: boolean({
    name: 'EMULATOR_DISABLE_POWER_OFF',
    default: false,
    doc: 'Whether the daemon rejects actions that switch a machine off.',
  }),
  gracefulRestartWaitSeconds: number(0, 86_400, {
    name: 'EMULATOR_GRACEFUL_RESTART_WAIT_SECONDS',
    default: 60,
    doc: 'Time for the guest to shut down in a GracefulRestart.',
  }),
  libvirtTimeoutSeconds: number(0.1, 600, {
    name: 'EMULATOR_LIBVIRT_TIMEOUT_SECONDS',
    default: 4,
    doc: 'Time limit for reads and short changes in libvirt.',
  }),
};
