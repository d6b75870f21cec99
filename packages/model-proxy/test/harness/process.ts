/** Runs the built command in its own process, as a person or systemd does. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { waitFor } from './wait.js';

const BIN = join(import.meta.dirname, '../../bin/model-proxy.js');

/** Options of {@link ProxyProcess}. */
export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Options of Node before the command: `--expose-gc`. */
  readonly nodeFlags?: readonly string[];
}

/** A running command. The test ends it with {@link dispose}. */
export class ProxyProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #exit: Promise<number | null>;
  #ended = false;
  #stdout = '';
  #stderr = '';

  constructor(args: readonly string[], { cwd, env = {}, nodeFlags = [] }: RunOptions = {}) {
    // The proxy gets only the necessary variables, because the environment of the tests must not configure
    // it.
    const { PATH = '', HOME = '' } = process.env;
    this.#child = spawn(process.execPath, [...nodeFlags, BIN, ...args], { cwd, env: { PATH, HOME, ...env } });
    this.#child.stdin.end();
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => (this.#stdout += text));
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#stderr += text));
    // `close`: the process has ended, and its whole output has arrived.
    this.#exit = once(this.#child, 'close').then(([code]) => {
      this.#ended = true;
      return code as number | null; // the documented arguments of this event
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** The output so far: stdout, then stderr. */
  get output(): string {
    return this.#stdout + this.#stderr;
  }

  /** Waits until the output contains the address. @returns `http://127.0.0.1:12345`. */
  async address(): Promise<string> {
    const [, address] = await this.waitForOutput(/(https?:\/\/(?:127\.0\.0\.1|localhost):\d+)/);
    return address ?? '';
  }

  /** Waits until the output matches. @throws {Error} if the process ends first, or after two minutes. */
  waitForOutput(pattern: RegExp): Promise<RegExpExecArray> {
    return waitFor(
      () => {
        const found = pattern.exec(this.output);
        if (found === null && this.#ended)
          throw new Error(`the process ended without ${String(pattern)}:\n${this.output}`);
        return found ?? undefined;
      },
      () => `the output has no ${String(pattern)}:\n${this.output}`,
    );
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Waits for the end of the process. @returns the exit code; null: a signal ended it. */
  async waitForExit(): Promise<number | null> {
    await waitFor(
      () => (this.#ended ? true : undefined),
      () => `the process has not ended:\n${this.output}`,
    );
    return this.#exit;
  }

  /** Kills the process, and waits for its end. */
  async dispose(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exit;
  }
}
