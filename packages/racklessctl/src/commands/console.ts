/** `racklessctl console` */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { errorCode } from '@rackless/daemon/error-code.js';
import { quoteWord } from '@rackless/daemon/text/shell-word.js';
import { CommandFailure, exitCode } from '../failure.js';
import { findConsole, sshArguments } from '../machines/console.js';
import { defineCommand, type Call } from './command.js';
import { machineArgument, withMachine } from './remote.js';

async function openConsole(call: Call): Promise<void> {
  const { stdin } = call.terminal.streams;
  // Ends the Redfish session before the console opens, because a console may stay open for hours.
  const console = await withMachine(call, findConsole);
  const parameters = sshArguments(console, stdin.isTTY || call.flag('print'));
  if (call.flag('json')) {
    call.terminal.printJson({ ...console, command: ['ssh', ...parameters] });
    return;
  }
  if (call.flag('print')) {
    call.terminal.print(['ssh', ...parameters].map(quoteWord).join(' '));
    return;
  }
  if (console.escape !== undefined) call.terminal.complain(`To leave the console, type ${console.escape}`);
  await runSsh(parameters, call.signal);
}

async function runSsh(parameters: readonly string[], signal: AbortSignal): Promise<void> {
  const child = spawn('ssh', parameters, { stdio: 'inherit' });
  const end = (): void => void child.kill();
  signal.addEventListener('abort', end, { once: true });
  try {
    const [code] = (await once(child, 'exit')) as unknown as readonly [number | null]; // the documented arguments of this event
    // Before the console is open, Ctrl-C also reaches ssh, which then ends with its own code. This code does not
    // matter. Later, Ctrl-C goes to the guest.
    signal.throwIfAborted();
    if (code !== 0)
      throw new CommandFailure(exitCode.failed, `ssh ended with ${code === null ? 'a signal' : `exit code ${code}`}`);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    throw new CommandFailure(exitCode.failed, "a console needs OpenSSH's client: install openssh-client", {
      cause: error,
    });
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** Opens a serial console. */
export const consoleCommand = defineCommand({
  name: 'console',
  summary: 'Open the serial console of a machine over SSH',
  description: [
    'Finds the port and the entry command of the console, and runs ssh with them. ssh asks for the password ' +
      'itself, and verifies the host key as usual.',
  ],
  arguments: [machineArgument],
  options: [{ name: 'print', summary: 'print the command of ssh, and do not run it' }],
  isRemote: true,
  run: openConsole,
});
