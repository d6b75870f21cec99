/** Runs one command line of racklessctl. */
import { CommanderError } from 'commander';
import { printCandidates } from './cli/complete-command.js';
import { OutputWatch } from '@rackless/daemon/process/output-watch.js';
import { createParser, type ParsedCall } from './cli/parser.js';
import { Call } from './commands/command.js';
import { commands } from './commands/index.js';
import { CommandFailure, exitCode } from './failure.js';
import { Terminal } from './output/terminal.js';

/** The signals of Ctrl-C, of a stop of the process, and of the end of its terminal. */
const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs one command.
 * @param argv as `process.argv`.
 * @returns the exit code, also of a failed command.
 * @throws any error that is neither a failure of the command nor an error of commander.
 */
export async function main(argv: readonly string[]): Promise<number> {
  const terminal = new Terminal(process);
  const interruption = new AbortController();
  const interrupt = (): void => {
    // Without a listener, the second Ctrl-C ends the process at once.
    stopListening();
    interruption.abort(new CommandFailure(exitCode.interrupted, 'interrupted'));
  };
  const stopListening = (): void => {
    for (const name of ENDING_SIGNALS) process.removeListener(name, interrupt);
  };
  for (const name of ENDING_SIGNALS) process.on(name, interrupt);
  const output = new OutputWatch(process.stdout, () => interruption.abort(new CommandFailure(exitCode.done, '')));
  // If nothing reads the messages anymore, the command still does its work and ends its session.
  process.stderr.on('error', () => undefined);
  try {
    const code = await run(argv, terminal, interruption.signal);
    const failure = await output.failure();
    if (failure === undefined) return code;
    terminal.complain(`racklessctl: ${failure}`);
    return exitCode.failed;
  } finally {
    terminal.clearStatus();
    stopListening();
  }
}

async function run(argv: readonly string[], terminal: Terminal, signal: AbortSignal): Promise<number> {
  const parser = createParser(commands, async ({ definition, ...values }: ParsedCall) => {
    const call = new Call({ terminal, environment: process.env, signal, ...values });
    await definition.run?.(call);
    call.end();
  });
  try {
    if (argv[2] === '__complete') {
      await printCandidates(argv.slice(argv[3] === '--' ? 4 : 3), commands, terminal);
      return exitCode.done;
    }
    await parser.parseAsync([...argv]);
    return exitCode.done;
  } catch (error) {
    // Commander has already printed the help, the version or the error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.usage;
    if (!(error instanceof CommandFailure)) throw error;
    if (error.message !== '') terminal.complain(`racklessctl: ${error.message}`);
    return error.code;
  }
}
