/** Tests serial consoles over WebSockets with the real command, and together with OpenSSH's client. */
import { execFile, execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { SshClient } from '../console/ssh-client.js';
import { WebConsoleClient } from '../console/web-console-client.js';
import { daemonFixture, FAKE } from './fixture.js';
import type { DaemonProcess } from './process.js';

const { at, config, start } = daemonFixture();
const clients: { dispose(): void | Promise<void> }[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) await client.dispose();
});

const systems = '/redfish/v1/Systems';
const basic = (user: string) => ({ Authorization: `Basic ${Buffer.from(`${user}:secret`).toString('base64')}` });

/** Starts a daemon with an administrator and a read-only account. */
async function startWithAccounts(): Promise<{ readonly daemon: DaemonProcess; readonly url: string }> {
  execFileSync('htpasswd', ['-cbB', '-C', '4', at('users'), 'admin', 'secret'], { stdio: 'pipe' });
  const daemon = start([...FAKE, '--config', config(`EMULATOR_AUTH_FILE = 'users'\nEMULATOR_CONSOLE_SSH_PORT = 0\n`)]);
  const url = await daemon.address();
  const created = await fetch(`${url}/redfish/v1/AccountService/Accounts`, {
    method: 'POST',
    headers: { ...basic('admin'), 'Content-Type': 'application/json' },
    body: JSON.stringify({ UserName: 'rick', Password: 'reads a lot', RoleId: 'ReadOnly' }),
  });
  expect(created.status).toBe(201);
  return { daemon, url };
}

/** Logs in, and returns the token and the URL of the session. */
async function logIn(url: string, user = 'admin', password = 'secret') {
  const { headers } = await fetch(`${url}/redfish/v1/SessionService/Sessions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ UserName: user, Password: password }),
  });
  const token = headers.get('x-auth-token') ?? '';
  return { token, session: new URL(headers.get('location') ?? '', url).href };
}

/** Opens the console of a machine in memory as a browser does. */
function open(url: string, token: string, machine = 'node-2'): WebConsoleClient {
  const client = new WebConsoleClient(`${url}${systems}/${machine}/SerialConsole`, [
    'rackless',
    `rackless.token.${token}`,
  ]);
  clients.push(client);
  return client;
}

describe('a serial console over a WebSocket', () => {
  it('has the URI in SerialConsole, shows the log of this boot, and accepts input', async () => {
    const { url } = await startWithAccounts();
    const system = (await (await fetch(`${url}${systems}/node-2`, { headers: basic('admin') })).json()) as {
      SerialConsole: { WebSocket: { ConsoleURI: string } };
    };
    const uri = system.SerialConsole.WebSocket.ConsoleURI;
    const script = new WebConsoleClient(`${url}${uri}`, [], { headers: basic('admin') });
    clients.push(script);
    await script.waitForMessage({ type: 'hello', machine: 'node-2', you: 'admin at 127.0.0.1' });
    const { bytes } = await script.waitForMessage({ type: 'boot' });
    await script.waitForMessage({ type: 'state', state: 'open' });
    script.type('first\r');
    await script.waitFor('first\r\nnode-2 login: ');
    const { token } = await logIn(url);
    const later = open(url, token);
    const boot = await later.waitForMessage({ type: 'boot', boot: 1 });
    expect(Number(boot['bytes'])).toBeGreaterThan(Number(bytes));
    await later.waitFor('first\r\nnode-2 login: ');
    expect(later.output).toHaveLength(Number(boot['bytes']));
  });

  it('has one keyboard for browsers and SSH clients', async () => {
    const { daemon, url } = await startWithAccounts();
    const { token } = await logIn(url);
    const [writer, viewer] = [open(url, token), open(url, token)];
    await writer.waitForMessage({ type: 'state', state: 'open' });
    await viewer.waitForMessage({ type: 'state', state: 'open' });
    writer.type('one\r');
    await viewer.waitFor('one\r\nnode-2 login: ');
    viewer.type('dropped');
    await viewer.waitForMessage({ type: 'dropped', bytes: 7, why: 'another client has the keyboard' });
    const port = Number((await daemon.waitForLog(/^consoles over SSH at port/)).replace(/^.* /, ''));
    const ssh = new SshClient({ user: 'admin/node-2', port, answers: ['secret'], options: ['-tt', '-e', 'none'] });
    clients.push(ssh);
    await ssh.waitFor('Connected to node-2');
    ssh.type('\x1dT');
    await writer.waitForMessage({ type: 'keyboard', asker: 'admin at 127.0.0.1', yours: true });
    writer.sendMessage({ type: 'release' });
    await ssh.waitFor('[you have the keyboard]');
    await writer.waitForMessage({ type: 'keyboard', yours: false });
    ssh.type('two\r');
    await viewer.waitFor('two\r\nnode-2 login: ');
    viewer.sendMessage({ type: 'take' });
    await ssh.waitFor('asks for the keyboard, and gets it in 10 s');
    ssh.type('~.');
    await viewer.waitForMessage({ type: 'keyboard', yours: true, asker: null });
    viewer.type('three\r');
    await writer.waitFor('three\r\nnode-2 login: ');
    expect(writer.output).not.toContain('dropped');
  });

  it('rejects clients without login or privilege, pages of other sites, unknown machines, and clients above the limit', async () => {
    const { url } = await startWithAccounts();
    const uri = `${url}${systems}/node-2/SerialConsole`;
    expect(await new WebConsoleClient(uri, []).end()).toMatch(/401$/);
    expect(await new WebConsoleClient(uri, ['rackless', 'rackless.token.x']).end()).toMatch(/401$|^4401 /);
    const rick = await logIn(url, 'rick', 'reads a lot');
    expect(await open(url, rick.token).end()).toMatch(/403$|^4403 /);
    const other = { headers: { ...basic('admin'), Origin: 'http://other.example' } };
    expect(await new WebConsoleClient(uri, [], other).end()).toMatch(/403$/);
    const { token } = await logIn(url);
    expect(await open(url, token, 'none').end()).toMatch(/^4404 /);
    const many = await Promise.all(Array.from({ length: 16 }, () => open(url, token).opened()));
    expect(await open(url, token).end()).toMatch(/^4429 /);
    many[0]?.dispose();
  });

  it('ends with its session, and releases the keyboard', async () => {
    const { url } = await startWithAccounts();
    const [first, second] = [await logIn(url), await logIn(url)];
    const [ended, other] = [open(url, first.token), open(url, second.token)];
    await ended.waitForMessage({ type: 'state', state: 'open' });
    await other.waitForMessage({ type: 'state', state: 'open' });
    ended.type('typed ');
    await other.waitFor('typed ');
    await fetch(first.session, { method: 'DELETE', headers: { 'X-Auth-Token': second.token } });
    expect(await ended.end()).toMatch(/^4401 /);
    await other.waitForMessage({ type: 'keyboard', holder: null });
    other.type('more\r');
    await other.waitFor('more\r\nnode-2 login: ');
  });

  it('ends with code 1001 when the service stops', async () => {
    const { daemon, url } = await startWithAccounts();
    const { token } = await logIn(url);
    const client = open(url, token);
    await client.waitForMessage({ type: 'state', state: 'open' });
    daemon.signal('SIGTERM');
    expect(await client.end()).toMatch(/^1001 /);
    expect((await daemon.waitForExit()).code).toBe(0);
    expect(daemon.stdout).not.toContain(token);
  });

  it('works with the script in the reference', async () => {
    const { url } = await startWithAccounts();
    const root = path.join(import.meta.dirname, '../../../..');
    const page = readFileSync(path.join(root, 'docs/reference/serial-console-websocket.md'), 'utf8');
    const [, script = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
    // The file is inside the repository, so that the script finds its package.
    const file = path.join(root, 'packages/bmc-daemon/dist', `example-${process.pid}.mjs`);
    writeFileSync(file, script);
    clients.push({ dispose: () => rmSync(file) });
    const run = promisify(execFile)(process.execPath, [file], {
      env: { BMC: url, MACHINE: 'node-2', LOGIN: 'admin:secret', COMMAND: 'from a script' },
      timeout: 120_000,
    });
    expect((await run).stdout).toContain('from a script\r\nnode-2 login: ');
  });
});
