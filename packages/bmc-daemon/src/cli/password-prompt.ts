/** Asks for a new password: twice and without echo at a terminal, as the first line where a script gives it. */
import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';

/** No password was given; the message says why. */
export class PasswordPromptError extends Error {
  override readonly name = 'PasswordPromptError';
}

export interface PromptStreams {
  readonly input: NodeJS.ReadStream;
  /** Where prompts go: not standard output, which a script may read. */
  readonly output: NodeJS.WritableStream;
}

/** More than any password; what a person pipes in by mistake is not read for ever. */
const MAX_INPUT_BYTES = 65_536;

/**
 * The new password.
 * @throws {PasswordPromptError} when it is empty, when the two differ, or when the person gives up.
 */
export async function askNewPassword({ input, output }: PromptStreams): Promise<string> {
  const [first, second] = input.isTTY ? await askTwice(input, output) : await readLines(input);
  if (first === undefined || first === '') throw new PasswordPromptError('the password is empty');
  // A script may give it once; whoever gives it twice wants it compared.
  if (second !== undefined && second !== first) throw new PasswordPromptError('the two passwords differ');
  return first;
}

async function askTwice(input: NodeJS.ReadStream, output: NodeJS.WritableStream): Promise<string[]> {
  // readline edits the line (erase, UTF-8) in raw mode and echoes it: to nowhere.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createEditor(input, nowhere);
  const ask = (prompt: string) =>
    new Promise<string>((resolve, reject) => {
      const giveUp = () => reject(new PasswordPromptError('no password was given'));
      output.write(prompt);
      lines.once('close', giveUp);
      lines.once('SIGINT', giveUp);
      lines.question('', (answer) => {
        lines.removeListener('close', giveUp);
        lines.removeListener('SIGINT', giveUp);
        resolve(answer);
      });
    }).finally(() => output.write('\n'));
  try {
    return [await ask('New password: '), await ask('The same again: ')];
  } finally {
    lines.close();
  }
}

/** readline erases no letter where TERM is `dumb`, as in Emacs and in many containers. It reads TERM when it is created. */
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
    const piece = Buffer.from(chunk as string | Uint8Array); // a stream without an encoding gives bytes
    chunks.push(piece);
    bytes += piece.length;
    if (bytes > MAX_INPUT_BYTES) throw new PasswordPromptError('what stands on standard input is no password');
  }
  const text = Buffer.concat(chunks).toString('utf8');
  const [first, second] = text.split(/\r?\n/);
  return [first, second === '' ? undefined : second];
}
