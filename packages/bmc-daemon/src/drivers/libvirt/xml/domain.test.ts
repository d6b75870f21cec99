import { describe, expect, it } from '@jest/globals';
import { q35Xml, unusualXml } from '../../../../test/fixtures/domain-xml.js';
import type { Disk } from './devices/device.js';
import { readDomain, readInstanceId } from './domain.js';
import { parseXml } from './parse.js';
import { readMemoryKiB } from './size.js';

/** Replaces the element by null, because these tests do not compare elements. */
const withoutElement = <T extends object>(device: T): T & { element: null } => ({ ...device, element: null });

/** Returns a domain with the given disks. */
const disks = (markup: string): readonly Disk[] =>
  readDomain(`<domain><name>n</name><devices>${markup}</devices></domain>`).devices.disks;

describe('readDomain', () => {
  it('reads identity, processors, memory and SMBIOS of a machine', () => {
    expect({ ...readDomain(q35Xml), devices: null }).toEqual({
      uuid: '8f7b0e4c-54c1-4b7e-9a59-b2d1c0f0a001',
      name: 'node-1',
      id: null,
      type: 'qemu',
      title: null,
      description: 'first node',
      os: {
        type: 'hvm',
        architecture: 'x86_64',
        machineType: 'pc-q35-7.2',
        firmware: null,
        firmwareFeatures: new Map(),
        loader: null,
        nvram: null,
        bootDevices: [],
      },
      firmware: 'bios',
      emulator: '/usr/bin/qemu-system-x86_64',
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
      serialPort: null,
      hasVncDisplay: true,
      devices: null,
    });
  });

  it('reads missing data as absent', () => {
    const { devices, ...domain } = readDomain(unusualXml);
    expect(domain).toEqual({
      uuid: '11111111-2222-3333-4444-abcdefabcdef',
      name: 'odd & "quoted" \u2603',
      id: null,
      type: 'kvm',
      title: 'a <title>',
      description: null,
      os: {
        type: 'hvm',
        architecture: 'x86_64',
        machineType: 'pc-q35-7.2',
        firmware: null,
        firmwareFeatures: new Map(),
        loader: null,
        nvram: null,
        bootDevices: ['hd', 'cdrom'],
      },
      firmware: 'bios',
      emulator: '/usr/bin/qemu-system-x86_64',
      sysinfo: {
        manufacturer: null,
        product: null,
        version: null,
        serial: null,
        sku: null,
        family: null,
        biosVendor: null,
        biosVersion: null,
      },
      // Two of four vCPUs are online. Without a topology, each vCPU is a socket.
      processors: { count: 2, sockets: 4, coresPerSocket: 1, threadsPerCore: 1, model: null },
      memoryKiB: 524288,
      memoryDevices: [],
      memorySlots: 0,
      serialPort: null,
      hasVncDisplay: true,
    });
    expect(devices.disks.map(withoutElement)).toEqual([
      {
        element: null,
        place: 1,
        key: 'disk:vda',
        bootOrder: null,
        alias: null,
        address: null,
        kind: 'disk',
        device: 'disk',
        bus: 'virtio',
        target: 'vda',
        source: { type: 'file', name: '/images/a&b "c".qcow2', pool: null, volume: null },
        readonly: false,
        serial: null,
        format: 'qcow2',
      },
      {
        element: null,
        place: 2,
        key: 'disk:sda',
        bootOrder: null,
        alias: 'ua-cd',
        address: null,
        kind: 'disk',
        device: 'cdrom',
        bus: 'sata',
        target: 'sda',
        source: { type: 'file', name: "/iso/user's.iso", pool: null, volume: null },
        readonly: true,
        serial: 'CD01',
        format: 'raw',
      },
    ]);
  });

  it('reads interfaces, host devices and controllers', () => {
    const { interfaces, hostDevices, controllers } = readDomain(q35Xml).devices;
    expect(interfaces.map(withoutElement)).toEqual([
      {
        element: null,
        place: 12,
        key: 'interface:52:54:00:aa:bb:cc',
        bootOrder: 1,
        alias: null,
        address: { type: 'pci', domain: 0, bus: 2, slot: 0, function: 0 },
        kind: 'interface',
        mac: '52:54:00:aa:bb:cc',
        type: 'network',
        source: 'default',
        model: 'virtio',
        linkUp: true,
      },
      {
        element: null,
        place: 13,
        key: 'interface:52:54:00:aa:bb:cd',
        bootOrder: null,
        alias: null,
        address: { type: 'pci', domain: 0, bus: 0, slot: 5, function: 0 },
        kind: 'interface',
        mac: '52:54:00:aa:bb:cd',
        type: 'bridge',
        source: 'br0',
        model: 'e1000',
        linkUp: false,
      },
    ]);
    expect(hostDevices.map(withoutElement)).toEqual([
      {
        element: null,
        place: 15,
        key: 'hostdev:0x0000/0x06/0x12/0x5',
        bootOrder: 9,
        alias: null,
        address: { type: 'pci', domain: 0, bus: 0, slot: 6, function: 0 },
        kind: 'hostdev',
        type: 'pci',
      },
    ]);
    expect(controllers.map(({ type, index, model }) => `${type}${index} ${model}`)).toEqual([
      'usb0 qemu-xhci',
      'scsi0 virtio-scsi',
      'pci0 pcie-root',
      'pci1 pcie-root-port',
      'pci2 pcie-root-port',
      'pci3 pcie-root-port',
      'sata0 null',
    ]);
  });

  it.each([
    [`<disk type='file'><source file='/a'/></disk>`, '/a'],
    [`<disk type='block'><source dev='/dev/sda'/></disk>`, '/dev/sda'],
    [`<disk type='dir'><source dir='/d'/></disk>`, '/d'],
    [`<disk type='volume'><source pool='p' volume='v'/></disk>`, 'p/v'],
    [
      `<disk type='network'><source protocol='https' name='/x.iso'><host name='h' port='443'/></source></disk>`,
      'https://h:443/x.iso',
    ],
    [`<disk type='network'><source protocol='nbd'><host name='::1'/></source></disk>`, 'nbd://[::1]/'],
    [
      `<disk type='nvme'><source type='pci' namespace='2'><address domain='0x0' bus='0x1a' slot='0x00' function='0x1'/></source></disk>`,
      'nvme://0000:1a:00.1/2',
    ],
    [`<disk type='vhostuser'><source type='unix' path='/s'/></disk>`, '/s'],
    [`<disk type='file'><source startupPolicy='optional'/></disk>`, null],
    [`<disk type='file'/>`, null],
  ])('returns the name of the source of %s', (markup, name) => {
    expect(disks(markup).map(({ source }) => source.name)).toEqual([name]);
  });

  it('does not change the key of a USB device while the device is in use and has an address', () => {
    const key = (address: string): readonly string[] =>
      readDomain(
        `<domain><name>n</name><devices><hostdev type='usb'><source startupPolicy='optional'><vendor id='0x1'/><product id='0x2'/>${address}</source></hostdev><redirdev bus='usb'/><redirdev bus='usb'/></devices></domain>`,
      ).devices.hostDevices.map((device) => device.key);
    expect(key(`<address bus='1' device='4'/>`)).toEqual(['hostdev:0x1/0x2', 'redirdev:', 'redirdev:#1']);
    expect(key('')).toEqual(key(`<address bus='1' device='4'/>`));
  });

  it.each([
    [`<os firmware='efi'/>`, 'efi'],
    [`<os firmware='bios'><loader type='pflash'/></os>`, 'bios'],
    [`<os><loader readonly='yes' type='pflash'>/OVMF_CODE.fd</loader></os>`, 'efi'],
    [`<os><loader type='rom'>/seabios.bin</loader></os>`, 'bios'],
    [`<os><type arch='aarch64' machine='virt'>hvm</type></os>`, 'bios'],
  ])('reads the firmware of %s as %s', (os, firmware) => {
    expect(readDomain(`<domain><name>n</name>${os}</domain>`).firmware).toBe(firmware);
  });

  it.each([
    [`<cpu mode='host-passthrough'/>`, 'host-passthrough'],
    [`<cpu mode='host-model'/>`, 'host-model'],
    [`<cpu mode='custom'><model>EPYC</model></cpu>`, 'EPYC'],
    ['', null],
  ])('returns the model of the processor %j: %s', (cpu, model) => {
    expect(readDomain(`<domain><name>n</name><vcpu>2</vcpu>${cpu}</domain>`).processors.model).toBe(model);
  });

  it('multiplies the cores of a socket by its dies and clusters', () => {
    const cpu = `<cpu><topology sockets='2' dies='2' clusters='2' cores='3' threads='2'/></cpu>`;
    expect(readDomain(`<domain><name>n</name><vcpu>48</vcpu>${cpu}</domain>`).processors).toEqual({
      count: 48,
      sockets: 2,
      coresPerSocket: 12,
      threadsPerCore: 2,
      model: null,
    });
  });

  it('rejects XML that is not a domain', () => {
    expect(() => readDomain('<network><name>n</name></network>')).toThrow('it has no <domain> with a name');
  });
});

describe('readMemoryKiB', () => {
  it.each([
    ['<m>1024</m>', 1024],
    [`<m unit='b'>1025</m>`, 2],
    [`<m unit='KB'>1024</m>`, 1000],
    [`<m unit='k'>7</m>`, 7],
    [`<m unit='MB'>1</m>`, 977],
    [`<m unit='MiB'>512</m>`, 524288],
    [`<m unit='GB'>1</m>`, 976563],
    [`<m unit='G'>2</m>`, 2097152],
    [`<m unit='TiB'>1</m>`, 1073741824],
  ])('reads %s as %d KiB, rounded up', (xml, size) => {
    expect(readMemoryKiB(parseXml(xml).root)).toBe(size);
  });

  it.each([`<m unit='XB'>1</m>`, '<m>-1</m>', '<m>much</m>'])('rejects %s', (xml) => {
    expect(() => readMemoryKiB(parseXml(xml).root)).toThrow('is not a memory size');
  });
});

describe('readInstanceId', () => {
  it.each([
    ["<domain type='kvm' id='12'>\n  <name>a</name></domain>", 12],
    ['<domain id="3" type=\'qemu\'><name>a</name></domain>', 3],
    ["<domain type='kvm'>\n  <name>a</name><metadata><x id='4'/></metadata></domain>", null],
    ["<?xml version='1.0'?>\n<domain type='kvm' id='5'><name>a</name></domain>", 5],
  ])('reads %j as %j', (xml, id) => {
    expect(readInstanceId(xml)).toBe(id);
    expect(readDomain(xml).id).toBe(id);
  });
});
