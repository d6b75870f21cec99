/** Gets the password of a connection: from a text, a file, a command, or the user. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Writable, type Readable } from 'node:stream';
import { readTextFile, fileReason } from '@rackless/daemon/files/text-file.js';
import { CommandFailure, exitCode } from '../failure.js';
import type { PasswordSource } from './connection.js';

/** Time limit of `password-command`. It is long, because a password manager may ask the user. */
const COMMAND_MS = 120_000;
/** Maximum number of characters that `password-command` may print. The first line is the password. */
const MAX_OUTPUT = 1024 * 1024;

/** A terminal that can ask the user. */
interface Prompt {
  readonly input: NodeJS.ReadStream;
  /** A script may read standard output, so questions go to another stream. */
  readonly output: NodeJS.WriteStream;
}

/**
 * Returns the password.
 * @param source undefined: asks the user.
 * @param name the user and the service, for the prompt.
 * @throws {CommandFailure} if the password is empty or cannot be read, if there is no terminal to ask the
 *   user, or if the user gives none. The message never contains the password.
 * @throws the reason of the signal if it aborts while `password-command` runs.
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

/**
 * Runs the command in a shell, as a user would. A password manager may ask the user, so the command
 * has the terminal: standard input and standard error of racklessctl.
 * @returns the output.
 */
async function runCommand(command: string, signal: AbortSignal): Promise<string> {
  const late = AbortSignal.timeout(COMMAND_MS);
  const child = spawn('/bin/sh', ['-c', command], {
    stdio: ['inherit', 'pipe', 'inherit'],
    signal: AbortSignal.any([signal, late]),
  });
  const end = once(child, 'close') as Promise<readonly unknown[]>; // no static type for events
  let output: string;
  let code: unknown;
  try {
    [output, [code]] = await Promise.all([outputOf(child.stdout), end]);
  } catch (error) {
    child.kill();
    if (signal.aborted) throw signal.reason;
    const reason = late.aborted ? `it ran longer than ${COMMAND_MS / 1000} s` : fileReason(error);
    throw new CommandFailure(exitCode.configuration, `password-command failed: ${reason}`, { cause: error });
  }
  if (code === 0) return output;
  throw new CommandFailure(
    exitCode.configuration,
    `password-command failed with ${typeof code === 'number' ? `exit code ${code}` : 'a signal'}`,
  );
}

/** Reads the output of a command to its end. @throws {Error} if it is too long. */
async function outputOf(stream: Readable): Promise<string> {
  let output = '';
  for await (const chunk of stream.setEncoding('utf8')) {
    output += chunk as string; // a stream with an encoding has texts
    if (output.length > MAX_OUTPUT) throw new Error(`it printed more than ${MAX_OUTPUT} characters`);
  }
  return output;
}

function askPassword(name: string, { input, output }: Prompt, signal: AbortSignal): Promise<string> {
  if (!input.isTTY)
    throw new CommandFailure(
      exitCode.configuration,
      `there is no password for ${name}: give --password-file FILE, set RACKLESSCTL_PASSWORD, or use a terminal`,
    );
  // readline reads the terminal in raw mode and echoes the line itself. The echo goes to `nowhere`.
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
