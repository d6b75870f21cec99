import { beforeAll, describe, expect, it } from '@jest/globals';
import {
  ConnectListAllStoragePoolsFlags,
  type Hypervisor,
  type StoragePool,
  StoragePoolState,
  StorageVolType,
} from '../../src/index.js';
import { withHost } from '../harness/host.js';
import type { PrivateLibvirtd } from '../harness/libvirtd.js';
import { codeOf } from '../harness/outcome.js';
import { virsh } from '../harness/virsh.js';

let daemon: PrivateLibvirtd;
let hypervisor: Hypervisor;
withHost('test', (host) => void ({ daemon, hypervisor } = host));

const poolXml = (name: string): string =>
  `<pool type='dir'><name>${name}</name><target><path>/images/${name}</path></target></pool>`;
const volumeXml = (name: string): string =>
  `<volume><name>${name}</name><capacity unit='MiB'>8</capacity><allocation>0</allocation></volume>`;

describe('a storage pool', () => {
  it('is defined, started, listed, stopped and removed', async () => {
    const pool = await hypervisor.storagePoolDefineXml(poolXml('images'));
    expect(pool).toEqual({ name: 'images', uuid: await virsh(daemon, 'pool-uuid', 'images') });
    expect([await pool.isActive(), await pool.isPersistent()]).toEqual([false, true]);
    await pool.build();
    await pool.create();
    await pool.refresh();
    expect(await pool.isActive()).toBe(true);
    expect((await hypervisor.listAllStoragePools()).map(({ name }) => name).sort()).toEqual(['default-pool', 'images']);
    const transient = await hypervisor.listAllStoragePools(ConnectListAllStoragePoolsFlags.TRANSIENT);
    expect(transient).toEqual([]);
    expect((await pool.getXmlDesc()).trim()).toBe(await virsh(daemon, 'pool-dumpxml', 'images'));
    await pool.setAutostart(true);
    expect(await pool.getAutostart()).toBe(true);
    await pool.setAutostart(false);
    await pool.destroy();
    expect((await pool.getInfo()).state).toBe(StoragePoolState.INACTIVE);
    await pool.undefine();
    expect(await codeOf(pool.getInfo())).toBe('NO_STORAGE_POOL');
  });

  it('is found by name and UUID, or the lookup fails with NO_STORAGE_POOL', async () => {
    const pool = await hypervisor.storagePoolLookupByName('default-pool');
    expect(await hypervisor.storagePoolLookupByUuid(pool.uuid)).toEqual(pool);
    expect(await codeOf(hypervisor.storagePoolLookupByName('absent'))).toBe('NO_STORAGE_POOL');
    expect(await codeOf(hypervisor.storagePoolLookupByUuid('00000000-0000-0000-0000-000000000000'))).toBe(
      'NO_STORAGE_POOL',
    );
  });

  it('is transient if it is started without a definition, and disappears when it stops', async () => {
    const pool = await hypervisor.storagePoolCreateXml(poolXml('short'));
    expect([await pool.isActive(), await pool.isPersistent()]).toEqual([true, false]);
    await pool.destroy();
    expect(await codeOf(hypervisor.storagePoolLookupByName('short'))).toBe('NO_STORAGE_POOL');
  });

  it('reports its sizes in bytes', async () => {
    const pool = await hypervisor.storagePoolLookupByName('default-pool');
    const info = await pool.getInfo();
    expect(info.state).toBe(StoragePoolState.RUNNING);
    expect(info.capacityBytes).toBe(107_374_182_400);
    expect(info.allocationBytes + info.availableBytes).toBe(info.capacityBytes);
  });
});

describe('a storage volume', () => {
  let pool: StoragePool;
  beforeAll(async () => {
    pool = await hypervisor.storagePoolLookupByName('default-pool');
  });

  it('is created, found by name, key and path, and deleted', async () => {
    const volume = await pool.storageVolCreateXml(volumeXml('disk.img'));
    expect(volume).toEqual({ pool: 'default-pool', name: 'disk.img', key: '/default-pool/disk.img' });
    expect((await pool.listAllVolumes()).map(({ name }) => name)).toEqual(['disk.img']);
    expect(await pool.storageVolLookupByName('disk.img')).toEqual(volume);
    expect(await hypervisor.storageVolLookupByKey(volume.key)).toEqual(volume);
    expect(await hypervisor.storageVolLookupByPath('/default-pool/disk.img')).toEqual(volume);
    expect(await hypervisor.storagePoolLookupByVolume(volume)).toEqual(pool);
    expect(await volume.getPath()).toBe('/default-pool/disk.img');
    expect(await volume.getInfo()).toEqual({
      type: StorageVolType.FILE,
      capacityBytes: 8_388_608,
      allocationBytes: 0,
    });
    expect((await volume.getXmlDesc()).trim()).toBe(await virsh(daemon, 'vol-dumpxml', '/default-pool/disk.img'));
    await volume.delete();
    expect(await codeOf(volume.getInfo())).toBe('NO_STORAGE_VOL');
    expect(await codeOf(pool.storageVolLookupByName('disk.img'))).toBe('NO_STORAGE_VOL');
    expect(await codeOf(hypervisor.storageVolLookupByKey('/absent'))).toBe('NO_STORAGE_VOL');
    expect(await codeOf(hypervisor.storageVolLookupByPath('/absent'))).toBe('NO_STORAGE_VOL');
  });
});
