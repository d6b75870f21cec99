/** Gets the password of a connection: from a file, a command, or the user. */
import { execFile } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { promisify } from 'node:util';
import { readTextFile, fileReason } from '@rackless/daemon/files/text-file.js';
import { CommandFailure, exitCode } from '../failure.js';
import type { PasswordSource } from './connection.js';

const run = promisify(execFile);

/** A password manager may ask the user. */
const COMMAND_MS = 120_000;

/** A terminal that can ask. */
interface Prompt {
  readonly input: NodeJS.ReadStream;
  /** Not standard output, which a script may read. */
  readonly output: NodeJS.WriteStream;
}

/**
 * Returns the password.
 * @param source undefined: asks the user.
 * @param name the user and the service, for the prompt.
 * @throws {CommandFailure} whose message never contains the password.
 */
export async function getPassword(
  source: PasswordSource | undefined,
  name: string,
  prompt: Prompt,
  signal: AbortSignal,
): Promise<string> {
  const password = await readPassword(source, name, prompt, signal);
  if (password === '') throw new CommandFailure(exitCode.configuration, `the password of ${name} is empty`);
  return password;
}

async function readPassword(
  source: PasswordSource | undefined,
  name: string,
  prompt: Prompt,
  signal: AbortSignal,
): Promise<string> {
  if (source === undefined) return askPassword(name, prompt, signal);
  switch (source.kind) {
    case 'text':
      return source.text;
    case 'file':
      return firstLine(readPasswordFile(source.file));
    case 'command':
      return firstLine(await runCommand(source.command, signal));
  }
}

const firstLine = (text: string): string => text.split(/\r?\n/, 1)[0] ?? '';

function readPasswordFile(file: string): string {
  try {
    return readTextFile(file);
  } catch (error) {
    throw new CommandFailure(exitCode.configuration, `reading the password in ${file}: ${fileReason(error)}`, {
      cause: error,
    });
  }
}

/** Runs the command in a shell, as a user would. Its errors go to the terminal. */
async function runCommand(command: string, signal: AbortSignal): Promise<string> {
  try {
    const { stdout } = await run('/bin/sh', ['-c', command], { signal, timeout: COMMAND_MS, killSignal: 'SIGTERM' });
    return stdout;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    // Not the output: it may be the password.
    const { code, stderr } = error as { readonly code?: unknown; readonly stderr?: unknown }; // what execFile rejects with
    const reason = typeof stderr === 'string' && stderr.trim() !== '' ? `: ${stderr.trim()}` : '';
    throw new CommandFailure(
      exitCode.configuration,
      `password-command failed with ${typeof code === 'number' ? `exit code ${code}` : 'an error'}${reason}`,
    );
  }
}

function askPassword(name: string, { input, output }: Prompt, signal: AbortSignal): Promise<string> {
  if (!input.isTTY)
    throw new CommandFailure(
      exitCode.configuration,
      `there is no password for ${name}: give --password-file FILE, set RACKLESSCTL_PASSWORD, or use a terminal`,
    );
  // readline edits the line in raw mode. Its echo goes nowhere.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: nowhere, terminal: true, historySize: 0 });
  output.write(`Password of ${name}: `);
  return new Promise<string>((resolve, reject) => {
    const cancel = (): void => reject(new CommandFailure(exitCode.interrupted, 'no password was given'));
    lines.once('close', cancel);
    lines.once('SIGINT', cancel);
    signal.addEventListener('abort', cancel, { once: true });
    lines.question('', resolve);
  }).finally(() => {
    lines.close();
    output.write('\n');
  });
}
