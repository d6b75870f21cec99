/**
 * Replaces the certificate of a running daemon over Redfish with curl and openssl, and finds the
 * daemon with SSDP.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createSocket } from 'node:dgram';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { createAuthority } from '../support/authority.js';
import { searchText } from '../support/ssdp-client.js';
import { daemonFixture, FAKE } from './fixture.js';
import { waitFor, type DaemonProcess } from './process.js';

const execute = promisify(execFile);
const { at, config, makeCertificate, start } = daemonFixture();

type Body = Readonly<Record<string, unknown>>;

/**
 * Sends a request with curl, which trusts only this certificate.
 * @returns the JSON of the body.
 * @throws if curl rejects the certificate.
 */
async function curl(trusted: string, url: string, method = 'GET', body?: object): Promise<Body> {
  const sent = body === undefined ? [] : ['--header', 'Content-Type: application/json', '--data-binary', '@-'];
  const running = execute('curl', ['--silent', '--show-error', '--cacert', trusted, '-X', method, ...sent, url]);
  running.child.stdin?.end(body === undefined ? '' : JSON.stringify(body));
  return JSON.parse((await running).stdout) as Body; // Answers of Redfish are JSON objects.
}

/**
 * Returns the subject of the served certificate. Rejects if the trusted certificate does not verify
 * it.
 */
async function servedSubject(address: string, trusted: string): Promise<string> {
  const { host } = new URL(address);
  // Without -nameopt, versions of openssl print names differently.
  const words = ['-connect', host, '-CAfile', trusted, '-verify_return_error', '-nameopt', 'RFC2253'];
  const running = execute('openssl', ['s_client', ...words]);
  running.child.stdin?.end();
  return /^subject=(.*)$/m.exec((await running).stdout)?.[1] ?? '';
}

/** Returns the URI of the certificates of the first manager. */
async function certificatesOf(address: string, trusted: string): Promise<string> {
  const { Members: members } = await curl(trusted, `${address}/redfish/v1/Managers`);
  const [first] = members as readonly Readonly<Record<string, string>>[]; // The schema requires this property.
  return `${first?.['@odata.id'] ?? ''}/NetworkProtocol/HTTPS/Certificates`;
}

const action = (address: string, name: string) =>
  `${address}/redfish/v1/CertificateService/Actions/CertificateService.${name}`;

describe('a certificate that a client requests and replaces over Redfish', () => {
  it('is used at once, after SIGHUP and after a restart; an unusable one changes nothing', async () => {
    makeCertificate('server');
    const authority = createAuthority(at('.'));
    const tls = ['--ssl-certificate', at('server.pem'), '--ssl-key', at('server.key')];
    const self = at('self.pem');
    writeFileSync(self, readFileSync(at('server.pem')));
    const first = start([...FAKE, ...tls]);
    let address = await first.address();
    const certificates = await certificatesOf(address, self);

    const request = await curl(self, action(address, 'GenerateCSR'), 'POST', {
      CertificateCollection: { '@odata.id': certificates },
      CommonName: 'bmc.example.org',
      AlternativeNames: ['localhost', '127.0.0.1'],
    });
    const body = {
      CertificateUri: { '@odata.id': `${certificates}/1` },
      CertificateString: authority.sign(String(request['CSRString'])),
      CertificateType: 'PEM',
    };
    const replaced = await curl(self, action(address, 'ReplaceCertificate'), 'POST', body);
    expect(replaced['Subject']).toMatchObject({ CommonName: 'bmc.example.org' });
    expect(await servedSubject(address, authority.rootFile)).toBe('CN=bmc.example.org');
    await expect(servedSubject(address, self)).rejects.toThrow();
    expect(statSync(at('server.key')).mode & 0o777).toBe(0o600);

    const again = await curl(authority.rootFile, action(address, 'ReplaceCertificate'), 'POST', {
      ...body,
      CertificateString: readFileSync(self, 'utf8'),
    });
    expect(JSON.stringify(again)).toContain('The text contains no private key');
    first.signal('SIGHUP');
    await first.waitForLog(/^certificate and key reloaded$/);
    expect(await servedSubject(address, authority.rootFile)).toBe('CN=bmc.example.org');
    first.signal('SIGTERM');
    expect((await first.waitForExit()).code).toBe(0);
    expect(first.stdout).not.toContain('PRIVATE');

    address = await start([...FAKE, ...tls]).address();
    expect(await servedSubject(address, authority.rootFile)).toBe('CN=bmc.example.org');
    expect((await curl(authority.rootFile, `${address}${certificates}/1`))['CertificateString']).toBe(
      body.CertificateString,
    );
  });
});

describe('discovery of the daemon', () => {
  /** Searches until an answer names the daemon's port, and returns the answer. */
  async function find(daemon: DaemonProcess, address: string): Promise<string> {
    const socket = createSocket('udp4');
    const found: string[] = [];
    socket.on('message', (packet) => found.push(packet.toString()));
    socket.bind(0);
    await once(socket, 'listening');
    // Uses the loopback interface, whatever other networks exist.
    socket.setMulticastInterface('127.0.0.1');
    const asking = setInterval(() => socket.send(searchText(), 1900, '239.255.255.250'), 200);
    try {
      return await waitFor(
        () => found.find((text) => text.includes(`:${new URL(address).port}/`)),
        () => `no daemon was found:\n${daemon.stdout}\n${found.join('\n')}`,
      );
    } finally {
      clearInterval(asking);
      socket.close();
    }
  }

  it('answers at UDP port 1900 with its address; a client can disable it, also for later starts', async () => {
    const file = config('EMULATOR_SSDP = True\n');
    const daemon = start([...FAKE, '--config', file]);
    const address = await daemon.address();
    expect(await find(daemon, address)).toMatch(new RegExp(`^AL: ${address}/redfish/v1/\r$`, 'm'));
    // Answers of Redfish are JSON objects.
    const { Members: members } = (await (await fetch(`${address}/redfish/v1/Managers`)).json()) as Body;
    const [manager] = members as readonly Readonly<Record<string, string>>[]; // The schema requires this property.
    const url = `${address}${manager?.['@odata.id'] ?? ''}/NetworkProtocol`;
    const changed = await fetch(url, {
      method: 'PATCH',
      headers: { 'Content-Type': 'application/json' },
      body: '{"SSDP": {"ProtocolEnabled": false}}',
    });
    expect([changed.status, ((await changed.json()) as Body)['SSDP']]).toEqual([
      200,
      expect.objectContaining({ ProtocolEnabled: false }),
    ]);
    daemon.signal('SIGTERM');
    expect((await daemon.waitForExit()).code).toBe(0);
    const second = start([...FAKE, '--config', file]);
    const moved = url.replace(address, await second.address());
    const { SSDP: ssdp } = (await (await fetch(moved)).json()) as Body; // Answers of Redfish are JSON objects.
    expect(ssdp).toMatchObject({ ProtocolEnabled: false, Port: 1900 });
  });
});
