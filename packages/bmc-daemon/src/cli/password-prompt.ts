/**
 * Reads a new password: twice and without echo from a terminal, or as the first line from a script.
 */
import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';

/** No usable password was read. The message gives the reason. */
export class PasswordPromptError extends Error {
  override readonly name = 'PasswordPromptError';
}

/** The standard input and the stream for prompts. */
interface PromptStreams {
  readonly input: NodeJS.ReadStream;
  /** Stream for prompts. It is not standard output, which a script may read. */
  readonly output: NodeJS.WritableStream;
}

/** Limit of the input in bytes, so that a large file on standard input does not fill the memory. */
const MAX_INPUT_BYTES = 65_536;

/**
 * Reads the new password.
 * @throws {PasswordPromptError} if the password is empty, if the two inputs differ, if the user cancels, or
 *   if standard input is too long. Also throws the error of an unreadable standard input.
 */
export async function askNewPassword({ input, output }: PromptStreams): Promise<string> {
  const [first, second] = input.isTTY ? await askTwice(input, output) : await readLines(input);
  if (first === undefined || first === '') throw new PasswordPromptError('the password is empty');
  // A script may give the password once. If there is a second line, it must be equal.
  if (second !== undefined && second !== first) throw new PasswordPromptError('the two passwords differ');
  return first;
}

async function askTwice(input: NodeJS.ReadStream, output: NodeJS.WritableStream): Promise<string[]> {
  // readline edits the line in raw mode (erase, UTF-8). `nowhere` drops its echo.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createEditor(input, nowhere);
  const ask = (prompt: string) =>
    new Promise<string>((resolve, reject) => {
      const cancel = () => reject(new PasswordPromptError('no password was given'));
      output.write(prompt);
      lines.once('close', cancel);
      lines.once('SIGINT', cancel);
      lines.question('', (answer) => {
        lines.removeListener('close', cancel);
        lines.removeListener('SIGINT', cancel);
        resolve(answer);
      });
    }).finally(() => output.write('\n'));
  try {
    return [await ask('New password: '), await ask('Repeat the new password: ')];
  } finally {
    lines.close();
  }
}

/**
 * Creates the editor without TERM. readline reads TERM when it is created. With `dumb`, as in Emacs and in many
 * containers, it would not erase characters.
 */
function createEditor(input: NodeJS.ReadStream, output: NodeJS.WritableStream): Interface {
  const { env } = process;
  const term = env['TERM'];
  delete env['TERM'];
  try {
    return createInterface({ input, output, terminal: true, historySize: 0 });
  } finally {
    if (term !== undefined) env['TERM'] = term;
  }
}

async function readLines(input: NodeJS.ReadStream): Promise<(string | undefined)[]> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    const piece = Buffer.from(chunk as string | Uint8Array); // A stream without an encoding returns bytes.
    chunks.push(piece);
    bytes += piece.length;
    if (bytes > MAX_INPUT_BYTES) throw new PasswordPromptError('standard input is too long for a password');
  }
  const text = Buffer.concat(chunks).toString('utf8');
  const [first, second] = text.split(/\r?\n/);
  return [first, second === '' ? undefined : second];
}
