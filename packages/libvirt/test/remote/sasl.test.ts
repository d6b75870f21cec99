import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Hypervisor, isLibvirtError } from '../../src/index.js';
import { failureOf } from '../fake/until.js';
import { describeWith } from '../harness/installed.js';
import { startNetworkLibvirtd, type NetworkLibvirtd } from '../harness/network-libvirtd.js';
import { patient } from './remote-connection.js';

const run = promisify(execFile);
const password = 'a secret, =with% special "characters"';

const describeSasl = describeWith('/usr/sbin/saslpasswd2');

let dir: string;
const hosts: NetworkLibvirtd[] = [];
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'rackless-sasl-'));
  const database = join(dir, 'sasldb');
  const adding = run('/usr/sbin/saslpasswd2', ['-p', '-c', '-f', database, '-a', 'libvirt', '-u', 'lab', 'alice']);
  adding.child.stdin?.end(password);
  await adding;
  await writeAuth('right', password);
  await writeAuth('wrong', 'another secret');
});
afterAll(async () => {
  for (const host of hosts) await host.stop();
  await rm(dir, { recursive: true });
});

/** Starts a libvirtd that requires SASL with the given mechanisms on all its sockets. */
async function startWith(mechanisms: string): Promise<NetworkLibvirtd> {
  const config = join(dir, mechanisms.replaceAll(' ', '-'));
  await mkdir(config);
  await writeFile(join(config, 'libvirt.conf'), `mech_list: ${mechanisms}\nsasldb_path: ${join(dir, 'sasldb')}\n`);
  const host = await startNetworkLibvirtd({
    driver: 'test',
    libvirtdConf: ['auth_tls = "sasl"', 'auth_tcp = "sasl"', 'auth_unix_rw = "sasl"'],
    env: { SASL_CONF_PATH: config },
  });
  hosts.push(host);
  return host;
}

async function writeAuth(name: string, secret: string): Promise<void> {
  const lines = [
    '[credentials-lab]',
    'authname=alice@lab',
    `password=${secret}`,
    '[auth-libvirt-default]',
    'credentials=lab',
  ];
  await writeFile(join(dir, name), `${lines.join('\n')}\n`);
}

const tls = (host: NetworkLibvirtd, more: string): string =>
  `test+tls://localhost:${host.tlsPort}/default?pkipath=${host.pkipath}${more}`;

/** Opens a connection, makes a call and closes the connection. */
async function expectOpens(uri: string): Promise<void> {
  const hypervisor = await Hypervisor.open(uri, patient);
  expect(await hypervisor.getType()).toBe('TEST');
  await hypervisor.close();
}

/** Opens a connection, which must fail. Returns the messages of the error and of its causes, without a password. */
async function refusal(uri: string): Promise<string> {
  let error: unknown = await failureOf(Hypervisor.open(uri, patient));
  const messages: string[] = [];
  for (; error instanceof Error; error = error.cause) {
    messages.push(isLibvirtError(error) ? `${error.code}: ${error.message}` : error.message);
  }
  const text = messages.join('\n');
  expect(text).not.toContain('secret');
  return text;
}

describeSasl('SCRAM-SHA-256', () => {
  let host: NetworkLibvirtd;
  beforeAll(async () => {
    host = await startWith('scram-sha-256');
  });

  it('opens connections over TLS and over a unix socket', async () => {
    await expectOpens(tls(host, `&authfile=${join(dir, 'right')}`));
    await expectOpens(`${host.daemon.uri}&authfile=${join(dir, 'right')}`);
  });

  it('fails with a wrong password, and if the authfile does not exist', async () => {
    expect(await refusal(tls(host, `&authfile=${join(dir, 'wrong')}`))).toContain('AUTH_FAILED: authentication failed');
    expect(await refusal(tls(host, '&authfile=/nonexistent'))).toContain('there is no /nonexistent');
  });

  it('is not used over TCP, where others can read the connection', async () => {
    const uri = `test+tcp://localhost:${host.tcpPort}/default?authfile=${join(dir, 'right')}`;
    expect(await refusal(uri)).toContain('AUTH_UNSUPPORTED: ');
    expect(await refusal(uri)).toContain('libvirtd wants a password, which is not safe over tcp');
  });
});

describeSasl('PLAIN', () => {
  let host: NetworkLibvirtd;
  beforeAll(async () => {
    host = await startWith('plain');
  });

  it('opens connections over TLS, but not with a wrong password', async () => {
    await expectOpens(tls(host, `&authfile=${join(dir, 'right')}`));
    expect(await refusal(tls(host, `&authfile=${join(dir, 'wrong')}`))).toContain('AUTH_FAILED: authentication failed');
  });

  it('is not used over TLS with no_verify, over a unix socket, or over TCP', async () => {
    for (const uri of [
      tls(host, `&no_verify=1&authfile=${join(dir, 'right')}`),
      `${host.daemon.uri}&authfile=${join(dir, 'right')}`,
    ]) {
      expect(await refusal(uri)).toMatch(/AUTH_UNSUPPORTED: .*PLAIN over TLS with verification; libvirtd offers PLAIN/);
    }
    const tcp = `test+tcp://localhost:${host.tcpPort}/default?authfile=${join(dir, 'right')}`;
    expect(await refusal(tcp)).toContain('AUTH_UNSUPPORTED: ');
  });
});

describeSasl('SASL', () => {
  it('uses SCRAM-SHA-256 over a unix socket if libvirtd also offers PLAIN', async () => {
    // Our client does not use PLAIN over a unix socket, so this connection opens only with SCRAM-SHA-256.
    const host = await startWith('plain scram-sha-256');
    await expectOpens(`${host.daemon.uri}&authfile=${join(dir, 'right')}`);
  });
});
