/**
 * Reads the settings that only a restart changes; a reload reads only the TLS files again. Flags override the
 * environment, and the environment overrides the file. Exception: each of the three can enable debug lines, and none
 * can disable them.
 */
import path from 'node:path';
import { loadTls, TlsFilesError } from '@rackless/daemon/network/tls.js';
import type { Environment, ListenSettings, WebhookSettings } from '../settings.js';
import { defaults } from './defaults.js';
import { fromEnvironment, readNumber, readSeconds, type GivenText } from './given-text.js';
import { COMMAND_LINE, ENVIRONMENT, type Block, type Findings } from './faults.js';
import { booleanWord } from './setting-types.js';
import type { generalTable, settingsTable } from './settings.js';
import { readAlerts } from './callbacks/alert-settings.js';
import type { IgnoredSettings } from './names/unknown-keys.js';
import { readTelemetry } from './callbacks/telemetry-settings.js';

/** The flags by name: strings as given, switches as true. */
export interface Flags {
  readonly host?: string;
  readonly port?: string;
  readonly num_workers?: string;
  readonly debug?: boolean;
  readonly detailed_debug?: boolean;
  readonly ssl_keyfile_path?: string;
  readonly ssl_certfile_path?: string;
  readonly drain_delay?: string;
  readonly drain_timeout?: string;
  /** Name of the only model, without a configuration file. */
  readonly model?: string;
  readonly alias?: string;
  readonly api_base?: string;
  readonly headers?: string;
  readonly request_timeout?: string;
  readonly drop_params?: boolean;
}

/** Input of {@link readListenSettings}. */
interface ListenInput {
  readonly flags: Flags;
  readonly environment: Environment;
  /** `environment`, overridden by the file's `environment_variables`. */
  readonly variables: Environment;
  readonly settings: Block<typeof settingsTable>;
  readonly general: Block<typeof generalTable>;
  readonly webhooks: readonly WebhookSettings[];
  readonly ignoredSettings: IgnoredSettings;
  readonly workingDirectory: string;
  readonly findings: Findings;
}

/**
 * Reads the settings. A faulty value is a fault, which prevents the start. Exceptions: `LITELLM_LOG` causes only a
 * warning. `DEBUG`, `DETAILED_DEBUG` and `JSON_LOGS` have no effect if they are not booleans.
 */
export function readListenSettings(input: ListenInput): ListenSettings {
  const { flags, environment, settings, findings } = input;
  const given = (flag: string | undefined, flagName: string, variable: string): GivenText | undefined =>
    flag === undefined
      ? fromEnvironment(environment, variable)
      : { text: flag, place: `command line: ${flagName}`, origin: COMMAND_LINE };
  const isOn = (variable: string) => booleanWord(environment[variable] ?? '') ?? false;

  const detailedDebug = flags.detailed_debug === true || isOn('DETAILED_DEBUG');
  const debug = detailedDebug || flags.debug === true || isOn('DEBUG') || settings.values.setVerbose === true;
  const host = given(flags.host, '--host', 'HOST');
  if (host?.text === '') findings.faultAt(host.origin, `${host.place} must be an address`);
  const { store, keepUsageDays } = input.general.values;
  return {
    webhooks: input.webhooks,
    budgetAlerts: readAlerts(input),
    telemetry: readTelemetry(settings.rest, input.variables, findings),
    store:
      store === undefined
        ? null
        : { place: storePlace(store, input.workingDirectory), keepDays: keepUsageDays ?? null },
    host: host?.text ?? defaults.host,
    port:
      readNumber(given(flags.port, '--port', 'PORT'), {
        pattern: /^\d{1,5}$/,
        max: 65_535,
        expected: 'a port from 0 to 65535',
        findings,
      }) ?? defaults.port,
    numWorkers:
      readNumber(given(flags.num_workers, '--num_workers', 'NUM_WORKERS'), {
        pattern: /^[1-9]\d{0,2}$/,
        max: MAX_WORKERS,
        expected: `a number of processes from 1 to ${MAX_WORKERS}`,
        findings,
      }) ?? defaults.numWorkers,
    tls: readTls(
      given(flags.ssl_certfile_path, '--ssl_certfile_path', 'SSL_CERTFILE_PATH'),
      given(flags.ssl_keyfile_path, '--ssl_keyfile_path', 'SSL_KEYFILE_PATH'),
      input,
    ),
    logLevel: debug ? 'debug' : readLogLevel(environment, findings),
    detailedDebug,
    jsonLogs: booleanWord(environment['JSON_LOGS'] ?? '') ?? settings.values.jsonLogs ?? null,
    drainDelayMs:
      1000 *
      (readSeconds(given(flags.drain_delay, '--drain_delay', 'DRAIN_DELAY'), findings) ?? defaults.drainDelaySeconds),
    drainMs:
      1000 *
      (readSeconds(given(flags.drain_timeout, '--drain_timeout', 'DRAIN_TIMEOUT'), findings) ?? defaults.drainSeconds),
  };
}

/** Maximum number of workers. Each worker needs about 100 MB of memory. */
const MAX_WORKERS = 128;

function storePlace(store: string, workingDirectory: string) {
  return /^rediss?:\/\//.test(store) ? { url: store } : { folder: path.resolve(workingDirectory, store) };
}

function readTls(
  certificate: GivenText | undefined,
  key: GivenText | undefined,
  input: ListenInput,
): ListenSettings['tls'] {
  const { findings, workingDirectory } = input;
  if (certificate === undefined && key === undefined) return null;
  if (key === undefined || certificate === undefined) {
    const [present, missing] =
      certificate === undefined ? [key, '--ssl_certfile_path'] : [certificate, '--ssl_keyfile_path'];
    findings.faultAt(COMMAND_LINE, `${present?.place ?? ''} needs ${missing} as well: HTTPS needs both`);
    return null;
  }
  const certFile = path.resolve(workingDirectory, certificate.text);
  const keyFile = path.resolve(workingDirectory, key.text);
  findings.watchedFiles.add(certFile).add(keyFile);
  try {
    loadTls({ sslCert: certFile, sslKey: keyFile });
  } catch (error) {
    if (!(error instanceof TlsFilesError)) throw error;
    const { place, origin } = error.message.includes('the key') ? key : certificate;
    findings.faultAt(origin, `${place} cannot be used: ${error.message}`);
  }
  return { certFile, keyFile };
}

/** Python's log levels, which LITELLM_LOG uses → the levels of this proxy. */
const LEVELS: Readonly<Record<string, ListenSettings['logLevel']>> = {
  CRITICAL: 'error',
  ERROR: 'error',
  WARNING: 'warn',
  WARN: 'warn',
  INFO: 'info',
  DEBUG: 'debug',
};

function readLogLevel(environment: Environment, findings: Findings): ListenSettings['logLevel'] {
  const name = environment['LITELLM_LOG'];
  if (name === undefined || name === '') return 'info';
  const level = LEVELS[name.toUpperCase()];
  if (level === undefined)
    findings.warnAt(ENVIRONMENT, `environment: LITELLM_LOG is none of ${Object.keys(LEVELS).join(', ')}: INFO is used`);
  return level ?? 'info';
}
