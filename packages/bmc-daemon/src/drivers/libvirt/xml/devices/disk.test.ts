import { describe, expect, it } from '@jest/globals';
import { q35Xml, unusualXml } from '../../../../../test/fixtures/domain-xml.js';
import { diskMarkup, findDisk, type NewDisk } from './disk.js';
import { freeDiskTarget } from './disk-target.js';
import { readDomain } from '../domain.js';
import { withDisk, withoutDisk } from '../../../../../test/support/xml-edits.js';

const added: NewDisk = {
  target: 'vdb',
  bus: 'virtio',
  format: 'qcow2',
  source: { type: 'file', path: `/pool/it's & more.qcow2` },
};

const machine = (disks: string, type = 'q35'): string =>
  `<domain type='qemu'><name>m</name><os><type arch='x86_64' machine='${type}'>hvm</type></os><devices>${disks}</devices></domain>`;
const disk = (target: string, bus: string, address = ''): string =>
  `<disk type='file' device='disk'><source file='/x'/><target dev='${target}' bus='${bus}'/>${address}</disk>`;
const drive = (controller: number, bus: number, unit: number): string =>
  `<address type='drive' controller='${controller}' bus='${bus}' target='0' unit='${unit}'/>`;

describe('a disk in a definition', () => {
  it('is added after the others, and its removal restores the definition byte for byte', () => {
    for (const xml of [q35Xml, unusualXml]) {
      const target = freeDiskTarget([readDomain(xml)], 'virtio');
      const more = withDisk(xml, { ...added, target });
      const { disks } = readDomain(more).devices;
      expect(disks.at(-1)).toMatchObject({
        target,
        bus: 'virtio',
        device: 'disk',
        format: 'qcow2',
        source: { type: 'file', name: `/pool/it's & more.qcow2` },
        bootOrder: null,
      });
      expect(disks).toHaveLength(readDomain(xml).devices.disks.length + 1);
      expect(withoutDisk(more, target)).toBe(xml);
      expect(diskMarkup(more, target)).toMatch(/^<disk [\s\S]*<\/disk>$/);
    }
  });

  it('can be a block device, or a volume, which has no path', () => {
    const sources = (
      [
        { type: 'block', path: '/dev/vg/lv' },
        { type: 'volume', pool: 'ceph', volume: 'v' },
      ] as const
    ).map((source) => readDomain(withDisk(q35Xml, { ...added, source })).devices.disks.at(-1)?.source);
    expect(sources).toEqual([
      { type: 'block', name: '/dev/vg/lv', pool: null, volume: null },
      { type: 'volume', name: 'ceph/v', pool: 'ceph', volume: 'v' },
    ]);
  });

  it('is neither found nor removed under the target of a CD drive', () => {
    const xml = machine(disk('sda', 'sata').replace(`device='disk'`, `device='cdrom'`));
    expect(findDisk(readDomain(xml), 'sda')).toBeUndefined();
    expect(withoutDisk(xml, 'sda')).toBe(xml);
    expect(diskMarkup(xml, 'sda')).toBeUndefined();
  });
});

describe('the target of a new disk', () => {
  const freeTarget = (bus: string, ...disks: readonly string[]) =>
    freeDiskTarget([readDomain(machine(disks.join('')))], bus);

  it('is the first free one in the definition and in the running machine', () => {
    expect(freeTarget('virtio')).toBe('vda');
    expect(freeTarget('virtio', disk('vda', 'virtio'), disk('vdc', 'virtio'))).toBe('vdb');
    const [defined, running] = [machine(disk('vda', 'virtio')), machine(disk('vdb', 'virtio'))].map((xml) =>
      readDomain(xml),
    );
    if (defined === undefined || running === undefined) throw new Error('two domains expected');
    expect(freeDiskTarget([defined, running], 'virtio')).toBe('vdc');
    // No two disks may have the same target, even on different buses.
    expect(freeTarget('sata', disk('sda', 'scsi'))).toBe('sdb');
  });

  it('is one whose place on the bus is free', () => {
    expect(freeTarget('sata', disk('sdf', 'sata', drive(0, 0, 0)))).toBe('sdb');
    expect(
      freeTarget(
        'scsi',
        disk('sdx', 'scsi', drive(0, 0, 8)),
        ...Array.from('abcdefg').map((c) => disk(`sd${c}`, 'usb')),
      ),
    ).toBe('sdi');
    expect(freeTarget('ide', disk('hdx', 'ide', drive(0, 0, 0)), disk('hdy', 'ide', drive(0, 0, 1)))).toBe('hdc');
  });

  it.each([
    ['ide', Array.from('abcd').map((c) => disk(`hd${c}`, 'ide')), 'noPlace', 'bus ide has no free place'],
    ['fdc', [], 'unsupported', 'no disk can be added to bus fdc'],
  ] as const)('cannot be chosen on bus %s, which has no place for the disk', (bus, disks, kind, why) => {
    const refusal = (): unknown => {
      try {
        return freeTarget(bus, ...disks);
      } catch (error) {
        return error;
      }
    };
    expect(refusal()).toMatchObject({ kind, message: `adding a disk to m: ${why}` });
  });
});
