/** Tests an insertion that runs while its machine migrates live between two real libvirtds with separate pools. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LabHost, startHosts, until, uuidOf, type LabDriver } from './hosts-lab.js';

let left: LabHost;
let right: LabHost;
let lab: LabDriver;
let server: Server;
let url: URL;
/** Ends the first download. Later downloads end at once. */
let finish: (() => void) | undefined;

beforeAll(async () => {
  [left, right] = await Promise.all([LabHost.start('left', 'qemu'), LabHost.start('right', 'qemu')]);
  lab = await startHosts([left, right]);
  let isFirst = true;
  server = createServer((request, response) => {
    response.writeHead(200, { 'content-length': 8, etag: '"one"' });
    if (request.method === 'HEAD') {
      response.end();
      return;
    }
    response.write('an i');
    const end = (): void => void response.end('mage');
    if (isFirst) finish = end;
    else end();
    isFirst = false;
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A TCP server has an address of this form.
  url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/x.iso`);
});
afterAll(async () => {
  await lab.driver.close();
  server.close();
  server.closeAllConnections();
  await Promise.all([left.stop(), right.stop()]);
});

const hostOf = async (uuid: string): Promise<unknown> => (await lab.driver.getSystem(uuid)).host;
const migrate = async (name: string): Promise<void> => {
  const flags = ['--undefinesource', '--persistent', '--live', '--migrateuri', 'tcp://127.0.0.1'];
  await left.virsh('migrate', name, right.libvirtd.daemon.uri, ...flags);
};

describe('a machine that migrates', () => {
  it('gets its image on the new host if it moved during the download', async () => {
    const uuid = uuidOf(1);
    await left.define({ uuid, name: 'guest' });
    await lab.driver.power(uuid, 'create');
    const inserting = lab.driver.media?.insert(uuid, 'cdrom', { url, writeProtected: true, verifyCertificate: true });
    const outcome = inserting?.then(
      () => 'inserted',
      (error: unknown) => error,
    );
    await until('the download', () => Promise.resolve(finish !== undefined));
    await migrate('guest');
    await until('the new host', async () => (await hostOf(uuid)) === 'right');
    finish?.();
    expect(await outcome).toBe('inserted');
    expect(await right.virsh('domblklist', 'guest')).toMatch(/sda\s+\S*rackless-/);
    const images = async (host: LabHost): Promise<number> =>
      (await host.virsh('vol-list', 'rackless-images')).match(/\.iso$/gm)?.length ?? 0;
    expect(await images(right)).toBe(1);
    await until('the removal of the unused image', async () => (await images(left)) === 0);
  });
});
