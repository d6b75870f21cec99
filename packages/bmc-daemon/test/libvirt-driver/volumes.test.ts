/**
 * Tests volumes of machines. Machines that are off belong to libvirt's test driver, which has working
 * pools. Running machines are QEMU guests, because the test driver cannot attach disks (libvirt 9), or can
 * attach but not detach them (libvirt 11).
 */
import { writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DriverError } from '../../src/drivers/driver-error.js';
import type { DiskSnapshot } from '../../src/drivers/snapshot/hardware-snapshot.js';
import type { CompleteDriver } from '../../src/drivers/driver.js';
import { readDefinition, saveRecord } from '../../src/drivers/libvirt/machine/definition.js';
import { LibvirtVolumes } from '../../src/drivers/libvirt/volumes/volume-control.js';
import { readMetadata } from '../../src/drivers/libvirt/xml/metadata/metadata.js';
import type { NewVolume, VolumeControl } from '../../src/drivers/volume-control.js';
import { TestHost, until } from './host.js';

const mib = 1024 ** 2;
const [first, second] = ['00000000-0000-4000-8000-0000000000a1', '00000000-0000-4000-8000-0000000000a2'];

let host: TestHost;
let driver: CompleteDriver;

beforeAll(async () => {
  host = await TestHost.start('test');
  driver = await host.driver({ storagePool: 'default-pool' });
  for (const [name, uuid] of [
    ['one', first],
    ['two', second],
  ]) {
    const file = host.file(`${name ?? ''}.xml`);
    const disk = `<disk type='file' device='disk'><source file='/x.img'/><target dev='vda' bus='virtio'/></disk>`;
    await writeFile(
      file,
      `<domain type='test'><name>${name}</name><uuid>${uuid}</uuid><memory unit='MiB'>64</memory>` +
        `<os><type arch='x86_64'>hvm</type></os><devices>${disk}</devices></domain>`,
    );
    await host.virsh('define', file);
  }
});
afterAll(() => host.stop());

const wanted: NewVolume = { bus: 'virtio', name: 'data', capacityBytes: 8 * mib, provisioning: 'thin', storage: null };

function control(): VolumeControl {
  return driver.volumes;
}
const diskOf = async (uuid: string, name: string): Promise<DiskSnapshot | undefined> =>
  (await driver.getSystem(uuid)).disks.find(({ target }) => target === name);
const names = async (): Promise<readonly string[]> =>
  (await host.virsh('vol-list', 'default-pool')).split(/\s+/).filter((word) => word.startsWith('rackless-volume-'));
const failure = async (promise: Promise<unknown>): Promise<unknown> => {
  const error: unknown = await promise.then(
    () => 'resolved',
    (reason: unknown) => reason,
  );
  return error instanceof DriverError ? [error.kind, error.message] : error;
};

describe('a volume on a libvirt host', () => {
  it('is created in the configured pool, attached to a machine that is off, and removed completely', async () => {
    const before = await host.virsh('dumpxml', '--inactive', 'one');
    expect(await control().createVolume('one', wanted)).toBe('vdb');
    const [name, ...others] = await names();
    expect([name, others]).toEqual([
      expect.stringMatching(new RegExp(`^rackless-volume-${first}-[0-9a-f]{8}\\.qcow2$`)),
      [],
    ]);
    // The test driver reports a wrong capacity: the same for all disks of a machine. So the test ignores it.
    expect({ ...(await diskOf(first, 'vdb')), capacityBytes: null }).toEqual({
      target: 'vdb',
      device: 'disk',
      bus: 'virtio',
      source: `/default-pool/${name ?? ''}`,
      serial: null,
      readonly: false,
      capacityBytes: null,
      indicator: null,
      label: 'data',
      storage: null,
      pending: false,
    });
    await control().removeVolume(first, 'vdb');
    expect([await names(), await diskOf(first, 'vdb')]).toEqual([[], undefined]);
    expect((await host.virsh('dumpxml', '--inactive', 'one')).replace(/\s*<metadata\/>/, '')).toBe(before);
  });

  it('is not removed if another machine uses it, or if its file is in no pool', async () => {
    expect(await failure(control().removeVolume(first, 'vda'))).toEqual([
      'unsupported',
      'looking up the volume of a disk: no storage pool of the host has /x.img',
    ]);
    const target = await control().createVolume(first, wanted);
    const source = (await diskOf(first, target))?.source ?? '';
    await host.virsh('attach-disk', 'two', source, 'vdb', '--config').catch(async () => {
      // The test driver of libvirt 9 cannot attach a disk, but it can define a machine with one.
      const xml = await host.virsh('dumpxml', '--inactive', 'two');
      await writeFile(host.file('shared.xml'), xml.replace('/x.img', source));
      await host.virsh('define', host.file('shared.xml'));
    });
    expect(await failure(control().removeVolume(first, target))).toEqual([
      'conflict',
      `removing disk ${target} of machine one: machine two also uses its volume`,
    ]);
    expect(await diskOf(first, target)).toBeDefined();
    await host.virsh('undefine', 'two');
    await control().removeVolume(first, target);
    expect(await names()).toEqual([]);
  });

  it('is not removed if another volume is based on it', async () => {
    const target = await control().createVolume(first, wanted);
    const source = (await diskOf(first, target))?.source ?? '';
    await writeFile(
      host.file('overlay.xml'),
      `<volume><name>overlay</name><capacity unit='bytes'>${8 * mib}</capacity>` +
        `<backingStore><path>${source}</path><format type='qcow2'/></backingStore></volume>`,
    );
    await host.virsh('vol-create', 'default-pool', host.file('overlay.xml'));
    expect(await failure(control().removeVolume(first, target))).toEqual([
      'conflict',
      `removing disk ${target} of machine one: volume overlay is based on its volume`,
    ]);
    expect(await diskOf(first, target)).toBeDefined();
    await host.virsh('vol-delete', 'overlay', 'default-pool');
    await control().removeVolume(first, target);
    expect(await names()).toEqual([]);
  });

  it('leaves nothing if it cannot be created, or if the client cancels', async () => {
    const kind = async (change: Partial<NewVolume>) => failure(control().createVolume(first, { ...wanted, ...change }));
    expect(await kind({ bus: 'fdc' })).toEqual([
      'unsupported',
      'adding a disk to one: no disk can be added to bus fdc',
    ]);
    expect(await kind({ capacityBytes: 2 ** 52, provisioning: 'fixed' })).toEqual([
      'storageFull',
      expect.stringContaining('Not enough free space'),
    ]);
    const reason = new Error('cancelled');
    const signal = AbortSignal.abort(reason);
    await expect(control().createVolume(first, wanted, { signal })).rejects.toBe(reason);
    const lost = await host.driver({ storagePool: 'absent' });
    expect(await failure(lost.volumes.createVolume(first, wanted))).toEqual([
      'unsupported',
      'opening storage pool absent: the host has no such pool',
    ]);
    expect(await failure(control().createVolume('nobody', wanted))).toEqual(['notFound', expect.anything()]);
    expect(await names()).toEqual([]);
  });

  it('is deleted by a restarted daemon if it was created but not attached; an attached volume stays', async () => {
    const parts = host.parts();
    const machine = await parts.inventory.find('one');
    const pool = await parts.hypervisor.storagePoolLookupByName('default-pool');
    const attached = await control().createVolume('one', wanted);
    const [present] = await names();
    // The record names this volume as unattached, but the machine uses it. So the daemon must not delete it.
    const { xml } = await readDefinition(machine, 30_000);
    const unattached = [{ pool: 'default-pool', volume: present ?? '' }];
    await saveRecord({ hypervisor: parts.hypervisor, timeoutMs: 30_000 }, machine, xml, {
      ...readMetadata(xml),
      unattached,
    });
    // The creation never continues, as in a daemon that ends as soon as the volume exists.
    const real = pool.storageVolCreateXml.bind(pool);
    const made = new Promise<void>((resolve) => {
      pool.storageVolCreateXml = async (...args) => {
        await real(...args);
        resolve();
        return await new Promise(() => undefined);
      };
    });
    const volumes = new LibvirtVolumes({ host: parts, openPool: () => Promise.resolve(pool) });
    void volumes.create(machine, wanted, {});
    await made;
    expect(await names()).toHaveLength(2);
    const next = await host.driver({ storagePool: 'default-pool' });
    const unattachedVolume = async () => readMetadata(await host.virsh('dumpxml', '--inactive', 'one')).unattached;
    await until('the records to be settled', async () => (await unattachedVolume()) === null);
    expect(await names()).toEqual([present]);
    await next.volumes.removeVolume('one', attached);
    await next.close();
  });

  it('is created only once if a configuration is applied again, with or without a pool name', async () => {
    for (let round = 0; round < 2; round += 1) {
      await control().provideVolume(first, { pool: null, name: 'configured' }, mib);
      await control().provideVolume(first, { pool: 'default-pool', name: 'configured' }, mib);
    }
    expect(await host.virsh('vol-list', 'default-pool')).toMatch(/^\s*configured\s+\S+\s*$/);
    expect(await failure(control().provideVolume(first, { pool: 'absent', name: 'x' }, mib))).toEqual([
      'unsupported',
      'opening storage pool absent: the host has no such pool',
    ]);
  });

  it("can be added and removed during a boot override; the override's end restores the user's boot order", async () => {
    const definition = async () =>
      (await host.virsh('dumpxml', '--inactive', 'one')).replace(/\s*<metadata(\/>|>[^]*<\/metadata>)/, '');
    await control().setDriveIndicator(first, 'vda', 'off');
    const before = await definition();
    await driver.change(first, { boot: { enabled: 'continuous', target: 'hd' } });
    const target = await control().createVolume(first, wanted);
    expect((await driver.getSystem(first)).boot).toMatchObject({ enabled: 'continuous', target: 'hd' });
    expect(await diskOf(first, 'vda')).toMatchObject({ indicator: 'off' });
    await control().removeVolume(first, target);
    await driver.change(first, { boot: { enabled: 'disabled' } });
    expect(await definition()).toBe(before);
  });

  it('is no longer a disk of its machine after a removal during which another program deleted its file', async () => {
    const parts = host.parts();
    const machine = await parts.inventory.find('one');
    const target = await control().createVolume(first, wanted);
    const [name = ''] = await names();
    const { hypervisor } = parts;
    const find = hypervisor.storageVolLookupByPath.bind(hypervisor);
    hypervisor.storageVolLookupByPath = async (...args) => {
      const volume = await find(...args);
      const remove = volume.delete.bind(volume);
      volume.delete = async (...options) => {
        await host.virsh('vol-delete', name, 'default-pool');
        await remove(...options);
      };
      return volume;
    };
    const volumes = new LibvirtVolumes({ host: parts, openPool: () => Promise.reject(new Error('no pool is needed')) });
    await volumes.remove(machine, target);
    expect(await diskOf(first, target)).toBeUndefined();
    expect(readMetadata(await host.virsh('dumpxml', '--inactive', 'one')).unattached).toBeNull();
  });

  it('keeps its indicator until the definition has another disk at its target', async () => {
    await control().setDriveIndicator(first, 'vda', 'blinking');
    expect((await diskOf(first, 'vda'))?.indicator).toBe('blinking');
    const xml = await host.virsh('dumpxml', '--inactive', 'one');
    await writeFile(host.file('other.xml'), xml.replace(`<source file='/x.img'/>`, `<source file='/y.img'/>`));
    await host.virsh('define', host.file('other.xml'));
    expect((await diskOf(first, 'vda'))?.indicator).toBeNull();
    expect(await failure(control().setDriveIndicator(first, 'vdz', 'lit'))).toEqual(['notFound', expect.anything()]);
  });
});

describe('a volume of a running guest', () => {
  let qemu: TestHost;
  beforeAll(async () => {
    qemu = await TestHost.start();
  });
  afterAll(() => qemu.stop());

  it('is attached at the next power-on, if its bus accepts no disk while the guest runs', async () => {
    const guests = await qemu.driver();
    const { uuid } = await qemu.guest({ cdrom: '' });
    await guests.power(uuid, 'create');
    const target = await guests.volumes.createVolume(uuid, {
      ...wanted,
      bus: 'sata',
      provisioning: 'fixed',
      storage: 'raid',
    });
    const disks = async () => (await guests.getSystem(uuid)).disks;
    expect(await disks()).toMatchObject([
      { target: 'vda', pending: false },
      { target, bus: 'sata', source: expect.stringMatching(/\.img$/), pending: true, storage: 'raid' },
    ]);
    expect(qemu.messages.filter((text) => text.includes('accepts no disk while it runs'))).toHaveLength(1);
    await guests.power(uuid, 'destroy');
    await guests.power(uuid, 'create');
    expect(await disks()).toMatchObject([{ target: 'vda' }, { target, pending: false }]);
    await guests.power(uuid, 'destroy');
    await guests.volumes.removeVolume(uuid, target);
    expect(await disks()).toMatchObject([{ target: 'vda' }]);
  });

  it('stays in the definition and the guest as before if libvirt refuses to delete it', async () => {
    const { uuid, name } = await qemu.guest({ cdrom: '', devices: "<controller type='usb' model='qemu-xhci'/>" });
    await qemu.virsh('start', name);
    const guests = await qemu.driver();
    // On this bus, even a guest without an operating system releases a disk.
    const create = async () => await guests.volumes.createVolume(uuid, { ...wanted, bus: 'usb' });
    const [plugged, defined] = [await create(), await create()];
    await qemu.virsh('detach-disk', name, defined, '--live');
    const parts = qemu.parts();
    const machine = await parts.inventory.find(uuid);
    const live = async () =>
      ((await readDefinition(machine, 30_000)).instance?.domain.devices.disks ?? []).map(({ target }) => target);
    await until('the guest to release the disk', async () => !(await live()).includes(defined));
    const { hypervisor } = parts;
    const find = hypervisor.storageVolLookupByPath.bind(hypervisor);
    hypervisor.storageVolLookupByPath = async (...args) => {
      const volume = await find(...args);
      volume.delete = () => Promise.reject(new Error('refused'));
      return volume;
    };
    const volumes = new LibvirtVolumes({ host: parts, openPool: () => Promise.reject(new Error('no pool is needed')) });
    const before = await qemu.virsh('dumpxml', '--inactive', name);
    for (const target of [plugged, defined]) {
      const text = `removing disk ${target} of machine ${name}: refused`;
      expect(await failure(volumes.remove(machine, target))).toEqual(['internal', text]);
    }
    expect(await live()).toEqual(['vda', plugged]);
    expect(await qemu.virsh('dumpxml', '--inactive', name)).toBe(before);
    await qemu.virsh('destroy', name);
  });
});
