import { chmodSync, chownSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startLibvirtd, type PrivateLibvirtd } from '../../../libvirt/test/harness/libvirtd.js';
import { daemonFixture } from './fixture.js';
import { waitFor } from './process.js';

const { at, start } = daemonFixture();
/** The account nobody, which may not use libvirt. */
const UNPRIVILEGED_UID = 65534;

describe('a libvirtd that stops and starts', () => {
  let libvirtd: PrivateLibvirtd;
  beforeAll(async () => {
    libvirtd = await startLibvirtd({ driver: 'test' });
  });
  afterAll(() => libvirtd.stop());

  it('makes the daemon answer 503 while it is down, and is used again without a restart of the daemon', async () => {
    await libvirtd.stopDaemon();
    const daemon = start(['-i', '127.0.0.1', '-p', '0', '--libvirt-uri', libvirtd.uri]);
    const address = await daemon.address();
    const status = async () => (await fetch(`${address}/redfish/v1/Systems`)).status;
    const untilStatus = (expected: number) =>
      waitFor(
        async () => ((await status()) === expected ? true : undefined),
        () => `the status did not become ${expected}:\n${daemon.stdout}`,
      );
    // The log shows the reason before the first request.
    await waitFor(
      () => Promise.resolve(daemon.stdout.includes(`no connection to libvirt ${libvirtd.uri}`) ? true : undefined),
      () => `the log does not report the connection:\n${daemon.stdout}`,
    );
    expect(await status()).toBe(503);
    await libvirtd.start();
    await untilStatus(200);
    await libvirtd.stopDaemon('SIGKILL');
    await untilStatus(503);
    await libvirtd.start();
    await untilStatus(200);
    daemon.signal('SIGTERM');
    expect(await daemon.waitForExit()).toMatchObject({ code: 0, stderr: '' });
  });

  it('does not delay the shutdown of the daemon when it hangs', async () => {
    const daemon = start(['-i', '127.0.0.1', '-p', '0', '--libvirt-uri', libvirtd.uri]);
    const address = await daemon.address();
    await waitFor(
      async () => ((await fetch(`${address}/redfish/v1/Systems`)).status === 200 ? true : undefined),
      () => daemon.stdout,
    );
    libvirtd.signal('SIGSTOP');
    try {
      daemon.signal('SIGTERM');
      expect((await daemon.waitForExit()).code).toBe(0);
    } finally {
      libvirtd.signal('SIGCONT');
    }
  });
});

describe('a libvirt that rejects the account of the daemon', () => {
  let libvirtd: PrivateLibvirtd;
  beforeAll(async () => {
    libvirtd = await startLibvirtd({ driver: 'test' });
  });
  afterAll(() => libvirtd.stop());

  // Only root can run a process as another account.
  const asRoot = process.getuid?.() === 0 ? it : it.skip;

  asRoot('is reported in the log, in /healthz and on /ui/plain, with the command that permits access', async () => {
    const hint =
      'libvirt on this host rejects the account nobody: ' +
      'run "sudo usermod -aG libvirt nobody", log in again, and restart bmc-daemon';
    // The folders are accessible, but the socket belongs to root.
    for (let folder = path.dirname(libvirtd.socket); folder !== '/tmp' && folder !== '/'; folder = path.dirname(folder))
      chmodSync(folder, 0o755);
    chmodSync(libvirtd.socket, 0o600);
    chownSync(at(''), UNPRIVILEGED_UID, UNPRIVILEGED_UID);
    const daemon = start(['-i', '127.0.0.1', '-p', '0', '--libvirt-uri', libvirtd.uri], {
      through: ['setpriv', `--reuid=${UNPRIVILEGED_UID}`, `--regid=${UNPRIVILEGED_UID}`, '--clear-groups'],
    });
    const address = await daemon.address();
    await daemon.waitForLog(/^no connection to libvirt /);
    expect(daemon.messages('warn')).toContain(`no connection to libvirt ${libvirtd.uri}: ${hint}`);
    const health = await fetch(`${address}/healthz`);
    expect([health.status, await health.json()]).toEqual([
      503,
      { status: 'unavailable', hypervisor: `libvirt ${libvirtd.uri}`, reason: `asking libvirt: ${hint}` },
    ]);
    expect(await (await fetch(`${address}/ui/plain`)).text()).toContain(hint.replaceAll('"', '&quot;'));
    await daemon.waitForLog(/^a request could not be served$/);
    expect(daemon.stdout).not.toMatch(/\bat .*\.js:\d/);
  });
});
