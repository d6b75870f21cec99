import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { Hypervisor } from '../../src/index.js';
import { failureOf, until } from '../fake/until.js';
import { startLibvirtd, type PrivateLibvirtd } from '../harness/libvirtd.js';
import { type Relay, startRelay } from '../harness/relay.js';
import { describeWith } from '../harness/installed.js';
import { startSshd, type PrivateSshd } from '../harness/sshd.js';
import { expectEvent, expectLoss, expectReconnect, expectStreams, patient, persistent } from './remote-connection.js';

const describeSsh = describeWith('/usr/sbin/sshd');

let daemon: PrivateLibvirtd;
let sshd: PrivateSshd;
beforeAll(async () => {
  daemon = await startLibvirtd({ driver: 'test' });
  sshd = await startSshd(daemon);
});
afterAll(async () => {
  await sshd.stop();
  await daemon.stop();
});

function uriOf(more: Readonly<Record<string, string>> = {}, port = sshd.port): string {
  const query = new URLSearchParams({ keyfile: sshd.keyfile, known_hosts: sshd.knownHosts, ...more });
  return `test+ssh://root@127.0.0.1:${port}/default?${query.toString()}`;
}

const isAlive = (pid: string): boolean => existsSync(`/proc/${pid}`);

describeSsh('a connection over ssh', () => {
  it.each([
    ['the default proxy', {}],
    ['virt-ssh-helper', { proxy: 'native' }],
    ['netcat', { proxy: 'netcat' }],
  ])('makes calls with %s', async (_, parameters) => {
    const hypervisor = await Hypervisor.open(uriOf(parameters), patient);
    expect(await hypervisor.getType()).toBe('TEST');
    await hypervisor.close();
  });

  it('makes calls to the socket that the URI names', async () => {
    const hypervisor = await Hypervisor.open(uriOf({ socket: daemon.socket }), patient);
    expect(await hypervisor.getType()).toBe('TEST');
    await hypervisor.close();
  });

  it('delivers events, makes changes, and leaves no process after its end', async () => {
    const command = join(sshd.dir, 'ssh');
    const pids = join(sshd.dir, 'pids');
    // sh gives a background process no input, so this script passes its own input to ssh.
    const script = `#!/bin/sh\necho $$ >>${pids}\nexec 3<&0\nssh "$@" <&3 &\necho $! >>${pids}\nwait\n`;
    await writeFile(command, script, { mode: 0o755 });
    const hypervisor = await Hypervisor.open(uriOf({ command }), patient);
    await expectEvent(hypervisor);
    await hypervisor.close();
    const started = (await readFile(pids, 'utf8')).split('\n').filter(Boolean);
    expect(started).toHaveLength(4); // the script and its ssh, for the control and for the work connection
    await until('all processes to end', () => !started.some(isAlive));
    await until('all sessions of the server to end', () => sshd.connections() === 0);
  });

  it('carries streams in both directions without a loss', async () => {
    const host = await startLibvirtd({ driver: 'qemu' });
    const server = await startSshd(host);
    try {
      const query = `keyfile=${server.keyfile}&known_hosts=${server.knownHosts}`;
      const hypervisor = await Hypervisor.open(`qemu+ssh://root@127.0.0.1:${server.port}/system?${query}`, patient);
      await expectStreams(hypervisor, join(host.dir, 'tmp'));
      await hypervisor.close();
    } finally {
      await server.stop();
      await host.stop();
    }
  });
});

describeSsh('ssh', () => {
  it('rejects an unknown host key, and stores it with no_verify', async () => {
    const known = join(sshd.dir, 'other_"hosts"_100%');
    const error = await failureOf(Hypervisor.open(uriOf({ known_hosts: known }), patient));
    expect(error).toMatchObject({ code: 'NOT_CONNECTED' });
    expect(String(error)).toContain('Host key verification failed.');
    const hypervisor = await Hypervisor.open(uriOf({ known_hosts: known, no_verify: '1' }), patient);
    await hypervisor.close();
    expect(await readFile(known, 'utf8')).toContain('ssh-ed25519');
  });

  it('rejects a changed host key even with no_verify', async () => {
    const known = join(sshd.dir, 'changed_hosts');
    const other = (await readFile(`${sshd.keyfile}.pub`, 'utf8')).split(' ').slice(0, 2).join(' ');
    await writeFile(known, `[127.0.0.1]:${sshd.port} ${other}\n`);
    const error = await failureOf(Hypervisor.open(uriOf({ known_hosts: known, no_verify: '1' }), patient));
    expect(String(error)).toContain('Host key verification failed.');
  });

  it('fails if the server requires a password', async () => {
    const keyfile = join(sshd.dir, 'no_key');
    // This ssh uses neither the configuration nor the keys and the agent of this account.
    const command = join(sshd.dir, 'ssh-without-keys');
    const script = '#!/bin/sh\nexec ssh -F none -o IdentityAgent=none -o IdentitiesOnly=yes "$@"\n';
    await writeFile(command, script, { mode: 0o755 });
    const error = await failureOf(Hypervisor.open(uriOf({ keyfile, command }), patient));
    expect(String(error)).toContain('Permission denied');
  });

  it('fails if the remote shell prints a banner', async () => {
    const noisy = await startSshd(daemon, 'echo "Last login: today"');
    const uri = uriOf({ keyfile: noisy.keyfile, known_hosts: noisy.knownHosts }, noisy.port);
    try {
      expect(String(await failureOf(Hypervisor.open(uri, patient)))).toContain(
        'the remote host printed "Last login: today" before the first message of libvirtd',
      );
    } finally {
      await noisy.stop();
    }
  });

  it('fails with the message of the remote program if the socket does not exist', async () => {
    const error = await failureOf(Hypervisor.open(uriOf({ socket: '/nonexistent' }), patient));
    expect(String(error)).toContain('/nonexistent: No such file or directory');
  });
});

describeSsh('a network between client and server', () => {
  let relay: Relay | undefined;
  let hypervisor: Hypervisor | undefined;
  afterEach(async () => {
    await hypervisor?.close();
    await relay?.stop();
  });

  it.each(['end', 'reset'] as const)('causes a reconnect with events if it cuts connections (%s)', async (how) => {
    relay = await startRelay(sshd.port);
    await sshd.trust(relay.port);
    hypervisor = await Hypervisor.open(uriOf({}, relay.port), persistent);
    await expectReconnect(hypervisor, relay, how);
  });

  it('lets keepalive end a connection if no bytes flow, and causes a reconnect when bytes flow again', async () => {
    relay = await startRelay(sshd.port);
    await sshd.trust(relay.port);
    hypervisor = await Hypervisor.open(uriOf({}, relay.port), {
      ...persistent,
      keepalive: { intervalMs: 2_000, count: 3 },
    });
    await expectLoss(hypervisor, relay);
    await failureOf(hypervisor.getHostname({ timeoutMs: 50 }));
    relay.resume();
    expect(await hypervisor.getType()).toBe('TEST');
  });
});
