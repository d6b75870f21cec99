import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FolderInUseError, lockFolder } from './folder-lock.js';

let folder: string;
let holders: ChildProcess[];
let logged: string[];
const log = { info: (text: string) => void logged.push(text), warn: (text: string) => void logged.push(text) };
const lock = (at = folder, waitMs = 0) => lockFolder(at, { setting: 'EMULATOR_STATE_DIR', log, waitMs });

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'state-lock-'));
  holders = [];
  logged = [];
});
afterEach(() => {
  for (const holder of holders) holder.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

/** Starts another process, which listens at the lock's socket and answers with its process id. */
async function startHolder(at = folder): Promise<ChildProcess> {
  const program = `process.chdir(${JSON.stringify(at)});
    const server = require('net').createServer((socket) => socket.end(process.pid + '\\n'));
    server.listen('lock', () => console.log('ready'));`;
  const holder = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  holders.push(holder);
  await once(holder.stdout, 'data');
  return holder;
}

describe('the lock of a state folder', () => {
  it('belongs to one daemon at a time, and the next daemon gets it after the release', async () => {
    const first = await lock();
    await expect(lock()).rejects.toThrow(
      new FolderInUseError(
        `${folder} is in use by another daemon (process ${process.pid}): each daemon needs its own ` +
          'EMULATOR_STATE_DIR',
      ),
    );
    await first.release();
    expect(readdirSync(folder)).toEqual([]);
    await (await lock()).release();
  });

  it('ends with its process, also after SIGKILL', async () => {
    const holder = await startHolder();
    await expect(lock()).rejects.toThrow(`another daemon (process ${holder.pid})`);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    expect(existsSync(path.join(folder, 'lock'))).toBe(true);
    const next = await lock(folder, 60_000);
    await expect(lock()).rejects.toThrow(FolderInUseError);
    await next.release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is acquired as soon as another daemon, which is stopping, has stopped', async () => {
    const holder = await startHolder();
    const waiting = lock(folder, 60_000);
    while (logged.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(logged).toEqual([`waiting for another daemon (process ${holder.pid}) to stop, which uses ${folder}`]);
    holder.kill('SIGTERM');
    await (await waiting).release();
  });

  it('stays while its process is suspended (SIGSTOP) and does not answer', async () => {
    const holder = await startHolder();
    holder.kill('SIGSTOP');
    await expect(lock()).rejects.toThrow(`${folder} is in use by another process`);
  });

  it('goes to exactly one of many daemons that find the socket of a killed process', async () => {
    const holder = await startHolder();
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    const all = await Promise.allSettled(Array.from({ length: 10 }, () => lock(folder, 2_000)));
    const locks = all.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    expect(locks).toHaveLength(1);
    await locks[0]?.release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('survives clients that connect, and neither send nor read', async () => {
    const held = await lock();
    const sockets = Array.from({ length: 50 }, () => connect(path.join(folder, 'lock')).on('error', () => undefined));
    await expect(lock()).rejects.toThrow(FolderInUseError);
    for (const socket of sockets) socket.destroy();
    await held.release();
  });

  it('is released while a client keeps its connection', async () => {
    const held = await lock();
    const client = connect({ path: path.join(folder, 'lock'), allowHalfOpen: true });
    await once(client.resume(), 'end');
    await held.release();
    client.destroy();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('throws if a name in the path of its folder is too long', async () => {
    const tooLong = path.join(folder, 'x'.repeat(300));
    await expect(lock(tooLong)).rejects.toThrow(
      expect.objectContaining({
        message: expect.stringContaining(`${tooLong} cannot be locked: ENAMETOOLONG`),
        cause: expect.objectContaining({ code: 'ENAMETOOLONG' }),
      }),
    );
    expect(logged).toEqual([]);
  });

  it('works in a folder with a path that is too long for a socket', async () => {
    const long = path.join(folder, 'x'.repeat(200), 'state');
    const held = await lock(long);
    await expect(lock(long)).rejects.toThrow(FolderInUseError);
    await held.release();
    expect(readdirSync(long)).toEqual([]);
    await (await lock(long)).release();
  });

  it('is omitted with a warning if a file is in the way of the folder, or a folder in the way of the lock', async () => {
    writeFileSync(path.join(folder, 'file'), '');
    await (await lock(path.join(folder, 'file', 'state'))).release();
    mkdirSync(path.join(folder, 'lock'));
    await (await lock()).release();
    expect(logged).toEqual([
      expect.stringMatching(/file\/state cannot be locked, so the daemon cannot detect a second one there: /),
      `${folder} cannot be locked, so the daemon cannot detect a second one there: ${folder}/lock is not a socket`,
    ]);
  });
});
