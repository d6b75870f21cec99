/** Tests the embedded store in a process that is killed, and on a full disk. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { waitFor } from '../harness/wait.js';

const WRITER = join(import.meta.dirname, 'writer.js');
let folder: string;
let children: ChildProcess[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rackless-store-'));
  children = [];
});
afterEach(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'close');
  }
  rmSync(folder, { recursive: true });
});

/** Starts a process that creates keys and counts requests until it is killed. @param through command that starts it. */
function startWriter(through: readonly string[] = []) {
  const [command, ...args] = [...through, process.execPath, WRITER, join(folder, 'store')];
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  const lines = () => output.split('\n').slice(0, -1);
  const ofKind = (kind: string) =>
    lines().flatMap((line) => (line.startsWith(`${kind} `) ? [line.slice(kind.length + 1)] : []));
  const until = (isReached: () => boolean) =>
    waitFor(
      () => (isReached() ? true : undefined),
      () => `the writer has not printed what the test waits for:\n${output.slice(-500)}`,
    );
  return { child, lines, ofKind, until };
}

/**
 * Fills a small disk to the last byte.
 * @returns a function that frees the space.
 * @throws {Error} if the disk has more than 4 MB of free space.
 */
function fill(file: string): () => void {
  const bytes = Buffer.alloc(4096, 'x');
  for (let pages = 0; pages < 1000; pages += 1) {
    try {
      writeFileSync(file, bytes, { flag: 'a' });
    } catch {
      return () => rmSync(file);
    }
  }
  throw new Error('the disk is larger than it should be');
}

describe('a store whose process is killed', () => {
  it('loses no confirmed key and at most one second of usage, in six kills at different moments', async () => {
    const confirmed = new Set<string>();
    let counted = 0;
    let previous: readonly string[] = [];
    for (let round = 0; round < 6; round += 1) {
      const writer = startWriter();
      await writer.until(() => writer.ofKind('counted').length === 1);
      const present = new Set(writer.ofKind('has')[0]?.split(' '));
      expect([...confirmed].filter((digest) => !present.has(digest))).toEqual([]);
      const found = Number(writer.ofKind('counted')[0]);
      // The requests of the previous process, without those of its last second.
      const last = Number(previous.at(-1) ?? 0);
      const old = previous.filter((time) => Number(time) < last - 1000).length;
      expect(found).toBeGreaterThanOrEqual(counted + old);
      counted = found;
      // Each round kills at another moment: after at least five keys, and after up to 1.5 s of usage.
      await writer.until(() => writer.ofKind('stored').length >= 5 && writer.ofKind('used').length >= 30 * round);
      writer.child.kill('SIGKILL');
      await once(writer.child, 'close');
      for (const digest of writer.ofKind('stored')) confirmed.add(digest);
      previous = writer.ofKind('used');
    }
    expect(confirmed.size).toBeGreaterThan(20);
  });
});

describe('a store on a full disk', () => {
  it('rejects changes with the reason, keeps the usage in memory, and continues when there is room', async () => {
    const disk = join(folder, 'store');
    const script = 'mkdir "$0" && mount -t tmpfs -o size=2m,mode=700 tmpfs "$0" && exec "$@"';
    const writer = startWriter(['unshare', '--mount', 'sh', '-c', script, disk]);
    await writer.until(() => writer.ofKind('stored').length > 3);
    // The path of the mounted disk for this process, which is not in the writer's mount namespace.
    const seen = `/proc/${writer.child.pid}/root${disk}`;
    const free = fill(join(seen, 'filler'));
    await writer.until(() => writer.ofKind('failed').length > 3);
    expect(writer.ofKind('failed')[0]).toBe('the keys cannot be stored: there is no room left on the device');
    await writer.until(() =>
      writer.lines().includes('the usage cannot be stored, and stays in memory: there is no room left on the device'),
    );
    const before = writer.ofKind('stored').length;
    free();
    await writer.until(() => writer.ofKind('stored').length > before + 3);
    await writer.until(() => writer.lines().includes('the usage can be stored again'));
    writer.child.kill('SIGSTOP');
    for (const name of readdirSync(seen)) if (name.endsWith('.journal')) cpSync(join(seen, name), join(folder, name));
    const stored = writer.ofKind('stored');
    writer.child.kill('SIGKILL');
    await once(writer.child, 'close');
    const { openEmbeddedStore } = await import('../../src/store/embedded/embedded-store.js');
    const problems: string[] = [];
    const log = { info: () => undefined, warn: () => undefined, error: (text: string) => void problems.push(text) };
    const store = await openEmbeddedStore({ folder, log, keepDays: null });
    expect(stored.filter((digest) => !store.keys.has(digest))).toEqual([]);
    expect(problems).toEqual([]);
    await store.close();
  });
});
