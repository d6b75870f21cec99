/** The real command in a process of its own, as a person or systemd starts it. It is what `npm run build` made. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { waitFor } from './wait.js';

const BIN = join(import.meta.dirname, '../../bin/model-proxy.js');

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Of Node, before the command: `--expose-gc`. */
  readonly nodeFlags?: readonly string[];
}

export class ProxyProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #exit: Promise<number | null>;
  #ended = false;
  #stdout = '';
  #stderr = '';

  constructor(args: readonly string[], { cwd, env = {}, nodeFlags = [] }: RunOptions = {}) {
    // Only what every program needs: the environment of whoever runs the tests must not configure the proxy.
    const { PATH = '', HOME = '' } = process.env;
    this.#child = spawn(process.execPath, [...nodeFlags, BIN, ...args], { cwd, env: { PATH, HOME, ...env } });
    this.#child.stdin.end();
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => (this.#stdout += text));
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#stderr += text));
    // `close`: the process has ended and all that it said is here.
    this.#exit = once(this.#child, 'close').then(([code]) => {
      this.#ended = true;
      return code as number | null; // documented for this event
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Everything that it has said so far, on both ways. */
  get output(): string {
    return this.#stdout + this.#stderr;
  }

  /** Waits until it says where it serves. @returns `http://127.0.0.1:12345`. */
  async address(): Promise<string> {
    const [, address] = await this.said(/(https?:\/\/(?:127\.0\.0\.1|localhost):\d+)/);
    return address ?? '';
  }

  /** Waits until something of that form has been said. @throws {Error} it ended or took too long. */
  said(pattern: RegExp): Promise<RegExpExecArray> {
    return waitFor(
      () => {
        const found = pattern.exec(this.output);
        if (found === null && this.#ended)
          throw new Error(`it ended without saying ${String(pattern)}:\n${this.output}`);
        return found ?? undefined;
      },
      () => `${String(pattern)} was not said:\n${this.output}`,
    );
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Waits for its end. @returns the exit code; null: a signal ended it. */
  async finished(): Promise<number | null> {
    await waitFor(
      () => (this.#ended ? true : undefined),
      () => `the process has not ended:\n${this.output}`,
    );
    return this.#exit;
  }

  /** Ends it, whatever it is doing. */
  async dispose(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exit;
  }
}
