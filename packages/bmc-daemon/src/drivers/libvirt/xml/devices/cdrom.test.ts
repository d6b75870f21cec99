import { describe, expect, it } from '@jest/globals';
import { q35Xml, unusualXml } from '../../../../../test/fixtures/domain-xml.js';
import { changedDriveMarkup, firstCdrom, isHotplugged, newCdromMarkup } from './cdrom.js';
import type { MediaSource } from './disk-source.js';
import { readDomain } from '../domain.js';
import { withCdrom, withDriveMedia } from '../../../../../test/support/xml-edits.js';

const iso: MediaSource = { type: 'file', path: `/pool/it's & "x".iso` };
const isoMarkup = `<source file='/pool/it&apos;s &amp; "x".iso'/>`;
const volume: MediaSource = { type: 'volume', pool: 'rackless', volume: 'x.iso' };

describe('setDriveMedia', () => {
  it('replaces the medium in a drive and keeps all other bytes', () => {
    const old = `<source file="/iso/user's.iso" startupPolicy='optional'/>`;
    expect(unusualXml).toContain(old);
    expect(withDriveMedia(unusualXml, 'sda', iso)).toBe(unusualXml.replace(old, isoMarkup));
    expect(withDriveMedia(unusualXml, 'sda', null)).toBe(unusualXml.replace(old, ''));
  });

  it('inserts the source into an empty drive, after its <driver>, and the removal restores the text', () => {
    const filled = withDriveMedia(q35Xml, 'sda', iso);
    const head = `<disk type='file' device='cdrom'>\n      <driver name='qemu' type='raw'/>\n`;
    expect(filled).toBe(q35Xml.replace(head, `${head}      ${isoMarkup}\n`));
    expect(withDriveMedia(filled, 'sda', null)).toBe(q35Xml);
  });

  it('accepts a volume, and sets the type of the drive back to file when the volume is removed', () => {
    const filled = withDriveMedia(q35Xml, 'sda', volume);
    expect(filled).toContain(
      `<disk type='volume' device='cdrom'>\n      <driver name='qemu' type='raw'/>\n      <source pool='rackless' volume='x.iso'/>\n`,
    );
    expect(withDriveMedia(filled, 'sda', null)).toBe(q35Xml);
  });

  it('drops data of the old medium: chain, credentials, format, open tray', () => {
    const drive = (rest: string): string =>
      `<domain><name>n</name><devices><disk ${rest}<address type='drive' unit='1'/></disk></devices></domain>`;
    const old = drive(
      `type="network" device='cdrom'><driver name='qemu' type="qcow2" cache='none'/><auth username='u'/><source protocol='http' name='x'><host name='h'/></source><backingStore type='file'><source file='/b'/></backingStore><target dev='sdq' bus='sata' tray='open'/><boot order='3'/><alias name='sata0-0-1'/>`,
    );
    expect(withDriveMedia(old, 'sdq', iso)).toBe(
      drive(
        `type="file" device='cdrom'><driver name='qemu' type="raw" cache='none'/>${isoMarkup}<target dev='sdq' bus='sata'/><boot order='3'/><alias name='sata0-0-1'/>`,
      ),
    );
  });

  it('rejects a disk that is not a drive', () => {
    expect(() => withDriveMedia(q35Xml, 'vda', iso)).toThrow('changing the media of node-1: it has no drive vda');
  });
});

describe('changedDriveMarkup', () => {
  it('returns only the markup of the drive with its new medium, and keeps its serial and its alias', () => {
    expect(changedDriveMarkup(unusualXml, 'sda', volume)).toBe(
      `<disk type='volume' device='cdrom'><driver name="qemu" type="raw" cache='none'/><source pool='rackless' volume='x.iso'/><target dev='sda' bus="sata" tray='closed'/><readonly/><serial>CD&#48;1</serial><alias name='ua-cd'/></disk>`,
    );
  });
});

describe('firstCdrom', () => {
  const onUsb = `<disk device='cdrom'><target dev='sda' bus='usb'/></disk>`;
  const builtIn = `<disk device='cdrom'><target dev='sdb' bus='sata'/></disk>`;
  const found = (id: string, devices: string): string | undefined =>
    firstCdrom(readDomain(`<domain${id}><name>n</name><devices>${devices}</devices></domain>`))?.target;

  it('returns the first built-in drive, or a USB drive of a running machine without a built-in one', () => {
    expect(found('', onUsb + builtIn)).toBe('sdb');
    expect(found(` id='1'`, onUsb + builtIn)).toBe('sdb');
    expect(found(` id='1'`, onUsb)).toBe('sda');
    expect(found('', onUsb)).toBeUndefined();
  });
});

describe('isHotplugged', () => {
  it('returns true for a drive that the definition does not have, or has on another bus', () => {
    const drive = (target: string, bus: string): string =>
      `<disk device='cdrom'><target dev='${target}' bus='${bus}'/></disk>`;
    const machine = (devices: string): ReturnType<typeof readDomain> =>
      readDomain(`<domain><name>n</name><devices>${devices}</devices></domain>`);
    const live = machine(drive('sda', 'sata') + drive('sdb', 'usb') + drive('sdc', 'usb')).devices.disks;
    const defined = machine(drive('sda', 'sata') + drive('sdb', 'sata'));
    expect(live.map((disk) => isHotplugged(disk, defined))).toEqual([false, true, true]);
  });
});

describe('newCdromMarkup', () => {
  const machine = (arch: string, type: string, devices = ''): ReturnType<typeof readDomain> =>
    readDomain(
      `<domain><name>n</name><os><type arch='${arch}' machine='${type}'>hvm</type></os><devices>${devices}</devices></domain>`,
    );
  const disk = (target: string, bus: string, address = ''): string =>
    `<disk><target dev='${target}' bus='${bus}'/>${address}</disk>`;
  const idePlaces = ['hda', 'hdb', 'hdc', 'hdd'].map((name) => disk(name, 'ide'));
  const usb = `<controller type='usb' index='0' model='qemu-xhci'/>`;

  it.each([
    ['SATA on q35', machine('x86_64', 'pc-q35-7.2'), 'coldplug', 'sda sata'],
    ['IDE on i440fx', machine('x86_64', 'pc-i440fx-7.2', idePlaces[0]), 'coldplug', 'hdb ide'],
    ['IDE on pc', machine('x86_64', 'pc'), 'coldplug', 'hda ide'],
    ['SCSI where IDE is full', machine('x86_64', 'pc', idePlaces.join('')), 'coldplug', 'sda scsi'],
    ['SCSI on virt', machine('aarch64', 'virt-7.2'), 'coldplug', 'sda scsi'],
    ['USB where it is hot-plugged', machine('x86_64', 'pc-q35-7.2', usb), 'hotplug', 'sda usb'],
    [
      'SCSI where it is hot-plugged and there is no USB',
      machine('x86_64', 'q35', `<controller type='usb' model='none'/><controller type='scsi' index='0'/>`),
      'hotplug',
      'sda scsi',
    ],
  ] as const)('puts the new drive on %s', (_, domain, mode, place) => {
    const { target, markup } = newCdromMarkup(domain, mode, null);
    const [name, bus] = place.split(' ');
    expect({ target, markup }).toEqual({
      target: name,
      markup: `<disk type='file' device='cdrom'>\n  <driver name='qemu' type='raw'/>\n  <target dev='${name}' bus='${bus}'/>\n  <readonly/>\n</disk>`,
    });
  });

  it('chooses a free target whose place on the bus is free too', () => {
    const taken =
      disk('sda', 'usb') + disk('sdz', 'sata', `<address type='drive' controller='0' bus='0' target='0' unit='1'/>`);
    expect(newCdromMarkup(machine('x86_64', 'q35', taken), 'coldplug', null).target).toBe('sdc');
    const scsi = disk('vda', 'scsi', `<address type='drive' controller='0' bus='0' target='0' unit='0'/>`);
    expect(newCdromMarkup(machine('aarch64', 'virt', scsi), 'coldplug', null).target).toBe('sdb');
    const ide = disk('hdx', 'ide', `<address type='drive' controller='0' bus='1' target='0' unit='0'/>`);
    expect(newCdromMarkup(machine('x86_64', 'pc', ide + idePlaces.slice(0, 2).join('')), 'coldplug', null).target).toBe(
      'hdd',
    );
  });

  it('uses the given target', () => {
    expect(newCdromMarkup(machine('x86_64', 'q35', usb), 'hotplug', null, 'sdk')).toEqual({
      target: 'sdk',
      markup: `<disk type='file' device='cdrom'>\n  <driver name='qemu' type='raw'/>\n  <target dev='sdk' bus='usb'/>\n  <readonly/>\n</disk>`,
    });
  });

  it('rejects a hot-plug into a machine with neither USB nor SCSI', () => {
    expect(() => newCdromMarkup(machine('x86_64', 'q35'), 'hotplug', null)).toThrow(
      'adding a cd drive to n: it has no bus to plug it into',
    );
  });
});

describe('addCdrom', () => {
  it('adds a drive after the disks of the machine', () => {
    const drive = /\n {4}<disk type='file' device='cdrom'>[\s\S]*?<\/disk>/.exec(q35Xml)?.[0] ?? '';
    const without = q35Xml.replace(drive, '');
    const added = `\n    <disk type='volume' device='cdrom'>
      <driver name='qemu' type='raw'/>
      <source pool='rackless' volume='x.iso'/>
      <target dev='sda' bus='sata'/>
      <readonly/>
    </disk>`;
    const { target, xml } = withCdrom(without, volume);
    expect(target).toBe('sda');
    expect(xml.replace(added, '')).toBe(without);
    expect(xml.indexOf(added)).toBe(without.indexOf(`\n    <controller type='usb'`));
    expect(firstCdrom(readDomain(xml))?.source).toEqual({
      type: 'volume',
      name: 'rackless/x.iso',
      pool: 'rackless',
      volume: 'x.iso',
    });
  });

  it('adds a virtio controller for SCSI if there is none', () => {
    const virtMachine = (controllers: string): string =>
      `<domain><name>n</name><os><type arch='aarch64' machine='virt'>hvm</type></os><devices>${controllers}</devices></domain>`;
    const drive = `<disk type='file' device='cdrom'>  <driver name='qemu' type='raw'/>  <target dev='sda' bus='scsi'/>  <readonly/></disk>`;
    const own = `<controller type='scsi' index='0' model='lsilogic'/>`;
    expect(withCdrom(virtMachine(''), null).xml).toBe(
      virtMachine(`${drive}<controller type='scsi' index='0' model='virtio-scsi'/>`),
    );
    expect(withCdrom(virtMachine(own), null).xml).toBe(virtMachine(`${drive}${own}`));
  });
});
