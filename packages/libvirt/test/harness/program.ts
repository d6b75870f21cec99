import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { chmod, copyFile, link, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { transformFile } from '@swc/core';

const packageDir = fileURLToPath(new URL('../..', import.meta.url));

/** The client and one suite's programs as JavaScript, for tests that need a process of their own. */
export interface CompiledPrograms {
  /** Starts a program: a file of the suite's `programs/`, without its ending. */
  run(name: string, args: readonly string[], options?: RunOptions): RunningProgram;
  /** Removes the compiled files. */
  remove(): Promise<void>;
}

/** How a program runs. */
export interface RunOptions {
  readonly nodeFlags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** User and group id; needs root. */
  readonly uid?: number;
}

/** A program that runs. */
export interface RunningProgram {
  readonly process: ChildProcessByStdio<null, Readable, Readable>;
  /** Its standard output when it has ended; rejects with its standard error when it failed or took over 60 s. */
  readonly output: Promise<string>;
}

async function* sources(dir: string): AsyncGenerator<string> {
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) yield* sources(path);
    else if (entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts')) yield path;
  }
}

/** Compiles `src`, the fake and `test/<suite>/programs`, so that no build has to come before the tests. */
export async function compilePrograms(suite: string): Promise<CompiledPrograms> {
  const out = await mkdtemp(join(tmpdir(), 'rackless-programs-'));
  // Programs may run as another user.
  await chmod(out, 0o755);
  await writeFile(join(out, 'package.json'), '{"type":"module"}');
  for (const dir of ['src', join('test', 'fake'), join('test', suite, 'programs')]) {
    for await (const path of sources(join(packageDir, dir))) {
      const target = join(out, relative(packageDir, path)).replace(/\.ts$/, '.js');
      const { code } = await transformFile(path, {
        configFile: false,
        swcrc: false,
        jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
        module: { type: 'es6' },
      });
      await mkdir(dirname(target), { recursive: true });
      await writeFile(target, code);
    }
  }
  // So may Node itself, which another user does not reach where it was unpacked below root's home.
  const node = join(out, 'node');
  await link(process.execPath, node).catch(() => copyFile(process.execPath, node));
  return {
    run: (name, args, options = {}) => run(node, join(out, 'test', suite, 'programs', `${name}.js`), args, options),
    remove: () => rm(out, { recursive: true, force: true }),
  };
}

function run(node: string, path: string, args: readonly string[], options: RunOptions): RunningProgram {
  const { uid, nodeFlags = [], env = {} } = options;
  const child = spawn(node, [...nodeFlags, path, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // jest's own flags (--experimental-vm-modules) are not for others.
    env: { PATH: process.env['PATH'], ...env },
    timeout: 240_000,
    killSignal: 'SIGKILL',
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  const output = new Promise<string>((resolve, reject) => {
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve(out);
      else reject(new Error(`${path} ${args.join(' ')}: exit ${String(code ?? signal)}: ${err}${out}`));
    });
  });
  return { process: child, output };
}
