/** A daemon with a console, and its users. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';
import { DaemonProcess } from '../../../bmc-daemon/test/daemon/process.js';

/** Users of `startBmc` with their passwords. Their roles are Administrator, Operator and ReadOnly. */
export const USERS = { admin: 'Secret-words-1', olga: 'Operates-all-1', rick: 'Reads-a-lot-1' };
/** A user of `startBmc`. */
export type User = keyof typeof USERS;

/** A running bmc-daemon. */
export interface Bmc {
  /** `http://127.0.0.1:12345`. */
  readonly address: string;
  /** Sends a request as the administrator; without credentials if the daemon has no users. */
  readonly ask: (method: string, path: string, body?: object) => Promise<Response>;
  /** Kills the daemon (SIGKILL). */
  readonly kill: () => Promise<void>;
  /** Starts the killed daemon again, with its state and at its address. */
  readonly restart: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/**
 * Starts a daemon with machines in memory, or with the machines that the arguments name.
 * @param options `users`: a password file with all `USERS`; olga is an Operator, rick has the role ReadOnly. Without
 *   `users`, the daemon needs no login.
 */
export async function startBmc({
  users = false,
  args = ['--fake'],
}: { readonly users?: boolean; readonly args?: readonly string[] } = {}): Promise<Bmc> {
  const folder = mkdtempSync(join(tmpdir(), 'rackless-console-'));
  const env: Record<string, string> = { STATE_DIRECTORY: join(folder, 'state'), EMULATOR_CONSOLE_SSH_PORT: 'None' };
  const options = ['-i', '127.0.0.1'];
  if (users) {
    const lines = Object.entries(USERS).map(([user, password]) => hash(user, password));
    writeFileSync(join(folder, 'users'), lines.join(''), { mode: 0o600 });
    writeFileSync(join(folder, 'bmc.conf'), `EMULATOR_AUTH_FILE = ${JSON.stringify(join(folder, 'users'))}\n`);
    options.push('--config', join(folder, 'bmc.conf'));
  }
  const start = (port: string): DaemonProcess => new DaemonProcess([...args, ...options, '-p', port], { env });
  let daemon = start('0');
  const address = await daemon.address();
  const ask: Bmc['ask'] = (method, path, body) =>
    fetch(address + path, {
      method,
      headers: {
        'Content-Type': 'application/json',
        ...(users ? { Authorization: `Basic ${btoa(`admin:${USERS.admin}`)}` } : {}),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  if (users) {
    const accounts = '/redfish/v1/AccountService/Accounts';
    for (const [user, RoleId] of [
      ['olga', 'Operator'],
      ['rick', 'ReadOnly'],
    ]) {
      const { status } = await ask('PATCH', `${accounts}/${user}`, { RoleId });
      if (status !== 200) throw new Error(`the role of ${user} was not changed: ${status}`);
    }
  }
  return {
    address,
    ask,
    kill: () => daemon.dispose(),
    async restart() {
      daemon = start(new URL(address).port);
      await daemon.address();
    },
    async stop() {
      await daemon.dispose();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Logs in through the dialog, and waits until it has closed. */
export async function logIn(page: Page, user: User, password = USERS[user]): Promise<void> {
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('User').fill(user);
  await dialog.getByLabel('Password').fill(password);
  await dialog.getByRole('button', { name: 'Log in' }).click();
  await dialog.waitFor({ state: 'detached' });
}

/** Returns the row of a machine in the list. */
export function machineRow(page: Page, name: string): Locator {
  return page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) });
}

/** Returns a line of a password file. */
function hash(user: string, password: string): string {
  const { stdout, status } = spawnSync('htpasswd', ['-nbB', user, password], { encoding: 'utf8' });
  if (status !== 0) throw new Error('htpasswd failed: install the package apache2-utils');
  return `${stdout.trim()}\n`;
}
