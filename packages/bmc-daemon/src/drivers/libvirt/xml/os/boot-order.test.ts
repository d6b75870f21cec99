import { describe, expect, it } from '@jest/globals';
import { q35Xml, unusualXml } from '../../../../../test/fixtures/domain-xml.js';
import { DriverError } from '../../../driver-error.js';
import {
  availableBootDevices,
  bootIndexes,
  deviceKeys,
  effectiveBootOrder,
  firstBootDevice,
  orderWithFirst,
} from './boot-order.js';
import { readDomain } from '../domain.js';
import { restoreBootOrder, withBootOrder } from '../../../../../test/support/xml-edits.js';

const order = (xml: string): readonly string[] =>
  effectiveBootOrder(readDomain(xml)).map(({ kind, device }) => `${kind}=${device.key}`);

/** The first `<boot dev>` of the definition. A comment in the metadata contains the same text. */
const userBoot = /(?<=before -->)<boot dev='hd'\/>/;

/** Returns the lines that differ, `-` before and `+` after. */
function changedLines(before: string, after: string): readonly string[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  return [
    ...old.filter((line) => !now.includes(line)).map((line) => `-${line}`),
    ...now.filter((line) => !old.includes(line)).map((line) => `+${line}`),
  ];
}

describe('effectiveBootOrder', () => {
  it('follows <boot order> if any device has one', () => {
    expect(order(q35Xml)).toEqual([
      'network=interface:52:54:00:aa:bb:cc',
      'hd=disk:vda',
      'hd=hostdev:0x0000/0x06/0x12/0x5',
    ]);
  });

  it('reads <boot dev> as the first device of each kind, as libvirt does', () => {
    expect(order(unusualXml)).toEqual(['hd=disk:vda', 'cdrom=disk:sda']);
    expect(order(unusualXml.replace(userBoot, `<boot dev='network'/>`))).toEqual([
      'network=interface:',
      'cdrom=disk:sda',
    ]);
  });

  it('returns the first disk if the definition has no order', () => {
    const silent = unusualXml.replace(userBoot, '').replace(`<boot  dev = "cdrom" />`, '');
    expect(order(silent)).toEqual(['hd=disk:vda']);
    expect(firstBootDevice(readDomain(silent))).toBe('hd');
  });

  it('skips a kind without a device', () => {
    const floppy = unusualXml.replace(userBoot, `<boot dev='fd'/>`);
    expect(order(floppy)).toEqual(['cdrom=disk:sda']);
    expect(firstBootDevice(readDomain(floppy))).toBe('cdrom');
  });
});

describe('availableBootDevices', () => {
  it('lists the kinds of devices that the machine has, network, cdrom and hd first', () => {
    expect(availableBootDevices(readDomain(q35Xml).devices)).toEqual(['network', 'cdrom', 'hd', 'usb']);
    expect(availableBootDevices(readDomain(unusualXml).devices)).toEqual(['network', 'cdrom', 'hd']);
  });
});

describe('overrideBootOrder', () => {
  it('uses the order of orderWithFirst: every device of the kind first, and the others in their order', () => {
    const keys = (target: 'cdrom' | 'hd' | 'usb' | 'network'): readonly string[] => {
      const wanted = deviceKeys(orderWithFirst(readDomain(q35Xml), target));
      expect(deviceKeys(effectiveBootOrder(readDomain(withBootOrder(q35Xml, target).xml)))).toEqual(wanted);
      return wanted;
    };
    expect(keys('cdrom')).toEqual([
      'disk:sda',
      'interface:52:54:00:aa:bb:cc',
      'disk:vda',
      'hostdev:0x0000/0x06/0x12/0x5',
    ]);
    expect(keys('hd')).toEqual([
      'disk:vda',
      'disk:sdc',
      'disk:sdb',
      'interface:52:54:00:aa:bb:cc',
      'hostdev:0x0000/0x06/0x12/0x5',
    ]);
    expect(keys('usb')[0]).toBe('disk:sdb');
    expect(keys('network').slice(0, 3)).toEqual([
      'interface:52:54:00:aa:bb:cc',
      'interface:52:54:00:aa:bb:cd',
      'disk:vda',
    ]);
  });

  it('changes the boot elements and nothing else', () => {
    expect(changedLines(q35Xml, withBootOrder(q35Xml, 'cdrom').xml)).toEqual([
      `-      <boot order='9'/>`,
      `+      <boot order='3'/>`,
      `+      <boot order='4'/>`,
    ]);
    const { xml } = withBootOrder(unusualXml, 'network');
    expect(order(xml)).toEqual([
      'network=interface:',
      'network=interface:52:54:00:aa:bb:cc',
      'hd=disk:vda',
      'cdrom=disk:sda',
    ]);
    expect(xml).not.toContain('<boot  dev');
    const kept = ['<!-- before --><?keep this?>', `<!-- <boot dev='hd'/> -->`, `passwd="p&quot;'s&#39;s"`];
    expect(kept.filter((text) => !xml.includes(text))).toEqual([]);
  });

  it.each(['cdrom', 'hd', 'network'] as const)(
    'makes a change for the target %s that restoreBootOrder reverts byte for byte',
    (target) => {
      for (const source of [unusualXml, q35Xml]) {
        const { xml, saved } = withBootOrder(source, target);
        expect(xml).not.toBe(source);
        expect(restoreBootOrder(xml, JSON.parse(JSON.stringify(saved)) as typeof saved)).toBe(source);
      }
    },
  );

  it("applies a second override to the user's own order, not to the order of the first override", () => {
    for (const source of [unusualXml, q35Xml]) {
      const first = withBootOrder(source, 'cdrom');
      const second = withBootOrder(first.xml, 'network', first.saved);
      expect(second).toEqual(withBootOrder(source, 'network'));
    }
  });

  it('rejects a kind without a device', () => {
    expect(() => withBootOrder(unusualXml, 'fd')).toThrow(
      new DriverError('invalid', `setting the boot order of odd & "quoted" \u2603: it has no fd device`),
    );
  });
});

describe('restoreBootOrder', () => {
  it('omits devices that were added or removed during the override', () => {
    const { xml, saved } = withBootOrder(q35Xml, 'cdrom');
    const disk = /\n {4}<disk type='file' device='disk'>[\s\S]*?<\/disk>/.exec(xml)?.[0] ?? '';
    const added = disk.replaceAll('vda', 'vdb').replace(/<boot order='\d+'\/>/, `<boot order='7'/>`);
    expect(order(restoreBootOrder(xml.replace(disk, added), saved))).toEqual([
      'network=interface:52:54:00:aa:bb:cc',
      'hd=hostdev:0x0000/0x06/0x12/0x5',
    ]);
  });

  it('restores the number that another client removed from a device during the override', () => {
    const { xml, saved } = withBootOrder(q35Xml, 'cdrom');
    expect(order(restoreBootOrder(xml.replace(/\n *<boot order='3'\/>/, ''), saved))).toEqual(order(q35Xml));
  });
});

describe('bootIndexes', () => {
  it('numbers the devices in the order of the keys, and gives -1 to all others', () => {
    const live = q35Xml
      .replaceAll(/(<target dev='(\w+)' bus='\w+'\/>)/g, `$1<alias name='$2-alias'/>`)
      .replace(`<source network='default'/>`, `<source network='default'/><alias name='net0'/>`);
    expect(bootIndexes(readDomain(live), ['disk:sda', 'interface:52:54:00:aa:bb:cc'])).toEqual(
      [
        ['disk:vda', 'vda-alias', -1],
        ['disk:sdb', 'sdb-alias', -1],
        ['disk:sda', 'sda-alias', 1],
        ['disk:sdc', 'sdc-alias', -1],
        ['interface:52:54:00:aa:bb:cc', 'net0', 2],
      ].map(([key, alias, bootIndex]) => ({ key, alias, qomPath: `/machine/peripheral/${alias}`, bootIndex })),
    );
  });

  it('marks a CD drive on USB, whose number may be on a second device of QEMU', () => {
    const drive = (device: string, target: string): string =>
      `<disk device='${device}'><target dev='${target}' bus='usb'/><alias name='usb-${target}'/></disk>`;
    const live = `<domain id='1'><name>n</name><devices>${drive('cdrom', 'sda')}${drive('disk', 'sdb')}</devices></domain>`;
    const bootEntry = (target: string, bootIndex: number) => ({
      key: `disk:${target}`,
      alias: `usb-${target}`,
      qomPath: `/machine/peripheral/usb-${target}`,
      bootIndex,
    });
    expect(bootIndexes(readDomain(live), ['disk:sda'])).toEqual([
      { ...bootEntry('sda', 1), isUsbCdrom: true },
      bootEntry('sdb', -1),
    ]);
  });

  it('numbers a floppy drive like the others, with its unit', () => {
    const drive = (target: string, device: string, bus: string, rest: string): string =>
      `<disk device='${device}'><target dev='${target}' bus='${bus}'/>${rest}<alias name='${target}'/></disk>`;
    const live = `<domain id='1'><name>n</name><devices>${[
      drive('sda', 'cdrom', 'sata', `<boot order='1'/>`),
      drive('fda', 'floppy', 'fdc', `<boot order='2'/>`),
      drive('vda', 'disk', 'virtio', `<boot order='3'/>`),
    ].join('')}</devices></domain>`;
    const indexes = bootIndexes(readDomain(live), ['disk:fda', 'disk:vda', 'disk:sda']);
    expect(indexes.map(({ alias, bootIndex, floppyUnit }) => [alias, bootIndex, floppyUnit])).toEqual([
      ['sda', 3, undefined],
      ['fda', 1, 0],
      ['vda', 2, undefined],
    ]);
  });
});
