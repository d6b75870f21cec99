/** Starts bmc-daemon in its own process, with machines in memory and an administrator account. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const BIN = path.join(import.meta.dirname, '../../../bmc-daemon/bin/bmc-daemon.js');
/** Time limit of a start. Even on a loaded host, a start needs less. */
const TIMEOUT_MS = 120_000;
/** The administrator's password, with characters that break careless quoting. */
export const PASSWORD = 'a password: with "signs"';

/** A running daemon. */
export interface Bmc {
  /** `http://127.0.0.1:40001` */
  readonly url: string;
  /** Variables that select the daemon and its account. */
  readonly env: Record<string, string>;
  readonly folder: string;
  /** Reads a resource as the administrator. */
  readonly get: (path: string) => Promise<Record<string, unknown>>;
  readonly close: () => Promise<void>;
}

/**
 * Starts bmc-daemon with three machines in memory.
 * @param settings further lines of its configuration.
 * @throws {Error} with its log if it ends, or does not serve within two minutes.
 */
export async function startBmc(settings: readonly string[] = []): Promise<Bmc> {
  const folder = mkdtempSync(path.join(tmpdir(), 'racklessctl-bmc-'));
  const { PATH = '' } = process.env;
  const env = { PATH, HOME: folder };
  spawnSync(process.execPath, [BIN, 'htpasswd', path.join(folder, 'htpasswd'), 'admin'], { env, input: PASSWORD });
  const lines = [
    "EMULATOR_LISTEN_IP = '127.0.0.1'",
    'EMULATOR_LISTEN_PORT = 0',
    'EMULATOR_FAKE_DRIVER = True',
    "EMULATOR_AUTH_FILE = 'htpasswd'",
    "EMULATOR_STATE_DIR = 'state'",
    ...(settings.some((line) => line.startsWith('EMULATOR_CONSOLE_SSH_PORT'))
      ? []
      : ['EMULATOR_CONSOLE_SSH_PORT = None']),
    ...settings,
  ];
  writeFileSync(path.join(folder, 'bmc.conf'), `${lines.join('\n')}\n`);
  const child = spawn(process.execPath, [BIN, '--config', path.join(folder, 'bmc.conf')], { env, cwd: folder });
  let log = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (log += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const exit = once(child, 'close');
  const hasEnded = (): boolean => child.exitCode !== null;
  const url = await addressIn(() => log, hasEnded).catch((error: unknown) => {
    // A running daemon would keep jest from ending.
    child.kill('SIGKILL');
    throw error;
  });
  const authorization = `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}`;
  return {
    url,
    folder,
    env: { RACKLESSCTL_URL: url, RACKLESSCTL_USER: 'admin', RACKLESSCTL_PASSWORD: PASSWORD },
    async get(resource) {
      const answer = await fetch(`${url}${resource}`, { headers: { authorization } });
      return (await answer.json()) as Record<string, unknown>; // resources are objects
    },
    async close() {
      child.kill('SIGTERM');
      await exit;
      rmSync(folder, { recursive: true });
    },
  };
}

/** Waits until the log has the address, and returns it. */
async function addressIn(log: () => string, hasEnded: () => boolean): Promise<string> {
  const until = Date.now() + TIMEOUT_MS;
  for (;;) {
    const [, address] = /serving [^"]* at (https?:\/\/127\.0\.0\.1:\d+)/.exec(log()) ?? [];
    if (address !== undefined) return address;
    if (hasEnded() || Date.now() > until) throw new Error(`bmc-daemon does not serve:\n${log()}`);
    await delay(20);
  }
}

/** Reads a file of the repository. */
export const readRepositoryFile = (name: string): string =>
  readFileSync(path.join(import.meta.dirname, '../../../..', name), 'utf8');
