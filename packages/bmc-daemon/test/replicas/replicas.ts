/**
 * Replicas of one service, as processes, with a Redis and with a test server that replaces a cloud.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setPassword } from '../../src/password-file/password-file-writer.js';
import { DaemonProcess } from '../daemon/process.js';
import { PASSWORD, startCloudServer, type CloudServer } from '../support/cloud-server.js';
import { listServers, type ListedServers } from '../support/listed-servers.js';
import { startRedis, type PrivateRedis } from '../../../daemon/test/support/redis.js';

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
  /**
   * Starts a replica with its own configuration and state folder, and waits until it serves. All replicas share the
   * password file.
   * @param lines more lines of its configuration.
   */
  start(lines?: string): Promise<Replica>;
  stop(): Promise<void>;
}

/** The administrator in the password file. */
export const ADMIN = { UserName: 'admin', Password: 'secret words' };

/** Starts the parts that the replicas share: a Redis, and a cloud with one server. */
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
