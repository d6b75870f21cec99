import { describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, writeFileSync } from 'node:fs';
import { connect, type PeerCertificate, type SecureVersion } from 'node:tls';
import { promisify } from 'node:util';
import { daemonFixture, FAKE } from './fixture.js';

const execute = promisify(execFile);
const { at, config, makeCertificate, start } = daemonFixture();

/** Returns certificate and protocol of a new connection. @throws if the daemon rejects the handshake. */
async function handshake(
  address: string,
  maxVersion: SecureVersion = 'TLSv1.3',
): Promise<{ certificate: PeerCertificate; protocol: string | null }> {
  const socket = connect({
    port: Number(new URL(address).port),
    host: '127.0.0.1',
    rejectUnauthorized: false,
    minVersion: 'TLSv1',
    maxVersion,
    ciphers: 'DEFAULT:@SECLEVEL=0',
  });
  try {
    await once(socket, 'secureConnect');
    return { certificate: socket.getPeerCertificate(), protocol: socket.getProtocol() };
  } finally {
    socket.destroy();
  }
}

/** Returns the common name of the certificate of a new connection. */
const servedName = async (address: string) => (await handshake(address)).certificate.subject.CN;

describe('HTTPS', () => {
  it('works with certificate and key, from TLS 1.2 up, and with curl that trusts the certificate', async () => {
    makeCertificate('one');
    const file = config("EMULATOR_SSL_CERT = 'one.pem'\nSUSHY_EMULATOR_SSL_KEY = 'one.key'\n");
    const address = await start([...FAKE, '--config', file]).address();
    expect(address).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    const { stdout } = await execute('curl', [
      '--silent',
      '--show-error',
      '--cacert',
      at('one.pem'),
      `${address}/redfish`,
    ]);
    expect(JSON.parse(stdout)).toEqual({ v1: '/redfish/v1/' });
    expect((await handshake(address)).protocol).toBe('TLSv1.3');
    expect((await handshake(address, 'TLSv1.2')).protocol).toBe('TLSv1.2');
    await expect(handshake(address, 'TLSv1.1')).rejects.toThrow(/protocol version|alert/);
  });

  it('redirects plain HTTP at its port to HTTPS', async () => {
    makeCertificate('one');
    const address = await start([...FAKE, '--ssl-certificate', at('one.pem'), '--ssl-key', at('one.key')]).address();
    const plain = address.replace('https:', 'http:');
    const { status, headers } = await fetch(`${plain}/redfish/v1/Systems?a=b`, { redirect: 'manual' });
    expect([status, headers.get('location')]).toEqual([308, `${address}/redfish/v1/Systems?a=b`]);
    const { stdout } = await execute('curl', [
      ...['--silent', '--show-error', '--location', '--cacert', at('one.pem')],
      `${plain}/redfish`,
    ]);
    expect(JSON.parse(stdout)).toEqual({ v1: '/redfish/v1/' });
  });

  it('uses a renewed pair after SIGHUP, and keeps the old pair if the new one is unusable', async () => {
    makeCertificate('one');
    makeCertificate('two');
    copyFileSync(at('one.pem'), at('server.pem'));
    copyFileSync(at('one.key'), at('server.key'));
    const daemon = start([...FAKE, '--ssl-certificate', at('server.pem'), '--ssl-key', at('server.key')]);
    const address = await daemon.address();
    expect(await servedName(address)).toBe('one');

    // During a renewal, the new certificate is there before its key.
    copyFileSync(at('two.pem'), at('server.pem'));
    daemon.signal('SIGHUP');
    await daemon.waitForLog(/^reloading certificate and key failed: the old pair stays in use$/);
    expect(await servedName(address)).toBe('one');

    copyFileSync(at('two.key'), at('server.key'));
    daemon.signal('SIGHUP');
    await daemon.waitForLog(/^certificate and key reloaded$/);
    expect(await servedName(address)).toBe('two');

    writeFileSync(at('server.key'), 'no key');
    daemon.signal('SIGHUP');
    await daemon.waitForLog(/^reloading certificate and key failed: the old pair stays in use$/, 2);
    expect(await servedName(address)).toBe('two');
    expect(daemon.stdout).not.toContain('PRIVATE KEY');
  });

  it('is not needed: a daemon without a certificate survives SIGHUP', async () => {
    const daemon = start(FAKE);
    const address = await daemon.address();
    daemon.signal('SIGHUP');
    await daemon.waitForLog(/^configuration reloaded: nothing new/);
    expect((await fetch(`${address}/redfish/v1`)).status).toBe(200);
  });
});
