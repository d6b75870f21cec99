/** Runs racklessctl as a user does: the built command, in its own process. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach } from '@jest/globals';

const BIN = path.join(import.meta.dirname, '../../bin/racklessctl.js');
/** How long a command may run. It ends earlier even on a loaded host. */
const TIMEOUT_MS = 240_000;

/** The result of a command that has ended. `code` is null if a signal ended it. */
export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running command. */
export class RunningCommand {
  readonly child: ChildProcessWithoutNullStreams;
  readonly #exit: Promise<number | null>;
  stdout = '';
  stderr = '';
  readonly #listeners = new Set<() => void>();

  constructor(args: readonly string[], options: { readonly cwd: string; readonly env: Record<string, string> }) {
    const { PATH = '' } = process.env;
    // The command gets only these variables: the environment of the tests must not configure it.
    this.child = spawn(process.execPath, [BIN, ...args], { ...options, env: { PATH, ...options.env } });
    const add = (stream: 'stdout' | 'stderr'): void => {
      this.child[stream].setEncoding('utf8').on('data', (text: string) => {
        this[stream] += text;
        for (const listener of this.#listeners) listener();
      });
    };
    add('stdout');
    add('stderr');
    // After `close`, the process has ended and its output is complete.
    this.#exit = once(this.child, 'close').then(([code]) => code as number | null); // Node: the first argument of `close` is the exit code
  }

  /**
   * Waits until standard output or standard error has the text. Kills the command after four minutes.
   * @throws {Error} if the command ends first.
   */
  async waitForOutput(text: string): Promise<void> {
    const isThere = (): boolean => this.stdout.includes(text) || this.stderr.includes(text);
    // The end of the process rejects the wait below.
    const limit = setTimeout(() => this.child.kill('SIGKILL'), TIMEOUT_MS);
    await new Promise<void>((resolve, reject) => {
      const check = (): void => {
        if (isThere()) resolve();
      };
      this.#listeners.add(check);
      void this.#exit.then(() => {
        check();
        reject(new Error(`'${text}' was not printed:\n${this.stdout}\n${this.stderr}`));
      });
      check();
    }).finally(() => clearTimeout(limit));
  }

  /** Waits until the command has ended. Kills it after four minutes. */
  async waitForExit(): Promise<Finished> {
    const limit = setTimeout(() => this.child.kill('SIGKILL'), TIMEOUT_MS);
    try {
      return { code: await this.#exit, stdout: this.stdout, stderr: this.stderr };
    } finally {
      clearTimeout(limit);
    }
  }
}

/** Runs commands with a folder and a home that only this test uses. */
export interface CommandFixture {
  /** Returns a path in the folder. */
  readonly at: (name: string) => string;
  /** Writes a file in the folder, and returns its path. */
  readonly write: (name: string, text: string, mode?: number) => string;
  /** Starts a command, which is killed after the test if it still runs. */
  readonly start: (args: readonly string[], env?: Record<string, string>) => RunningCommand;
  /** Runs a command to its end. `input` is its standard input. */
  readonly run: (args: readonly string[], env?: Record<string, string>, input?: string) => Promise<Finished>;
  /** Runs a command with `--json`, and returns its parsed output. @throws {Error} if the command fails. */
  readonly json: (args: readonly string[], env?: Record<string, string>) => Promise<unknown>;
}

/** Makes the fixture. Call this at the top of a suite. */
export function commandFixture(): CommandFixture {
  let folder = '';
  const started: RunningCommand[] = [];
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'racklessctl-'));
  });
  afterEach(async () => {
    for (const { child } of started) child.kill('SIGKILL');
    await Promise.all(started.splice(0).map((each) => each.waitForExit()));
    rmSync(folder, { recursive: true });
  });
  const at = (name: string): string => path.join(folder, name);
  const start = (args: readonly string[], env: Record<string, string> = {}): RunningCommand => {
    const command = new RunningCommand(args, { cwd: folder, env: { HOME: folder, ...env } });
    started.push(command);
    return command;
  };
  const run: CommandFixture['run'] = async (args, env, input = '') => {
    const command = start(args, env);
    command.child.stdin.on('error', () => undefined); // the command may end before it reads
    command.child.stdin.end(input);
    return command.waitForExit();
  };
  return {
    at,
    start,
    run,
    write(name, text, mode = 0o600) {
      writeFileSync(at(name), text, { mode });
      return at(name);
    },
    async json(args, env) {
      const { code, stdout, stderr } = await run([...args, '--json'], env);
      if (code !== 0) throw new Error(`racklessctl ${args.join(' ')} ended with ${code}: ${stderr}`);
      return JSON.parse(stdout) as unknown;
    },
  };
}
