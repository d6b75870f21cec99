/** Tests how the daemon recognizes that two hosts have the same pool, with pools of libvirt's test driver. */
import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { openPool } from '../../src/drivers/libvirt/media/open-pool.js';
import { TestHost } from '../libvirt-driver/host.js';

let host: TestHost;
beforeAll(async () => {
  host = await TestHost.start('test');
});
afterAll(() => host.stop());

/** Defines a pool, opens it, and removes it. Returns its identity; null if it has none. */
async function identityOf(name: string, type: string, source: string): Promise<string | null> {
  const { hypervisor } = host.parts();
  const xml = `<pool type='${type}'><name>${name}</name><source>${source}</source>
    <target><path>/nowhere/${name}</path></target></pool>`;
  await writeFile(host.file(`${name}.xml`), xml);
  await hypervisor.storagePoolDefineXml(xml, 0);
  const pool = await openPool({ hypervisor, uri: host.libvirtd.uri, name, create: false, timeoutMs: 30_000 });
  expect(pool?.directory).toBeNull();
  // A libvirtd accepts each source only once, so the pool must be removed before the next one.
  await pool?.pool.destroy();
  await pool?.pool.undefine();
  return pool?.identity ?? null;
}

it('openPool identifies a pool on a server by its source, whatever its name and its directory', async () => {
  const nfs = `<host name='nas.example'/><dir path='/images'/><format type='nfs'/>`;
  const first = await identityOf('first', 'netfs', nfs);
  expect(first).toContain('nas.example');
  expect(await identityOf('second', 'netfs', nfs)).toBe(first);
  expect(await identityOf('third', 'netfs', nfs.replace('/images', '/others'))).not.toBe(first);
  expect(await identityOf('fourth', 'netfs', nfs.replace('nas', 'other'))).not.toBe(first);
});

it('openPool does not identify a pool without a server if this process cannot open its directory', async () => {
  expect(await identityOf('directory', 'dir', '')).toBeNull();
});
