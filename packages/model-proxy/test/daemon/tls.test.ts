import { beforeEach, describe, expect, it } from '@jest/globals';
import { copyFileSync, readFileSync } from 'node:fs';
import { connect } from 'node:tls';
import { once } from 'node:events';
import { createAuthority, type Authority } from '../../sample-upstream/certificates.js';
import { waitFor } from '../harness/wait.js';
import { daemonFixture, LOCAL, messages, NOWHERE } from './fixture.js';

const { at, start, write } = daemonFixture();
let authority: Authority;

/** Issues a certificate, and copies it and its key to the files that the flags name. @param name of the new files. */
async function install(name: string): Promise<void> {
  const { certFile, keyFile } = await authority.issue(name);
  copyFileSync(keyFile, at('server.key'));
  copyFileSync(certFile, at('server.pem'));
}

/** Opens a connection that trusts only the test's authority. @returns the serial number of the proxy's certificate. */
async function serial(url: string): Promise<string> {
  const socket = connect({ host: 'localhost', port: Number(new URL(url).port), ca: readFileSync(authority.caFile) });
  await once(socket, 'secureConnect');
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}

describe('HTTPS', () => {
  const args = () => [
    '--config',
    write('config.yaml', NOWHERE),
    ...LOCAL,
    '--ssl_certfile_path',
    at('server.pem'),
    '--ssl_keyfile_path',
    at('server.key'),
  ];
  beforeEach(async () => {
    authority = await createAuthority(at(''));
    await install('one');
  });

  it('uses the certificate in the files that the flags name, also after a change of these files', async () => {
    const proxy = start(args());
    const url = await proxy.address();
    expect(url).toMatch(/^https:/);
    const first = await serial(url);
    await install('two');
    const second = await waitFor(
      async () => {
        const now = await serial(url);
        return now === first ? undefined : now;
      },
      () => `the new certificate is not served: ${proxy.output}`,
    );
    expect(second).not.toBe(first);
  });

  it('keeps the old certificate if the new one does not match the key', async () => {
    const proxy = start(args());
    const url = await proxy.address();
    const first = await serial(url);
    const { certFile } = await authority.issue('three');
    copyFileSync(certFile, at('server.pem'));
    proxy.signal('SIGHUP');
    await proxy.waitForOutput(/the old one stays/);
    expect(messages(proxy.output, 'error')[0]).toBe(
      `reloading: command line: --ssl_keyfile_path cannot be used: using the key ${at('server.key')}: it is not the key of the certificate`,
    );
    expect(await serial(url)).toBe(first);
  });
});
