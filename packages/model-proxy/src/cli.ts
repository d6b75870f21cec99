/** Parses the command line, which has LiteLLM's flags. Loads the code of a command only when the command runs. */
import { Command, CommanderError, Option } from 'commander';
import { CommandOutput } from '@rackless/daemon/process/command-output.js';
import { exitCode } from '@rackless/daemon/process/exit-code.js';
import type { EarlySignals } from '@rackless/daemon/process/signals.js';
import { ignoredFlags } from './cli/ignored-flags.js';
import { flagsTable } from './config/flags.js';
import type { Flags } from './config/load.js';
import { version } from './version.js';

/** The flags as commander returns them: strings as given, switches as true. */
interface GivenFlags extends Flags {
  readonly config?: string;
  readonly validate_config?: boolean;
}

function createProgram(): Command {
  const program = new Command('model-proxy')
    .description('One OpenAI-style address in front of many models.')
    .version(version, '-v, --version', 'print the version')
    .addHelpText('after', '\nCommands:\n  key  create, list and revoke virtual keys: model-proxy key --help')
    // Additional arguments are an error, as unknown flags are.
    .allowExcessArguments(false)
    .exitOverride();
  for (const flag of flagsTable) {
    const notes = [flag.environment, flag.default === undefined ? undefined : `default ${flag.default}`];
    const note = notes.filter((text) => text !== undefined).join(', ');
    program.option(flag.flags, note === '' ? flag.doc : `${flag.doc} (${note})`);
  }
  for (const name of Object.keys(ignoredFlags)) program.addOption(new Option(`--${name} [value]`).hideHelp());
  return program;
}

/**
 * Runs one command line. Without `key`, `--validate_config`, `--help` and `--version`, it runs the proxy until a
 * signal ends the proxy.
 * @param argv as `process.argv`.
 * @param early the signals that arrive before the proxy handles them. Absent: there are none.
 * @returns the exit code.
 */
export async function main(argv: readonly string[], early?: EarlySignals): Promise<number> {
  const output = new CommandOutput('model-proxy');
  return await output.finish(await run(argv, output, early));
}

async function run(argv: readonly string[], output: CommandOutput, early?: EarlySignals): Promise<number> {
  const [, , command] = argv;
  if (command === 'key') {
    endWithTerminal();
    return (await import('./cli/key-command.js')).keyCommand(argv.slice(3), process.env);
  }
  const program = createProgram();
  try {
    program.parse([...argv]);
  } catch (error) {
    // Commander has already printed the help, the version or the error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.usage;
    throw error;
  }
  const given = program.opts<GivenFlags & Record<string, unknown>>();
  const file = given.config ?? nonEmpty(process.env['CONFIG_FILE_PATH']);
  const warnings = Object.entries(ignoredFlags)
    .filter(([name]) => given[name] !== undefined)
    .map(([name, reason]) => `command line: --${name} does nothing here: ${reason}`);
  const start = { file, flags: given, environment: process.env, warnings };
  if (given.validate_config === true) {
    endWithTerminal();
    return (await import('./cli/validate.js')).validate(start);
  }
  output.becomeLog();
  return (await import('./cli/serve.js')).serve(start, early);
}

/** Makes a SIGHUP end this command. Only the proxy uses the signal for reloads. */
function endWithTerminal(): void {
  process.removeAllListeners('SIGHUP');
}

const nonEmpty = (text: string | undefined) => (text === '' ? undefined : text);
