/**
 * Two replicas of one service, as processes, with a Redis and with a test server that replaces a
 * cloud.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setPassword } from '../../src/password-file/password-file-writer.js';
import { DaemonProcess, waitFor } from '../daemon/process.js';
import { PASSWORD, startCloudServer, type CloudServer } from '../support/cloud-server.js';
import { listServers, type ListedServers } from '../support/listed-servers.js';
import { connectRedis } from '../../src/replicas/redis-link.js';

/** A Redis of the test. */
export interface PrivateRedis {
  readonly url: string;
  /** Removes its content. */
  flush(): Promise<void>;
  /** Stops its process, so that it no longer answers and its connections stay open. */
  pause(): void;
  resume(): void;
  /** Stores its content, to which the next {@link restart} returns. */
  save(): Promise<void>;
  /** Kills it, and starts it with the content of the last {@link save}. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts Redis on a free port. Debian's package redis-tools has the server under another name. */
export async function startRedis(): Promise<PrivateRedis> {
  const folder = mkdtempSync(path.join(tmpdir(), 'bmc-redis-'));
  const port = await freePort();
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder];
  const url = `redis://127.0.0.1:${port}`;
  const start = async (): Promise<ChildProcess> => {
    const started = spawn('redis-check-rdb', options, { argv0: 'redis-server', stdio: 'ignore' });
    const failed = once(started, 'error').then(([error]: unknown[]) => error);
    await waitFor(
      async () => {
        const link = await connectRedis(url).catch(() => undefined);
        link?.close();
        return link === undefined ? undefined : true;
      },
      () => 'Redis does not answer',
      failed,
    );
    return started;
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens at TCP
  server.close();
  await once(server, 'close');
  return port;
}

/** One replica. */
export interface Replica {
  readonly url: string;
  readonly process: DaemonProcess;
}

/** A service with replicas. */
export interface Service {
  readonly redis: PrivateRedis;
  readonly servers: ListedServers;
  readonly cloud: CloudServer;
  /** Starts a replica with its own files. @param lines more lines of its configuration. */
  start(lines?: string): Promise<Replica>;
  stop(): Promise<void>;
}

/** The administrator of the password files. */
export const ADMIN = { UserName: 'admin', Password: 'secret words' };

/** Starts the parts that the replicas share. */
export async function startService(): Promise<Service> {
  const folder = mkdtempSync(path.join(tmpdir(), 'bmc-replicas-'));
  const redis = await startRedis();
  const cloud = await startCloudServer();
  const servers = listServers(cloud);
  servers.put(1);
  const auth = { auth_url: `${cloud.url}/v3`, username: 'u', password: PASSWORD, user_domain_id: 'default' };
  const clouds = path.join(folder, 'clouds.yaml');
  writeFileSync(
    clouds,
    JSON.stringify({ clouds: { lab: { auth: { ...auth, project_name: 'p', project_domain_id: 'default' } } } }),
  );
  await setPassword(path.join(folder, 'users'), ADMIN.UserName, ADMIN.Password);
  const running: DaemonProcess[] = [];
  return {
    redis,
    servers,
    cloud,
    start: async (lines = '') => {
      const config = path.join(folder, `${running.length}.conf`);
      writeFileSync(
        config,
        `EMULATOR_STATE_DIR = '${path.join(folder, String(running.length))}'
EMULATOR_AUTH_FILE = '${path.join(folder, 'users')}'
EMULATOR_SHARED_STORE = '${redis.url}'
EMULATOR_OS_CLOUD = 'lab'
EMULATOR_CONSOLE_SSH_PORT = None
${lines}`,
      );
      const process = new DaemonProcess(['--config', config, '-i', '127.0.0.1', '-p', '0'], {
        env: { OS_CLIENT_CONFIG_FILE: clouds },
      });
      running.push(process);
      return { process, url: await process.address() };
    },
    stop: async () => {
      for (const process of running) await process.dispose();
      await cloud.close();
      await redis.stop();
      rmSync(folder, { recursive: true });
    },
  };
}
