/**
 * Tests hosts that share a storage pool, and a host with a separate pool. They are three real
 * libvirtds.
 */
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { LabHost, startHosts, until, uuidOf, type LabDriver } from './hosts-lab.js';

let hosts: readonly LabHost[];
let folder: string;
let server: Server;
let url: URL;
let downloads = 0;
let lab: LabDriver;
const [a, b, alone] = [1, 2, 3].map(uuidOf) as [string, string, string];
const sharedFolder = (): string => join(folder, 'shared');
const storedImages = async (): Promise<readonly string[]> =>
  (await readdir(sharedFolder())).filter((name) => name.startsWith('rackless-'));
const insert = (uuid: string): Promise<void> | undefined =>
  lab.driver.media?.insert(uuid, 'cdrom', { url, writeProtected: true, verifyCertificate: true });
const eject = (uuid: string): Promise<void> | undefined => lab.driver.media?.eject(uuid, 'cdrom');
const start = async (wait = true): Promise<void> => {
  lab = await startHosts(hosts, { storagePool: 'images', timeoutMs: 8_000, wait });
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rackless-pool-'));
  hosts = await Promise.all(['a', 'b', 'alone'].map((name) => LabHost.start(name, 'qemu')));
  for (const [index, host] of hosts.entries()) {
    const target = index < 2 ? sharedFolder() : join(folder, 'own');
    await mkdir(target, { recursive: true });
    await host.virsh('pool-define-as', 'images', 'dir', '--target', target);
    await host.virsh('pool-start', 'images');
    await host.define({ uuid: uuidOf(index + 1), name: host.name });
  }
  server = createServer((request, response) => {
    if (request.method === 'GET') downloads += 1;
    response.writeHead(200, { 'content-length': 8, etag: '"one"' });
    response.end(request.method === 'HEAD' ? undefined : 'an image');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  // The address of a TCP server is an object.
  url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/x.iso`);
  await start();
});
afterAll(async () => {
  await lab.driver.close();
  server.close();
  server.closeAllConnections();
  await Promise.all(hosts.map((host) => host.stop()));
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  downloads = 0;
});

describe('hosts that share a pool', () => {
  it('need one download of an image, and a host with a separate pool needs another download', async () => {
    await Promise.all([insert(a), insert(b)]);
    expect(downloads).toBe(1);
    expect(await storedImages()).toHaveLength(1);
    await insert(alone);
    expect(downloads).toBe(2);
    await eject(alone);
  });

  it('keep an image while a machine of one of the hosts uses the image', async () => {
    await eject(a);
    expect(await storedImages()).toHaveLength(1);
    await insert(a);
    expect(downloads).toBe(0);
    await Promise.all([eject(a), eject(b)]);
    await until('the removal', async () => (await storedImages()).length === 0);
  });

  it('keep the images of each other when the daemon starts, and remove leftovers', async () => {
    await Promise.all([insert(a), insert(b)]);
    await eject(a);
    await lab.driver.close();
    const leftover = `rackless-${'0'.repeat(16)}-${'0'.repeat(16)}.iso.part`;
    await writeFile(join(sharedFolder(), leftover), 'partial');
    await start();
    await until('the removal of the leftover', async () => !(await storedImages()).includes(leftover));
    expect(await storedImages()).toHaveLength(1);
  });

  it('keep the images of a host that does not answer', async () => {
    await insert(a);
    await hosts[1]?.libvirtd.daemon.stopDaemon('SIGKILL');
    await eject(a);
    expect(await storedImages()).toHaveLength(1);
    await lab.driver.close();
    await start(false);
    await until('the first machine', async () => (await lab.driver.listSystems()).some(({ uuid }) => uuid === a));
    await insert(a);
    await eject(a);
    expect(await storedImages()).toHaveLength(1);
    await hosts[1]?.libvirtd.daemon.start();
    await until('the other machine', async () => eject(b)?.then(() => true));
    await until('the removal', async () => (await storedImages()).length === 0);
  });
});
