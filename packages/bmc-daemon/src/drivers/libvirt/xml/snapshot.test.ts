import { describe, expect, it } from '@jest/globals';
import { q35Xml, unusualXml } from '../../../../test/fixtures/domain-xml.js';
import { emptyRecord } from './metadata/machine-record.js';
import type { MachineRecord } from './metadata/machine-record.js';
import { readSnapshot } from './snapshot.js';
import { withBootOrder, withDriveMedia, withMetadata } from '../../../../test/support/xml-edits.js';

const off = { state: 'shutoff', persistent: true, capacityBytes: new Map([['vda', 4096]]) } as const;
const running = { ...off, state: 'running' } as const;

const untouched = { indicator: null, label: null, storage: null, pending: false } as const;
const disk = { device: 'disk', serial: null, readonly: false, capacityBytes: null, ...untouched } as const;
const emptyDrive = {
  device: 'cdrom',
  inserted: false,
  image: null,
  imageName: null,
  writeProtected: true,
  viaUri: false,
  transferMethod: null,
  transferMethods: ['upload'],
  verifyCertificate: null,
  certificates: [],
} as const;
const emptyDrives = (['cdrom', 'floppy', 'usb'] as const).map((device) => ({ ...emptyDrive, device }));

describe('readSnapshot', () => {
  it('returns all data of a machine that the daemon has not changed', () => {
    expect(readSnapshot(q35Xml, null, off)).toEqual({
      uuid: '8f7b0e4c-54c1-4b7e-9a59-b2d1c0f0a001',
      name: 'node-1',
      state: 'shutoff',
      persistent: true,
      title: null,
      description: 'first node',
      architecture: 'x86_64',
      machineType: 'pc-q35-7.2',
      sysinfo: {
        manufacturer: 'Acme',
        product: 'Anvil 9000',
        version: 'rev B',
        serial: 'SN-0001',
        sku: 'ANV-9',
        family: 'Anvils',
        biosVendor: 'Acme Firmware',
        biosVersion: '1.2',
      },
      processors: { count: 4, sockets: 1, coresPerSocket: 2, threadsPerCore: 2, model: 'qemu64' },
      memoryKiB: 2097152,
      memoryDevices: [],
      memorySlots: 0,
      boot: {
        available: ['network', 'cdrom', 'hd', 'usb'],
        enabled: 'continuous',
        target: 'network',
        options: [
          { key: 'disk:vda', kind: 'hd', name: 'vda', path: 'PciRoot(0x0)/Pci(0x2,0x0)/Pci(0x0,0x0)' },
          {
            key: 'disk:sdb',
            kind: 'usb',
            name: 'sdb',
            path: 'PciRoot(0x0)/Pci(0x2,0x2)/Pci(0x0,0x0)/USB(0x0,0x0)/USB(0x1,0x0)',
          },
          { key: 'disk:sda', kind: 'cdrom', name: 'sda', path: 'PciRoot(0x0)/Pci(0x1F,0x2)/Sata(0x3,0xFFFF,0x0)' },
          { key: 'disk:sdc', kind: 'hd', name: 'sdc', path: 'PciRoot(0x0)/Pci(0x4,0x0)/Scsi(0x2,0x5)' },
          {
            key: 'interface:52:54:00:aa:bb:cc',
            kind: 'network',
            name: '52:54:00:aa:bb:cc',
            path: 'PciRoot(0x0)/Pci(0x2,0x1)/Pci(0x0,0x0)/MAC(525400AABBCC,0x1)',
          },
          {
            key: 'interface:52:54:00:aa:bb:cd',
            kind: 'network',
            name: '52:54:00:aa:bb:cd',
            path: 'PciRoot(0x0)/Pci(0x5,0x0)/MAC(525400AABBCD,0x1)',
          },
          {
            key: 'hostdev:0x0000/0x06/0x12/0x5',
            kind: null,
            name: '0x0000/0x06/0x12/0x5',
            path: 'PciRoot(0x0)/Pci(0x6,0x0)',
          },
        ],
        order: ['interface:52:54:00:aa:bb:cc', 'disk:vda', 'hostdev:0x0000/0x06/0x12/0x5'],
        firmware: 'bios',
        firstDevicePath: 'PciRoot(0x0)/Pci(0x2,0x1)/Pci(0x0,0x0)/MAC(525400AABBCC,0x1)',
      },
      firmware: {
        secureBoot: null,
        settings: {
          cpuCount: 4,
          memoryMiB: 2048,
          firmware: 'bios',
          secureBoot: null,
          networkBoot: true,
          kept: {},
        },
        pending: {},
        failure: null,
        limits: { cpuCount: 4, memoryMiB: 2048 },
      },
      media: emptyDrives,
      disks: [
        {
          ...disk,
          target: 'vda',
          bus: 'virtio',
          source: '/var/lib/libvirt/images/node-1.qcow2',
          serial: 'DISK-1',
          capacityBytes: 4096,
        },
        { ...disk, target: 'sdb', bus: 'usb', source: 'default/data.img' },
        { ...disk, target: 'sda', device: 'cdrom', bus: 'sata', source: null, readonly: true },
        { ...disk, target: 'sdc', bus: 'scsi', source: 'rbd://ceph.example:6789/pool/image' },
      ],
      interfaces: [
        { mac: '52:54:00:aa:bb:cc', type: 'network', source: 'default', model: 'virtio', linkUp: true },
        { mac: '52:54:00:aa:bb:cd', type: 'bridge', source: 'br0', model: 'e1000', linkUp: false },
      ],
      indicator: null,
      hasGraphicalConsole: true,
    });
  });

  it('shows the stored override and indicator', () => {
    const { xml, saved } = withBootOrder(unusualXml, 'network');
    const kept: MachineRecord = {
      ...emptyRecord,
      indicator: 'off',
      boot: { enabled: 'once', target: 'network', saved },
    };
    const snapshot = readSnapshot(withMetadata(xml, kept), null, off);
    expect(snapshot.indicator).toBe('off');
    expect(snapshot.boot).toEqual({
      available: ['network', 'cdrom', 'hd'],
      enabled: 'once',
      target: 'network',
      options: [
        { key: 'disk:vda', kind: 'hd', name: 'vda', path: null },
        { key: 'disk:sda', kind: 'cdrom', name: 'sda', path: null },
        { key: 'interface:', kind: 'network', name: '', path: null },
        { key: 'interface:52:54:00:aa:bb:cc', kind: 'network', name: '52:54:00:aa:bb:cc', path: null },
      ],
      // The user's own order, not the order of the override.
      order: ['disk:vda', 'disk:sda'],
      firmware: 'bios',
      firstDevicePath: null,
    });
  });

  it('offers network, CD and disk on a machine without them, as Ironic expects', () => {
    const bare = `<domain><name>n</name><os><boot dev='network'/></os><devices/></domain>`;
    const { boot, media } = readSnapshot(bare, null, off);
    expect({ boot, media }).toEqual({
      boot: {
        available: ['network', 'cdrom', 'hd'],
        enabled: 'continuous',
        target: 'network',
        options: [],
        order: [],
        firmware: 'bios',
        firstDevicePath: null,
      },
      media: emptyDrives.filter(({ device }) => device !== 'floppy'),
    });
  });

  it('distinguishes an image inserted over Redfish from one of the user', () => {
    const media = {
      device: 'cdrom',
      drive: 'sda',
      image: 'http://h/x.iso',
      imageName: 'x.iso',
      source: '/pool/1-x.iso',
      writeProtected: false,
      driveReadonly: true,
    } as const;
    const kept = withMetadata(q35Xml, { ...emptyRecord, media: [media] });
    const inserted = (path: string): string => withDriveMedia(kept, 'sda', { type: 'file', path });
    expect(readSnapshot(inserted('/pool/1-x.iso'), null, off).media[0]).toEqual({
      ...emptyDrive,
      inserted: true,
      image: 'http://h/x.iso',
      imageName: 'x.iso',
      viaUri: true,
      transferMethod: 'upload',
    });
    expect(readSnapshot(inserted('/home/own.iso'), null, off).media[0]).toEqual({
      ...emptyDrive,
      inserted: true,
      image: '/home/own.iso',
      imageName: 'own.iso',
    });
    // The user has emptied the drive with another tool.
    expect(readSnapshot(kept, null, off).media).toEqual(emptyDrives);
  });

  it('shows hardware and media of the running machine, and boot settings of the definition', () => {
    const live = withDriveMedia(q35Xml, 'sda', { type: 'file', path: '/live.iso' })
      .replace(`<domain type='qemu'>`, `<domain type='qemu' id='5'>`)
      .replace(`<memory unit='KiB'>2097152`, `<memory unit='KiB'>1048576`)
      .replace(`>4</vcpu>`, ` current='1'>4</vcpu>`)
      .replace(`<link state='down'/>`, '');
    const defined = withBootOrder(q35Xml, 'hd').xml;
    const snapshot = readSnapshot(defined, live, running);
    const { memoryKiB, processors, interfaces, disks, media, boot } = snapshot;
    expect({ memoryKiB, count: processors.count, linkUp: interfaces[1]?.linkUp }).toEqual({
      memoryKiB: 1048576,
      count: 1,
      linkUp: true,
    });
    expect([disks[2]?.source, media[0]?.image]).toEqual(['/live.iso', '/live.iso']);
    expect(boot.target).toBe('hd');
  });
});

describe('the processor model of a machine', () => {
  const off = { state: 'shutoff', persistent: true, capacityBytes: new Map<string, number>() } as const;
  const modelOf = (cpu: string, hostCpuModel: string | null) =>
    readSnapshot(q35Xml.replace(/<cpu [\s\S]*?<\/cpu>/, cpu), null, { ...off, hostCpuModel }).processors.model;

  it("is that of the host's CPU if the machine has this CPU and the host reports its model", () => {
    const passed = `<cpu mode='host-passthrough'/>`;
    expect([modelOf(passed, 'EPYC-Rome'), modelOf(passed, null)]).toEqual(['EPYC-Rome', 'host-passthrough']);
    expect(modelOf(`<cpu mode='host-model'/>`, 'EPYC-Rome')).toBe('EPYC-Rome');
    expect(modelOf(`<cpu mode='custom'><model>qemu64</model></cpu>`, 'EPYC-Rome')).toBe('qemu64');
    expect(modelOf('', 'EPYC-Rome')).toBeNull();
  });
});
