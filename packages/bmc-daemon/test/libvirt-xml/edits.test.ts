/**
 * Tests the edits of domain XML with a real libvirtd: libvirt accepts them, and a reverted edit
 * gives the same bytes. The tests use virsh, so that they do not depend on our libvirt client.
 */
import { execFile } from 'node:child_process';
import { truncate, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import path, { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startLibvirtd } from '../../../libvirt/test/harness/libvirtd.js';
import type { PrivateLibvirtd } from '../../../libvirt/test/harness/libvirtd.js';
import {
  bootableDevices,
  bootIndexes,
  type BootIndex,
  deviceKeys,
  effectiveBootOrder,
  orderWithFirst,
} from '../../src/drivers/libvirt/xml/os/boot-order.js';
import { changedDriveMarkup, isHotplugged, newCdromMarkup } from '../../src/drivers/libvirt/xml/devices/cdrom.js';
import { devicePath } from '../../src/drivers/libvirt/xml/devices/device-path.js';
import { readDomain } from '../../src/drivers/libvirt/xml/domain.js';
import { emptyRecord } from '../../src/drivers/libvirt/xml/metadata/machine-record.js';
import {
  METADATA_PREFIX,
  METADATA_URI,
  readMetadata,
  renderMetadata,
} from '../../src/drivers/libvirt/xml/metadata/metadata.js';
import type { MachineRecord } from '../../src/drivers/libvirt/xml/metadata/machine-record.js';
import {
  restoreBootOrder,
  withBootOrder,
  withCdrom,
  withDriveMedia,
  withFirmware,
  withMetadata,
} from '../support/xml-edits.js';

const run = promisify(execFile);
let libvirtd: PrivateLibvirtd;
const image = (name: string): string => join(libvirtd.dir, 'tmp', name);

async function virsh(...words: readonly string[]): Promise<string> {
  const { stdout } = await run('virsh', ['--quiet', '--connect', libvirtd.uri, ...words], { timeout: 240_000 });
  return stdout;
}

/** Returns the definition, without the line break that virsh adds to its output. */
const inactiveXml = async (name: string): Promise<string> =>
  (await virsh('dumpxml', '--inactive', '--security-info', name)).replace(/\n\n$/, '\n');
const liveXml = (name: string): Promise<string> => virsh('dumpxml', '--security-info', name);

async function define(xml: string): Promise<void> {
  const file = image('definition.xml');
  await writeFile(file, xml);
  await virsh('define', '--validate', file);
}

interface Machine {
  readonly name: string;
  readonly machine: string;
  readonly os?: string;
  readonly disks: string;
  readonly rest?: string;
}

/**
 * Returns the XML of a machine. VNC uses a socket, because two libvirtds that start guests at the same time
 * would choose the same port.
 */
const definition = ({ name, machine, os = '', disks, rest = '' }: Machine): string => `
<domain type='qemu' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <name>${name}</name>
  <metadata><app:note xmlns:app="urn:app" app:by='it&apos;s "me"'><![CDATA[<os>&]]><!-- kept --></app:note></metadata>
  <memory unit='MiB'>64</memory>
  <vcpu>1</vcpu>
  <os>${os}<type arch='x86_64' machine='${machine}'>hvm</type><boot dev='hd'/><boot dev='network'/></os>
  <features><acpi/></features>
  <devices>
    ${disks}
    <interface type='user'><mac address='52:54:00:00:00:01'/><model type='virtio'/></interface>
    <interface type='user'><mac address='52:54:00:00:00:02'/><model type='e1000'/></interface>
    <graphics type='vnc' passwd="s&apos;3"><listen type='socket'/></graphics>
    ${rest}
  </devices>
  <qemu:commandline><qemu:arg value='-fw_cfg'/><qemu:arg value="name=opt/x,string=it's"/></qemu:commandline>
</domain>`;

/** Returns the XML of a disk; of an empty drive if `source` is ''. A definition is valid without the file. */
const disk = (target: string, bus: string, device = 'disk', source = image(`${target}.img`)): string =>
  `<disk type='file' device='${device}'>${source === '' ? '' : `<source file='${source}'/>`}` +
  `<target dev='${target}' bus='${bus}'/></disk>`;

beforeAll(async () => {
  libvirtd = await startLibvirtd({ driver: 'qemu' });
  for (const name of ['vda', 'hda', 'sda', 'sdb', 'sdc', 'sdd', 'sde', 'sdf', 'fda']) {
    await writeFile(image(`${name}.img`), '');
    await truncate(image(`${name}.img`), 1_474_560);
  }
  await writeFile(image('x.iso'), Buffer.alloc(65_536));
});
afterAll(() => libvirtd.stop());

describe.each([
  ['q35', 'sata'],
  ['pc', 'ide'],
])('on a %s machine libvirt', (machine, bus) => {
  const name = `edits-${machine}`;
  const cdrom = bus === 'ide' ? 'hdc' : 'sdc';
  let original: string;

  beforeAll(async () => {
    const disks = disk('vda', 'virtio') + disk(bus === 'ide' ? 'hda' : 'sda', bus) + disk(cdrom, bus, 'cdrom', '');
    await define(definition({ name, machine, disks }));
    original = await inactiveXml(name);
  });

  /** Returns the definition that libvirt stores for an edited definition. */
  const redefine = async (xml: string): Promise<string> => {
    await define(xml);
    return inactiveXml(name);
  };

  it.each(['cdrom', 'network', 'hd'] as const)(
    'accepts a boot order with %s first, and stores the original bytes after the order is restored',
    async (target) => {
      const { xml, saved } = withBootOrder(original, target);
      const stored = await redefine(xml);
      const wanted = orderWithFirst(readDomain(original), target);
      expect(deviceKeys(effectiveBootOrder(readDomain(stored)))).toEqual(deviceKeys(wanted));
      // Stores the saved order in the metadata, as the daemon does.
      const boot = { enabled: 'continuous', target, saved } as const;
      const record = readMetadata(await redefine(withMetadata(stored, { ...emptyRecord, boot })));
      expect(record).toEqual({ ...emptyRecord, boot });
      const restored = restoreBootOrder(await inactiveXml(name), record.boot?.saved ?? saved);
      expect(await redefine(withMetadata(restored, emptyRecord))).toBe(original);
    },
  );

  it('accepts media in the drive, and stores the original bytes after the eject', async () => {
    const stored = await redefine(withDriveMedia(original, cdrom, { type: 'file', path: `/it's & "x".iso` }));
    expect(readDomain(stored).devices.disks.find((found) => found.target === cdrom)?.source.name).toBe(
      `/it's & "x".iso`,
    );
    const volume = await redefine(withDriveMedia(stored, cdrom, { type: 'volume', pool: 'p', volume: 'x.iso' }));
    expect(await redefine(withDriveMedia(volume, cdrom, null))).toBe(original);
  });

  it('accepts another drive on the bus of the machine', async () => {
    const { xml, target } = withCdrom(original, null);
    const added = readDomain(await redefine(xml)).devices.disks.find((found) => found.target === target);
    expect([added?.bus, added?.device, added?.address?.type]).toEqual([bus, 'cdrom', 'drive']);
    await redefine(original);
  });

  it('accepts UEFI firmware that libvirt or a file selects, and stores the original bytes after a change to BIOS', async () => {
    const none = { loaderPath: null, nvramTemplate: null };
    const selected = await redefine(withFirmware(original, 'efi', none));
    expect(readDomain(selected).firmware).toBe('efi');
    const file = { loaderPath: '/usr/share/OVMF/OVMF_CODE_4M.fd', nvramTemplate: '/usr/share/OVMF/OVMF_VARS_4M.fd' };
    const mapped = await redefine(withFirmware(original, 'efi', file));
    expect(readDomain(mapped).os.loader?.path).toBe(file.loaderPath);
    expect(await redefine(withFirmware(mapped, 'bios', none))).toBe(original);
    const rom = await redefine(
      withFirmware(original, 'bios', { ...none, loaderPath: '/usr/share/seabios/bios-256k.bin' }),
    );
    expect(readDomain(rom).firmware).toBe('bios');
    await redefine(original);
  });

  it('returns the metadata that was set by the metadata call or by a definition', async () => {
    const record: MachineRecord = {
      ...emptyRecord,
      indicator: 'off',
      boot: { enabled: 'once', target: 'cdrom', saved: withBootOrder(original, 'cdrom').saved },
      media: [
        {
          device: 'cdrom',
          drive: cdrom,
          image: `http://h/it's?"a"&b=<c>`,
          imageName: 'x',
          source: '/x',
          writeProtected: true,
          driveReadonly: true,
        },
      ],
      mediaSettings: [{ device: 'usb', verifyCertificate: false, certificates: [{ id: '1', pem: 'a\nb' }] }],
      unknown: ['<later x="1">a\n b</later>'],
    };
    await virsh(
      'metadata',
      name,
      '--config',
      '--uri',
      METADATA_URI,
      '--key',
      METADATA_PREFIX,
      '--set',
      renderMetadata(record),
    );
    const stored = await inactiveXml(name);
    expect(readMetadata(stored)).toEqual(record);
    const rewritten = await redefine(withMetadata(stored, { ...record, indicator: 'lit' }));
    expect(readMetadata(rewritten)).toEqual({ ...record, indicator: 'lit' });
    expect(await redefine(withMetadata(rewritten, emptyRecord))).toBe(original);
  });
});

describe('an edit of a running machine', () => {
  const disks = (): string =>
    [
      disk('vda', 'virtio') + disk('sda', 'sata') + disk('sdb', 'sata', 'cdrom', ''),
      disk('sdc', 'scsi') + disk('sdd', 'scsi', 'cdrom', ''),
      disk('sde', 'usb') + disk('sdf', 'usb', 'cdrom'),
      disk('fda', 'fdc', 'floppy'),
    ].join('');
  const rest =
    `<controller type='scsi' index='0' model='virtio-scsi'/>` + `<controller type='usb' index='0' model='qemu-xhci'/>`;
  const qom = async (name: string, command: object): Promise<unknown> => {
    const answer: unknown = JSON.parse(await virsh('qemu-monitor-command', name, JSON.stringify(command)));
    return answer;
  };
  /**
   * Returns the object and the property with a device's boot index in QEMU. The object of a floppy drive is its
   * controller; that of a USB CD drive is a second object in some versions of QEMU.
   */
  const placeOf = async (name: string, { qomPath, floppyUnit, isUsbCdrom }: BootIndex) => {
    if (isUsbCdrom === true) {
      const [second, property] = [`${qomPath}-device`, 'bootindex'];
      const answer = await qom(name, { execute: 'qom-get', arguments: { path: second, property } });
      const { return: value } = answer as { return?: number };
      return { path: value === undefined ? qomPath : second, property };
    }
    if (floppyUnit === undefined) return { path: qomPath, property: 'bootindex' };
    const answer = await qom(name, { execute: 'qom-get', arguments: { path: qomPath, property: 'parent_bus' } });
    const { return: bus } = answer as { return: string };
    return { path: path.dirname(bus), property: floppyUnit === 0 ? 'bootindexA' : 'bootindexB' };
  };

  it.each([
    ['q35', disks, rest],
    ['pc', () => disk('hda', 'ide') + disk('hdc', 'ide', 'cdrom', '') + disk('sda', 'scsi'), ''],
  ])('sets the bootindex of every bootable device of %s in QEMU at its path', async (machine, disksOf, more) => {
    const name = `indexes-${machine}`;
    await define(definition({ name, machine, disks: disksOf(), rest: more }));
    await virsh('start', '--paused', name);
    try {
      const domain = readDomain(await liveXml(name));
      const target = orderWithFirst(domain, 'cdrom');
      const indexes = bootIndexes(domain, deviceKeys(target));
      expect(indexes).toHaveLength(bootableDevices(domain.devices).length);
      const places = await Promise.all(
        indexes.map(async (index) => ({ ...(await placeOf(name, index)), value: index.bootIndex })),
      );
      for (const { path: at, property } of places) {
        await qom(name, { execute: 'qom-set', arguments: { path: at, property, value: -1 } });
      }
      for (const { path: at, property, value } of places) {
        await qom(name, { execute: 'qom-set', arguments: { path: at, property, value } });
      }
      for (const { path: at, property, value } of places) {
        const answer = await qom(name, { execute: 'qom-get', arguments: { path: at, property } });
        expect({ at, answer }).toEqual({ at, answer: { id: expect.any(String), return: value } });
      }
    } finally {
      await virsh('destroy', name);
    }
  });

  it.each([
    ['q35', ['sdb', 'sdd'], disks, rest],
    ['pc', ['hdc'], () => disk('hda', 'ide') + disk('hdc', 'ide', 'cdrom', ''), ''],
  ] as const)('inserts and ejects media on %s in the drives %j', async (machine, targets, disksOf, more) => {
    const name = `media-${machine}`;
    await define(definition({ name, machine, disks: disksOf(), rest: more }));
    await virsh('start', '--paused', name);
    const liveSource = async (target: string): Promise<string | null | undefined> =>
      readDomain(await liveXml(name)).devices.disks.find((found) => found.target === target)?.source.name;
    const update = async (target: string, path: string | null): Promise<void> => {
      const file = image('drive.xml');
      await writeFile(
        file,
        changedDriveMarkup(await liveXml(name), target, path === null ? null : { type: 'file', path }),
      );
      await virsh('update-device', '--live', name, file);
    };
    try {
      for (const target of targets) {
        await update(target, image('x.iso'));
        expect([target, await liveSource(target)]).toEqual([target, image('x.iso')]);
        await update(target, null);
        expect([target, await liveSource(target)]).toEqual([target, null]);
      }
    } finally {
      await virsh('destroy', name);
    }
  });

  it('hot-plugs a drive with its medium, and unplugs it at an eject', async () => {
    const name = 'hotplug';
    await define(definition({ name, machine: 'q35', disks: disk('vda', 'virtio'), rest }));
    await virsh('start', '--paused', name);
    try {
      const media = { type: 'file', path: image('x.iso') } as const;
      const { target, markup } = newCdromMarkup(readDomain(await liveXml(name)), 'hotplug', media);
      await writeFile(image('drive.xml'), markup);
      await virsh('attach-device', '--live', name, image('drive.xml'));
      const added = readDomain(await liveXml(name)).devices.disks.find((found) => found.target === target);
      expect([added?.bus, added?.source.name]).toEqual(['usb', image('x.iso')]);
      expect(added === undefined ? null : isHotplugged(added, readDomain(await inactiveXml(name)))).toBe(true);
      await virsh('detach-device', '--live', name, image('drive.xml'));
      expect(readDomain(await liveXml(name)).devices.disks.map((found) => found.target)).toEqual(['vda']);
    } finally {
      await virsh('destroy', name);
    }
  });
});

describe('devicePath', () => {
  /**
   * Returns the output of the firmware as soon as it contains all texts, or when QEMU ends. If a network card's
   * firmware prints in the middle of a line, the serial port sometimes loses the rest. So if a boot has printed the
   * last text but not all others, the function calls `again` to restart the machine.
   * @throws {Error} after 240 s, or if `again` fails.
   */
  const untilPrinted = (socket: string, texts: readonly string[], again: () => Promise<unknown>): Promise<string> =>
    new Promise((resolve, reject) => {
      let output = '';
      let bootedAt = 0;
      const last = texts.at(-1) ?? '';
      const serial = connect(socket);
      const timeout = setTimeout(() => serial.destroy(new Error(`the firmware printed only: ${output}`)), 240_000);
      serial.setEncoding('latin1');
      serial.on('data', (chunk: string) => {
        output += chunk;
        if (texts.every((text) => output.includes(text))) {
          serial.end();
          return;
        }
        if (!output.includes(last, bootedAt)) return;
        bootedAt = output.length;
        again().catch((error: unknown) => serial.destroy(error instanceof Error ? error : new Error(String(error))));
      });
      serial.once('error', reject);
      serial.once('close', () => {
        clearTimeout(timeout);
        resolve(output);
      });
    });

  it.each([
    ['q35', (): string => disk('sda', 'sata') + disk('sdc', 'scsi') + disk('sde', 'usb')],
    ['pc', (): string => disk('hda', 'ide') + disk('sdc', 'scsi') + disk('sde', 'usb')],
  ])('returns the paths that UEFI firmware prints for the devices of a %s machine', async (machine, disksOf) => {
    const name = `paths-${machine}`;
    const socket = image(`${name}.sock`);
    // Without a random number generator, EDK II of 2024 and later does not try to boot from a network.
    const rest = `<controller type='scsi' index='0' model='virtio-scsi'/><controller type='usb' index='0' model='qemu-xhci'/>
        <serial type='unix'><source mode='bind' path='${socket}'/></serial>
        <rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>`;
    const bios = definition({ name, machine, disks: disk('vda', 'virtio') + disksOf(), rest });
    await define(withFirmware(bios, 'efi', { loaderPath: null, nvramTemplate: null }));
    // The firmware tries every disk, then the network cards. None of them boots, so it prints the path of each.
    await define(withBootOrder(await inactiveXml(name), 'hd').xml);
    await virsh('start', '--paused', name);
    try {
      const { devices } = readDomain(await liveXml(name));
      const paths = [...devices.disks, ...devices.interfaces.slice(0, 1)].map((device) => devicePath(device, devices));
      expect(paths).not.toContain(null);
      const output = untilPrinted(
        socket,
        paths.map((path) => `from ${path ?? ''}`),
        () => virsh('reset', name),
      );
      await virsh('resume', name);
      expect(await output).toContain('BdsDxe');
    } finally {
      await virsh('destroy', name);
    }
  });
});
