/**
 * Tests consoles over SSH with the real bmc-daemon command. Covers the port, the host key, and the
 * connection to a machine.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { SshClient } from '../console/ssh-client.js';
import { daemonFixture, FAKE } from './fixture.js';
import { run } from './process.js';

const { at, config, start } = daemonFixture();
const clients: SshClient[] = [];

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.dispose()));
});

/** Writes a password file. Returns the setting that refers to it. */
function authFileSetting(): string {
  execFileSync('htpasswd', ['-cbB', '-C', '4', at('users'), 'admin', 'secret'], { stdio: 'pipe' });
  return `EMULATOR_AUTH_FILE = 'users'\n`;
}

async function portOf(daemon: ReturnType<typeof start>): Promise<number> {
  return Number((await daemon.waitForLog(/^consoles over SSH at port/)).replace(/^.* /, ''));
}

describe('consoles over SSH', () => {
  it('have the same host keys after a restart, and end with the service', async () => {
    const file = config(`${authFileSetting()}EMULATOR_CONSOLE_SSH_PORT = 0\n`);
    const fingerprints: unknown[] = [];
    for (let time = 0; time < 2; time += 1) {
      const daemon = start([...FAKE, '--config', file]);
      const port = await portOf(daemon);
      fingerprints.push(
        daemon.lines.find(({ message }) => String(message).startsWith('consoles over SSH'))?.['hostKeys'],
      );
      const url = await daemon.address();
      const system = (await (
        await fetch(`${url}/redfish/v1/Systems/node-2`, {
          headers: { Authorization: `Basic ${Buffer.from('admin:secret').toString('base64')}` },
        })
      ).json()) as { SerialConsole: { SSH: { Port: number } } };
      expect(system.SerialConsole.SSH.Port).toBe(port);
      const client = new SshClient({ user: 'admin/node-2', port, answers: ['secret'], options: ['-T'] });
      clients.push(client);
      await client.waitFor('Connected to node-2');
      client.type('\r');
      await client.waitFor('node-2 login: ');
      daemon.signal('SIGTERM');
      await client.waitFor('the service ends');
      expect(await client.exit()).toBe(1);
      expect((await daemon.waitForExit()).code).toBe(0);
      expect(daemon.stdout).not.toContain('secret');
    }
    expect(fingerprints[0]).toEqual([
      expect.stringMatching(/^ssh-ed25519 SHA256:[\w+/]{43}$/),
      expect.stringMatching(/^ecdsa-sha2-nistp256 SHA256:[\w+/]{43}$/),
    ]);
    expect(fingerprints[1]).toEqual(fingerprints[0]);
  });

  it('are disabled without accounts, unless a setting enables them for all clients', async () => {
    const none = start(FAKE, { env: { EMULATOR_CONSOLE_SSH_PORT: "'auto'" } });
    await none.address();
    expect(none.messages().filter((message) => message.includes('SSH'))).toEqual([]);
    const own = { STATE_DIRECTORY: at('other'), EMULATOR_CONSOLE_SSH_PORT: '0' };
    const open = start(FAKE, { env: own });
    const client = new SshClient({ user: 'node-2', port: await portOf(open), options: ['-T'] });
    clients.push(client);
    await client.waitFor('Connected to node-2');
  });

  it('prevent the start if the configured port is in use', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const address = taken.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const file = config(`${authFileSetting()}EMULATOR_CONSOLE_SSH_PORT = ${port}\n`);
    const refused = await run([...FAKE, '--config', file], { env: { STATE_DIRECTORY: at('state') } });
    expect([refused.code, refused.stderr]).toEqual([
      1,
      `${file}:2: listening at 127.0.0.1 port ${port}: the port is in use\n`,
    ]);
    taken.close();
  });

  it('are disabled if the host keys cannot be read and no setting enables them', async () => {
    const file = config(authFileSetting());
    mkdirSync(at('state/ssh_host_ed25519_key'), { recursive: true });
    const daemon = start([...FAKE, '--config', file], { env: { EMULATOR_CONSOLE_SSH_PORT: "'auto'" } });
    await daemon.address();
    expect(daemon.messages('warn').filter((message) => message.includes('SSH'))).toEqual([
      expect.stringMatching(/^no consoles over SSH: reading .*\/state\/ssh_host_ed25519_key: /),
    ]);
  });
});
