/** The table of command-line flags, for the parser and for the documentation. */
import { defaults } from './defaults.js';

/** A flag of the command line. */
interface FlagDefinition {
  /** In commander's syntax, such as `--port <number>`. */
  readonly flags: string;
  /**
   * Environment variable with the same meaning. The flag overrides the variable. Exception: if a variable switches
   * debug lines on, no flag can switch them off.
   */
  readonly environment?: string;
  readonly default?: string;
  readonly doc: string;
}

/** All flags in the order of the help text. */
export const flagsTable: readonly FlagDefinition[] = [
  { flags: '-c, --config <file>', environment: 'CONFIG_FILE_PATH', doc: 'the configuration file' },
  {
    flags: '--host <address>',
    environment: 'HOST',
    default: defaults.host,
    doc: 'address to listen on; :: means all IPv4 and IPv6 addresses',
  },
  {
    flags: '--port <number>',
    environment: 'PORT',
    default: `${defaults.port}`,
    doc: 'TCP port to listen on; 0 selects a free port, which the log shows',
  },
  {
    flags: '--num_workers <number>',
    environment: 'NUM_WORKERS',
    default: `${defaults.numWorkers}`,
    doc: 'number of processes that serve the port together; they share keys, limits, cooldowns and usage',
  },
  {
    flags: '--ssl_certfile_path <file>',
    environment: 'SSL_CERTFILE_PATH',
    doc: 'PEM certificate; the proxy then serves HTTPS instead of HTTP',
  },
  {
    flags: '--ssl_keyfile_path <file>',
    environment: 'SSL_KEYFILE_PATH',
    doc: 'PEM file with the key of the certificate',
  },
  { flags: '--debug', environment: 'DEBUG', doc: 'log at level debug' },
  {
    flags: '--detailed_debug',
    environment: 'DETAILED_DEBUG',
    doc: 'also log upstream requests as curl lines, and the raw answers',
  },
  {
    flags: '--validate_config',
    doc: 'check the configuration, print the faults, or else the effective settings, and exit',
  },
  {
    flags: '--drain_delay <seconds>',
    environment: 'DRAIN_DELAY',
    default: `${defaults.drainDelaySeconds}`,
    doc: 'how long to accept connections after SIGTERM, while readiness answers 503',
  },
  {
    flags: '--drain_timeout <seconds>',
    environment: 'DRAIN_TIMEOUT',
    default: `${defaults.drainSeconds}`,
    doc: 'time limit for requests that still run after the drain delay',
  },
  {
    flags: '-m, --model <name>',
    doc: 'serve one model without a configuration file, for example hosted_vllm/gpt-oss-120b',
  },
  { flags: '--alias <name>', doc: 'public name of that model' },
  { flags: '--api_base <url>', doc: 'address of that model' },
  { flags: '--headers <json>', doc: 'headers to add to every request for that model' },
  {
    flags: '--request_timeout <seconds>',
    doc: 'time limit for a plain answer, or for the first byte of a stream; overrides litellm_settings.request_timeout',
  },
  {
    flags: '--drop_params',
    doc: 'remove parameters that the provider does not support; overrides litellm_settings.drop_params',
  },
];
