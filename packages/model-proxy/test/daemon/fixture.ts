/** Starts proxy processes in a new folder for each test. After the test, kills the processes and removes the folder. */
import { afterEach, beforeEach } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ProxyProcess, type RunOptions } from '../harness/process.js';

const BIN = path.join(import.meta.dirname, '../../bin/model-proxy.js');
/** Longer than any command runs, even on a busy host. The fixture ends a command that runs longer. */
const TIMEOUT_MS = 120_000;
/** Options for a free port on loopback. */
export const LOCAL = ['--host', '127.0.0.1', '--port', '0'];

/** The result of a command that has ended. */
export interface Finished {
  /** Null: a signal ended the command. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface DaemonFixture {
  /** Returns a path in the test's folder. */
  readonly at: (name: string) => string;
  /** Writes a file in the test's folder. @returns the path of the file. */
  readonly write: (name: string, text: string) => string;
  /** Starts a proxy in the test's folder. The fixture kills the proxy after the test. */
  readonly start: (args: readonly string[], options?: RunOptions) => ProxyProcess;
  /** Runs `model-proxy` with these arguments in the test's folder, and waits for its end. */
  readonly run: (args: readonly string[], environment?: Readonly<Record<string, string>>) => Promise<Finished>;
}

/** Makes the fixture. Call this outside of tests: at the top of a file or in a `describe`. */
export function daemonFixture(): DaemonFixture {
  let folder = '';
  const started: ProxyProcess[] = [];
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'rackless-daemon-'));
  });
  afterEach(async () => {
    await Promise.all(started.splice(0).map((child) => child.dispose()));
    rmSync(folder, { recursive: true });
  });
  const at = (name: string) => path.join(folder, name);
  return {
    at,
    write(name, text) {
      writeFileSync(at(name), text);
      return at(name);
    },
    start(args, options) {
      const child = new ProxyProcess(args, { cwd: folder, ...options });
      started.push(child);
      return child;
    },
    run(args, environment = {}) {
      const { PATH = '', HOME = '' } = process.env;
      const options = { cwd: folder, env: { PATH, HOME, ...environment }, timeout: TIMEOUT_MS };
      return new Promise((resolve) => {
        const child = execFile(process.execPath, [BIN, ...args], options, (_error, stdout, stderr) =>
          resolve({ code: child.exitCode, stdout, stderr }),
        );
      });
    },
  };
}

/** A configuration with one model, `chat`. Nothing listens at the address of its upstream. */
export const NOWHERE =
  'model_list:\n  - model_name: chat\n    litellm_params: {model: hosted_vllm/oss, api_base: http://127.0.0.1:9/v1}\n';

/** Returns the messages of the JSON log lines with this level. Ignores lines that are not JSON. */
export function messages(output: string, level: string): readonly string[] {
  return output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { readonly level: string; readonly message: string }) // the log writes these
    .filter((line) => line.level === level)
    .map((line) => line.message);
}
