/** The command line: LiteLLM's flags, and what becomes of them. */
import { Command, CommanderError, Option } from 'commander';
import { otherFlags } from './cli/other-flags.js';
import { serve } from './cli/serve.js';
import { validate } from './cli/validate.js';
import type { Flags } from './config/load.js';
import { version } from './version.js';

/** What commander makes of the flags: texts as they were given, switches as true. */
interface GivenFlags extends Flags {
  readonly config?: string;
  readonly validate_config?: boolean;
}

function createProgram(): Command {
  const program = new Command('model-proxy')
    .description('One OpenAI-style address in front of many models.')
    .version(version, '-v, --version', 'print the version')
    .option('-c, --config <file>', 'configuration, YAML as LiteLLM has it (environment: CONFIG_FILE_PATH)')
    .option('--host <address>', 'address to listen at (HOST; default 0.0.0.0)')
    .option('--port <number>', 'TCP port to listen at (PORT; default 4000)')
    .option('--ssl_certfile_path <file>', 'PEM certificate for HTTPS (SSL_CERTFILE_PATH)')
    .option('--ssl_keyfile_path <file>', 'PEM key of the certificate (SSL_KEYFILE_PATH)')
    .option('--debug', 'log everything that happens (DEBUG)')
    .option('--detailed_debug', 'and what is sent to upstreams and what they answer (DETAILED_DEBUG)')
    .option('--validate_config', 'say what is wrong with the configuration, print what holds, and end')
    .option('--drain_timeout <seconds>', 'how long requests may go on after SIGTERM (DRAIN_TIMEOUT; default 30)')
    .option('-m, --model <name>', 'serve one model without a configuration: openai/gpt-4o')
    .option('--alias <name>', 'what clients call that model')
    .option('--api_base <url>', 'where that model is')
    .option('--headers <json>', 'headers that are sent with every request for that model')
    .option('--request_timeout <seconds>', 'how long an answer may take')
    .option('--drop_params', 'leave out parameters that a provider does not know')
    // A word too many is a mistake, as is a flag that is not known.
    .allowExcessArguments(false)
    .exitOverride();
  for (const name of Object.keys(otherFlags)) program.addOption(new Option(`--${name} [value]`).hideHelp());
  return program;
}

/**
 * Runs one command line to its end; the proxy's end is a signal.
 * @param argv as in `process.argv`.
 * @returns the exit code.
 */
export async function main(argv: readonly string[]): Promise<number> {
  const program = createProgram();
  try {
    program.parse([...argv]);
  } catch (error) {
    // Commander has said what it had to say: help, the version or a mistake.
    if (error instanceof CommanderError) return error.exitCode;
    throw error;
  }
  const given = program.opts<GivenFlags & Record<string, unknown>>();
  const file = given.config ?? nonEmpty(process.env['CONFIG_FILE_PATH']);
  const warnings = Object.entries(otherFlags)
    .filter(([name]) => given[name] !== undefined)
    .map(([name, reason]) => `command line: --${name} does nothing here: ${reason}`);
  const start = { file, flags: given, environment: process.env, warnings };
  return given.validate_config === true ? validate(start) : serve(start);
}

const nonEmpty = (text: string | undefined) => (text === '' ? undefined : text);
