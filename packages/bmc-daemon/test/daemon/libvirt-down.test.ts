import { chmodSync, chownSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startLibvirtd, type PrivateLibvirtd } from '../../../libvirt/test/harness/libvirtd.js';
import { daemonFixture } from './fixture.js';
import { waitFor } from './process.js';

const { at, start } = daemonFixture();
/** An account that no group admits to libvirt. */
const NOBODY = 65534;

describe('a host that comes and goes', () => {
  let libvirtd: PrivateLibvirtd;
  beforeAll(async () => {
    libvirtd = await startLibvirtd({ driver: 'test' });
  });
  afterAll(() => libvirtd.stop());

  it('is waited for at the start, answered with 503 while it is away, and back without a restart', async () => {
    await libvirtd.end();
    const daemon = start(['-i', '127.0.0.1', '-p', '0', '--libvirt-uri', libvirtd.uri]);
    const address = await daemon.address();
    const status = async () => (await fetch(`${address}/redfish/v1/Systems`)).status;
    const becomes = (expected: number) =>
      waitFor(
        async () => ((await status()) === expected ? true : undefined),
        () => `the answer has not become ${expected}:\n${daemon.stdout}`,
      );
    // Before anybody asks for a machine: whoever starts the service reads what is the matter.
    await waitFor(
      () => Promise.resolve(daemon.stdout.includes(`no connection to libvirt ${libvirtd.uri}`) ? true : undefined),
      () => `no word of the host that is away:\n${daemon.stdout}`,
    );
    expect(await status()).toBe(503);
    await libvirtd.start();
    await becomes(200);
    await libvirtd.end('SIGKILL');
    await becomes(503);
    await libvirtd.start();
    await becomes(200);
    daemon.signal('SIGTERM');
    expect(await daemon.finished()).toMatchObject({ code: 0, stderr: '' });
  });

  it('does not hold up the end while it hangs', async () => {
    const daemon = start(['-i', '127.0.0.1', '-p', '0', '--libvirt-uri', libvirtd.uri]);
    const address = await daemon.address();
    await waitFor(
      async () => ((await fetch(`${address}/redfish/v1/Systems`)).status === 200 ? true : undefined),
      () => daemon.stdout,
    );
    libvirtd.signal('SIGSTOP');
    try {
      daemon.signal('SIGTERM');
      expect((await daemon.finished()).code).toBe(0);
    } finally {
      libvirtd.signal('SIGCONT');
    }
  });
});

describe('a libvirt that does not admit the account of the daemon', () => {
  let libvirtd: PrivateLibvirtd;
  beforeAll(async () => {
    libvirtd = await startLibvirtd({ driver: 'test' });
  });
  afterAll(() => libvirtd.stop());

  // As root alone a test can become another account.
  const asRoot = process.getuid?.() === 0 ? it : it.skip;

  asRoot('is named in the log, in /healthz and on the page, with the command that admits the account', async () => {
    const hint =
      'libvirt runs here, but does not admit the account nobody: ' +
      'run "sudo usermod -aG libvirt nobody", log in again, and restart bmc-daemon';
    // The way to the socket is open, the socket itself is root's.
    for (let folder = path.dirname(libvirtd.socket); folder !== '/tmp' && folder !== '/'; folder = path.dirname(folder))
      chmodSync(folder, 0o755);
    chmodSync(libvirtd.socket, 0o600);
    chownSync(at(''), NOBODY, NOBODY);
    const daemon = start(['-i', '127.0.0.1', '-p', '0', '--libvirt-uri', libvirtd.uri], {
      through: ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'],
    });
    const address = await daemon.address();
    await daemon.logged(/^no connection to libvirt /);
    expect(daemon.messages('warn')).toContain(`no connection to libvirt ${libvirtd.uri}: ${hint}`);
    const health = await fetch(`${address}/healthz`);
    expect([health.status, await health.json()]).toEqual([
      503,
      { status: 'unavailable', hypervisor: `libvirt ${libvirtd.uri}`, reason: `asking libvirt: ${hint}` },
    ]);
    expect(await (await fetch(`${address}/`)).text()).toContain(hint.replaceAll('"', '&quot;'));
    await daemon.logged(/^a request could not be served$/);
    expect(daemon.stdout).not.toMatch(/\bat .*\.js:\d/);
  });
});
