/**
 * Tests the driver with a libvirt behind ssh, as on another host, with a real sshd and real guests. The libvirtd
 * has its own folders, which this process does not see at their paths.
 */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { echoGuestXml, writeEchoDisk } from '../../../libvirt/test/harness/echo-guest.js';
import { describeWith } from '../../../libvirt/test/harness/installed.js';
import { startSshd, type PrivateSshd } from '../../../libvirt/test/harness/sshd.js';
import type { CompleteDriver } from '../../src/drivers/driver.js';
import { remoteFiles } from '../../src/drivers/libvirt/host-files.js';
import { expectBootOnce, TestHost, until } from './host.js';

const describeSsh = describeWith('/usr/sbin/sshd');

let host: TestHost;
let sshd: PrivateSshd;
let uri: string;
let driver: CompleteDriver;

beforeAll(async () => {
  host = await TestHost.start();
  sshd = await startSshd(host.libvirtd);
  const parameters = new URLSearchParams({ keyfile: sshd.keyfile, known_hosts: sshd.knownHosts });
  uri = `qemu+ssh://root@127.0.0.1:${sshd.port}/system?${parameters.toString()}`;
  // No host has this loader. The driver cannot see the files of another host, and must not look for them on this host.
  driver = await host.driver({
    uri,
    bootLoaderMap: { efi: { x86_64: '/elsewhere/OVMF_CODE.fd' } },
    timeoutMs: 240_000,
  });
});
afterAll(async () => {
  await host.stop();
  await sshd.stop();
});

const volumesInPool = async (): Promise<string> => await host.virsh('vol-list', 'rackless-images');

describeSsh('a libvirt on another host, over ssh', () => {
  it('stores in its pool an image that the driver sends, and a machine boots once from this image', async () => {
    const guest = await host.guest();
    const { url } = await host.serveImage('iso');
    await driver.media.insert(guest.uuid, 'cdrom', { url, writeProtected: true, verifyCertificate: true });
    expect(await volumesInPool()).toMatch(/rackless-[0-9a-f]{16}-[0-9a-f]{16}\.iso/);
    await expectBootOnce(driver, guest, 'cdrom', 'boot iso');
    await driver.media.eject(guest.uuid, 'cdrom');
    expect(await volumesInPool()).not.toContain('rackless-');
  });

  it('reports changes that other programs make', async () => {
    const guest = await host.guest();
    const changes: string[] = [];
    const leave = driver.onChange(({ uuid, kind }) => {
      if (uuid === guest.uuid) changes.push(kind);
    });
    await host.virsh('start', guest.name);
    await until('the start', () => Promise.resolve(changes.includes('started')));
    leave();
    await driver.power(guest.uuid, 'destroy');
  });

  it('sends input to the console of a machine, and returns the output', async () => {
    const disk = await writeEchoDisk(host.libvirtd.dir, 'tmp/echo.img');
    await writeFile(host.file('echo.xml'), echoGuestXml({ name: 'echo', disk }));
    await host.virsh('define', host.file('echo.xml'));
    await driver.power('echo', 'create');
    const stream = await driver.console.open('echo');
    stream.write('x');
    const [echoed] = (await once(stream, 'data', { signal: AbortSignal.timeout(240_000) })) as [Buffer];
    expect(echoed.toString()).toBe('x');
    stream.destroy();
    // The boot id before the space is empty, because the boot id of this host says nothing about the other host.
    expect(await driver.console.instance('echo')).toMatch(/^ \d+$/);
    await driver.power('echo', 'destroy');
  });

  it.each([
    ['socket', `<graphics type='vnc'><listen type='socket'/></graphics>`],
    ['port', `<graphics type='vnc' autoport='yes' listen='127.0.0.1'/>`],
  ])('connects the driver to a display at a %s', async (_place, devices) => {
    const guest = await host.guest({ devices });
    await driver.power(guest.uuid, 'create');
    const display = await driver.display?.find(guest.uuid);
    const stream = await display?.connect();
    if (stream === undefined) throw new Error('the driver has no displays');
    const [version] = (await once(stream, 'data', { signal: AbortSignal.timeout(240_000) })) as [Buffer];
    expect(version.toString()).toBe('RFB 003.008\n');
    stream.on('error', () => undefined).destroy();
    await driver.power(guest.uuid, 'destroy');
  });

  it('stores the path of a boot loader of the map that this host does not have', async () => {
    const guest = await host.guest();
    await driver.change(guest.uuid, { boot: { firmware: 'efi' } });
    expect(await host.inactiveXml(guest)).toContain('/elsewhere/OVMF_CODE.fd');
  });

  it('returns a file of its host to the driver, and has no temporary pool afterwards', async () => {
    await writeFile(host.file('template.fd'), 'variables');
    const files = remoteFiles(host.parts().hypervisor, 240_000);
    expect((await files.read(host.file('template.fd'))).toString()).toBe('variables');
    expect(await host.virsh('pool-list', '--all', '--name')).not.toContain('rackless-variables-');
  });
});
