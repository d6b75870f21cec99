/** Starts a Redis for a test. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connectRedis } from '../../src/shared-store/redis-link.js';
import { freePort } from './free-port.js';

/** Time limit of a start. Even on a busy host, a start needs less. */
const PATIENCE_MS = 120_000;

/** A Redis server that a test started. */
export interface PrivateRedis {
  readonly url: string;
  /** Removes all its keys. */
  flush(): Promise<void>;
  /** Suspends its process. The server then does not answer, but its connections stay open. */
  pause(): void;
  /** Continues its process after {@link pause}. */
  resume(): void;
  /** Stores its content in a file, which the next {@link restart} reads. */
  save(): Promise<void>;
  /**
   * Kills the server, and starts it again with the content of the last {@link save}. A persistent
   * server has its content from before the kill.
   */
  restart(): Promise<void>;
  /** Kills the server and removes its files. */
  stop(): Promise<void>;
}

/**
 * Starts Redis on a free port. Debian's package redis-tools has the server as `redis-check-rdb`.
 * @param options `isPersistent`: Redis stores each change in a file before it answers.
 * @throws {Error} if Redis cannot be started, or does not answer within two minutes.
 */
export async function startRedis({
  isPersistent = false,
}: { readonly isPersistent?: boolean } = {}): Promise<PrivateRedis> {
  const folder = mkdtempSync(path.join(tmpdir(), 'rackless-redis-'));
  const port = await freePort();
  const appendOnly = isPersistent ? 'yes' : 'no';
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder];
  // By default, Redis may answer before it writes, if the disk is busy.
  options.push('--appendonly', appendOnly, '--appendfsync', 'always');
  const url = `redis://127.0.0.1:${port}`;
  const start = async (): Promise<ChildProcess> => {
    const started = spawn('redis-check-rdb', options, { argv0: 'redis-server', stdio: 'ignore' });
    const state = { hasFailed: false };
    started.once('error', () => (state.hasFailed = true));
    const until = Date.now() + PATIENCE_MS;
    for (;;) {
      const link = await connectRedis(url).catch(() => undefined);
      link?.close();
      if (link !== undefined) return started;
      if (state.hasFailed || Date.now() > until) throw new Error('Redis does not answer');
      await delay(20);
    }
  };
  const command = async (words: readonly string[]): Promise<void> => {
    const link = await connectRedis(url);
    await link.command(words);
    link.close();
  };
  let child = await start();
  return {
    url,
    flush: () => command(['FLUSHALL']),
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    save: () => command(['SAVE']),
    restart: async () => {
      await kill(child);
      child = await start();
    },
    stop: async () => {
      await kill(child);
      rmSync(folder, { recursive: true });
    },
  };
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
  child.kill('SIGKILL');
  await ended;
}
