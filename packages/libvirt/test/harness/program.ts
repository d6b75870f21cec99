import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { chmod, copyFile, link, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { transformFile } from '@swc/core';

const packageDir = fileURLToPath(new URL('../..', import.meta.url));

/**
 * The client and the programs of a test suite, compiled to JavaScript, for tests that need their
 * own process.
 */
export interface CompiledPrograms {
  /** Starts a program. @param name file in the suite's `programs/`, without its extension. */
  run(name: string, args: readonly string[], options?: RunOptions): RunningProgram;
  /** Removes the compiled files. */
  remove(): Promise<void>;
}

/** Options of {@link CompiledPrograms.run}. */
export interface RunOptions {
  readonly nodeFlags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** User and group id. Needs root. */
  readonly uid?: number;
}

/** A running program. */
export interface RunningProgram {
  readonly process: ChildProcessByStdio<null, Readable, Readable>;
  /**
   * Resolves with the standard output at the end. Rejects with the standard error after a failure
   * or 240 s.
   */
  readonly output: Promise<string>;
}

async function* sources(dir: string): AsyncGenerator<string> {
  for (const entry of await readdir(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) yield* sources(path);
    else if (entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts')) yield path;
  }
}

/** Compiles `src`, the fake and `test/<suite>/programs`, so that the tests need no build. */
export async function compilePrograms(suite: string): Promise<CompiledPrograms> {
  const out = await mkdtemp(join(tmpdir(), 'rackless-programs-'));
  // Another user may run the programs.
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
  // Another user cannot execute a Node in root's home folder.
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
    // The program does not get NODE_OPTIONS, which has the flags of jest (--experimental-vm-modules).
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
