/** Runs the commands that `npm run build` made, each in its own process. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const BIN = path.join(import.meta.dirname, '../../bin');
/** The time limit of each wait. A healthy daemon needs a fraction of it. */
const TIMEOUT_MS = 240_000;

/** The result of a process. `code` is null if a signal ended the process. */
export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A line of the daemon's log. */
export type LogLine = Readonly<Record<string, unknown>>;

/** Options of a process. `input` is the text of standard input. */
export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  /**
   * A command that replaces itself by the command that follows it, such as setpriv. Default: none.
   */
  readonly through?: readonly string[];
  /** Another command of the package. Default: `bmc-daemon`. */
  readonly command?: 'sushy-emulator';
  /** The folder of the commands. Default: that of this package. */
  readonly bin?: string;
}

/** A process of one of the commands, with its output so far. */
export class DaemonProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #exit: Promise<number | null>;
  #stdout = '';
  #stderr = '';

  constructor(args: readonly string[], options: RunOptions = {}) {
    const { cwd, env = {}, input, through = [], command: name = 'bmc-daemon', bin = BIN } = options;
    // Passes only these variables: the environment of the tests must not configure the daemon.
    const { PATH = '', HOME = '' } = process.env;
    const script = path.join(bin, `${name}.js`);
    const [command = process.execPath, ...rest] = [...through, process.execPath, script, ...args];
    this.#child = spawn(command, rest, { cwd, env: { PATH, HOME, ...env } });
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => (this.#stdout += text));
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#stderr += text));
    // After `close`, the process has ended and its output is complete.
    this.#exit = once(this.#child, 'close').then(([code]) => code as number | null); // Node: the first argument of `close` is the exit code
    if (input !== undefined) this.#child.stdin.end(input);
  }

  /** Process id; 0 if the process could not be started. */
  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** Log lines so far. */
  get lines(): readonly LogLine[] {
    const whole = this.#stdout.slice(0, this.#stdout.lastIndexOf('\n') + 1);
    return whole
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as LogLine); // the log writes a JSON object in each line
  }

  /** Returns the messages of the log lines so far, of one level or of all. */
  messages(level?: string): readonly string[] {
    return this.lines
      .filter((line) => level === undefined || line['level'] === level)
      .map((line) => String(line['message']));
  }

  /**
   * Waits until the daemon logs its address.
   * @returns the address, such as `http://127.0.0.1:12345`.
   */
  async address(): Promise<string> {
    const line = await this.waitForLog(/^serving .* at /);
    return line.replace(/^.* at /, '').replace(/\/redfish\/v1$/, '');
  }

  /**
   * Waits until `count` messages match the pattern.
   * @returns the last of these messages.
   * @throws {Error} with the output if the process ends before, or after TIMEOUT_MS.
   */
  async waitForLog(pattern: RegExp, count = 1): Promise<string> {
    return waitFor(
      () => this.messages().filter((message) => pattern.test(message))[count - 1],
      () => `${String(pattern)} was not logged:\n${this.#stdout}\n${this.#stderr}`,
      this.#exit,
    );
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Waits for the end of the process. @throws {Error} with the output after TIMEOUT_MS. */
  async waitForExit(): Promise<Finished> {
    const timeout = delay(TIMEOUT_MS, 'late' as const, { ref: false });
    const code = await Promise.race([this.#exit, timeout]);
    if (code === 'late') throw new Error(`the process has not ended:\n${this.#stdout}\n${this.#stderr}`);
    return { code, stdout: this.#stdout, stderr: this.#stderr };
  }

  /** Kills the process if it still runs, and waits for its end. */
  async dispose(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exit;
  }
}

/** Runs a command to its end, with its own state folder. @throws {Error} as {@link DaemonProcess.waitForExit}. */
export async function run(args: readonly string[], { env, ...options }: RunOptions = {}): Promise<Finished> {
  const folder = mkdtempSync(path.join(tmpdir(), 'bmc-daemon-state-'));
  const child = new DaemonProcess(args, { input: '', ...options, env: { STATE_DIRECTORY: folder, ...env } });
  try {
    return await child.waitForExit();
  } finally {
    await child.dispose();
    rmSync(folder, { recursive: true });
  }
}

/**
 * Calls `ask` every 20 ms until it returns a value.
 * @throws {Error} with the text of `errorText` after TIMEOUT_MS, or soon after `end` has resolved.
 */
export async function waitFor<T>(
  ask: () => T | undefined | Promise<T | undefined>,
  errorText: () => string,
  end?: Promise<unknown>,
): Promise<T> {
  const state = { hasEnded: false };
  void end?.then(() => (state.hasEnded = true));
  const until = Date.now() + TIMEOUT_MS;
  for (;;) {
    const isLast = state.hasEnded || Date.now() > until;
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (isLast) throw new Error(errorText());
    await delay(20);
  }
}
