/** Runs OpenSSH's client against a server under test, and reads its output. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** The time limit of each wait for output. A healthy server needs a fraction of it. */
const TIMEOUT_MS = 120_000;

/** Options of one run of `ssh`. */
export interface SshOptions {
  /** The user name, such as `admin/node-1`. */
  readonly user: string;
  readonly port: number;
  /** Answers to the prompts, in order. Default: none, so that a prompt ends the attempt. */
  readonly answers?: readonly string[];
  /** Further options: `-tt`, `-o…`. */
  readonly options?: readonly string[];
  readonly command?: readonly string[];
}

/** One run of `ssh`. */
export class SshClient {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #exit: Promise<number | null>;
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'bmc-ssh-'));
  #wake: (() => void)[] = [];
  #hasEnded = false;
  /** Number of characters of `output` up to the end of the last match of `waitFor`. */
  #seen = 0;
  stdout = '';
  stderr = '';
  /** Standard output and standard error in the order of arrival. */
  output = '';

  constructor({ user, port, answers = [], options = [], command = [] }: SshOptions) {
    // SSH_ASKPASS_REQUIRE makes ssh run this program for each answer, because the test cannot type into a terminal.
    const askpass = path.join(this.#folder, 'askpass');
    const file = path.join(this.#folder, 'answers');
    writeFileSync(file, answers.map((answer) => `${answer}\n`).join(''));
    writeFileSync(askpass, `#!/bin/sh\nhead -n 1 '${file}' | grep . && sed -i 1d '${file}'\n`);
    chmodSync(askpass, 0o700);
    const known = path.join(this.#folder, 'known_hosts');
    this.#child = spawn(
      'ssh',
      [
        ...['-F', 'none', '-p', String(port), '-l', user],
        // ssh uses the first of two equal options.
        ...options,
        ...['-o', 'StrictHostKeyChecking=no', '-o', `UserKnownHostsFile=${known}`, '-o', 'LogLevel=ERROR'],
        ...['-o', `NumberOfPasswordPrompts=${answers.length === 0 ? 1 : answers.length}`],
        '127.0.0.1',
        ...command,
      ],
      {
        env: {
          PATH: process.env['PATH'] ?? '',
          HOME: this.#folder,
          SSH_ASKPASS: askpass,
          SSH_ASKPASS_REQUIRE: 'force',
        },
      },
    );
    const { stdout, stderr, stdin } = this.#child;
    stdout.setEncoding('latin1').on('data', (text: string) => this.#hear(text, 'stdout'));
    stderr.setEncoding('latin1').on('data', (text: string) => this.#hear(text, 'stderr'));
    // A write fails only if ssh has ended, and `exit` reports that.
    stdin.on('error', () => undefined);
    this.#exit = once(this.#child, 'close').then(([code]) => {
      rmSync(this.#folder, { recursive: true, force: true });
      this.#hasEnded = true;
      this.#wakeAll();
      return code as number | null; // Node: the first argument of `close` is the exit code
    });
  }

  /** Writes text to the standard input of ssh, as a user types it. */
  type(text: string): void {
    this.#child.stdin.write(text, 'latin1');
  }

  /** Closes the standard input of ssh. */
  endOfInput(): void {
    this.#child.stdin.end();
  }

  /** Stops reading ssh's output, so that ssh stops reading from the server. */
  stopReading(): void {
    this.#child.stdout.pause();
  }

  resumeReading(): void {
    this.#child.stdout.resume();
  }

  /**
   * Waits until ssh prints the given text after the last match.
   * @throws {Error} with the whole output if ssh ends first, or after TIMEOUT_MS.
   */
  async waitFor(wanted: string | RegExp): Promise<void> {
    const until = Date.now() + TIMEOUT_MS;
    const timer = setInterval(() => this.#wakeAll(), 1000);
    try {
      for (;;) {
        const rest = this.output.slice(this.#seen);
        const found = typeof wanted === 'string' ? rest.indexOf(wanted) : rest.search(wanted);
        if (found >= 0) {
          const length = typeof wanted === 'string' ? wanted.length : (wanted.exec(rest)?.[0].length ?? 0);
          this.#seen += found + length;
          return;
        }
        if (this.#hasEnded || Date.now() > until)
          throw new Error(`the client never printed ${String(wanted)}, but ${JSON.stringify(this.output)}`);
        await new Promise<void>((resolve) => this.#wake.push(resolve));
      }
    } finally {
      clearInterval(timer);
    }
  }

  /**
   * Waits until ssh ends.
   * @returns its exit status; null if a signal ended it.
   */
  async exit(): Promise<number | null> {
    return await this.#exit;
  }

  /** Ends ssh with SIGTERM, and waits for its end. */
  async dispose(): Promise<void> {
    this.#child.kill();
    await this.#exit;
  }

  #hear(text: string, from: 'stdout' | 'stderr'): void {
    this[from] += text;
    this.output += text;
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}
