/** The command line's flags: what commander is told, and the documentation. */
import { defaults } from './defaults.js';

export interface FlagDefinition {
  /** As commander takes it: `--port <number>`. */
  readonly flags: string;
  /** Says the same, more weakly. */
  readonly environment?: string;
  readonly default?: string;
  readonly doc: string;
}

export const flagsTable: readonly FlagDefinition[] = [
  { flags: '-c, --config <file>', environment: 'CONFIG_FILE_PATH', doc: 'the configuration' },
  {
    flags: '--host <address>',
    environment: 'HOST',
    default: defaults.host,
    doc: 'address to listen at; :: is every address, IPv6 too',
  },
  {
    flags: '--port <number>',
    environment: 'PORT',
    default: `${defaults.port}`,
    doc: 'TCP port to listen at; 0 is any free one, which the log names',
  },
  {
    flags: '--ssl_certfile_path <file>',
    environment: 'SSL_CERTFILE_PATH',
    doc: 'PEM certificate: HTTPS instead of HTTP',
  },
  { flags: '--ssl_keyfile_path <file>', environment: 'SSL_KEYFILE_PATH', doc: 'PEM key of the certificate' },
  { flags: '--debug', environment: 'DEBUG', doc: 'log everything that happens' },
  {
    flags: '--detailed_debug',
    environment: 'DETAILED_DEBUG',
    doc: 'and what is sent to upstreams, as curl lines, and what they answer',
  },
  { flags: '--validate_config', doc: 'say what is wrong with the configuration, print what holds, and end' },
  {
    flags: '--drain_delay <seconds>',
    environment: 'DRAIN_DELAY',
    default: `${defaults.drainDelaySeconds}`,
    doc: 'how long to go on listening after SIGTERM, unready, until load balancers have noticed',
  },
  {
    flags: '--drain_timeout <seconds>',
    environment: 'DRAIN_TIMEOUT',
    default: `${defaults.drainSeconds}`,
    doc: 'how long requests may go on after that',
  },
  { flags: '-m, --model <name>', doc: 'serve one model without a configuration: hosted_vllm/gpt-oss-120b' },
  { flags: '--alias <name>', doc: 'what clients call that model' },
  { flags: '--api_base <url>', doc: 'where that model is' },
  { flags: '--headers <json>', doc: 'headers that go with every request for that model' },
  { flags: '--request_timeout <seconds>', doc: "how long an answer may take; wins over the file's" },
  { flags: '--drop_params', doc: "leave out parameters that a provider does not know; wins over the file's" },
];
