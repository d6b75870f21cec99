/** Tests a directory that two hosts mount, but the host of the daemon does not: two real libvirtds. */
import { once } from 'node:events';
import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { LabHost, startHosts, until, uuidOf } from './hosts-lab.js';

it('the driver stores one image for hosts that mount one directory, and deletes it after the last eject', async () => {
  let downloads = 0;
  const server = createServer((request, response) => {
    if (request.method === 'GET') downloads += 1;
    response.writeHead(200, { 'content-length': 8, etag: '"one"' });
    response.end(request.method === 'HEAD' ? undefined : 'an image');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  // The address of a TCP server is an object.
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/x.iso`);
  const folder = await mkdtemp(join(tmpdir(), 'rackless-mounted-'));
  const hosts = await Promise.all(['a', 'b'].map((name) => LabHost.start(name, 'qemu')));
  const [a, b] = [uuidOf(1), uuidOf(2)];
  for (const [index, host] of hosts.entries()) {
    // Only this libvirtd sees this path, because it has its own /var/lib/libvirt.
    await symlink(folder, join(host.libvirtd.daemon.dir, 'lib', `mounted-${host.name}`));
    await host.virsh('pool-define-as', 'images', 'dir', '--target', `/var/lib/libvirt/mounted-${host.name}`);
    await host.virsh('pool-start', 'images');
    await host.define({ uuid: uuidOf(index + 1), name: host.name });
  }
  const { driver } = await startHosts(hosts, { storagePool: 'images' });
  const images = async (): Promise<readonly string[]> =>
    (await readdir(folder)).filter((name) => name.endsWith('.iso'));
  try {
    const insert = { url, writeProtected: true, verifyCertificate: true };
    await Promise.all([a, b].map(async (uuid) => driver.media?.insert(uuid, 'cdrom', insert)));
    expect(downloads).toBe(1);
    expect(await images()).toHaveLength(1);
    await driver.media?.eject(a, 'cdrom');
    expect(await images()).toHaveLength(1);
    await driver.media?.eject(b, 'cdrom');
    await until('the removal', async () => (await images()).length === 0);
    expect(await readdir(folder)).toEqual([expect.stringMatching(/^rackless-pool-[0-9a-f]{32}$/)]);
  } finally {
    await driver.close();
    server.close();
    server.closeAllConnections();
    await Promise.all(hosts.map((host) => host.stop()));
    await rm(folder, { recursive: true });
  }
});
