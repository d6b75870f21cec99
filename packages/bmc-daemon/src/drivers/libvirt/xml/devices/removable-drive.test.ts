import { describe, expect, it } from '@jest/globals';
import { q35Xml } from '../../../../../test/fixtures/domain-xml.js';
import { DriverError } from '../../../driver-error.js';
import { changedDriveMarkup } from './cdrom.js';
import type { MediaSource } from './disk-source.js';
import { readDomain } from '../domain.js';
import { canHaveDrive, hotplugMarkup, stickTarget } from './removable-drive.js';
import type { MediaRecord } from '../metadata/media-record.js';
import { emptyRecord } from '../metadata/machine-record.js';
import { readSnapshot } from '../snapshot.js';
import { withDriveMedia, withImage, withMetadata, withoutImage } from '../../../../../test/support/xml-edits.js';

const image: MediaSource = { type: 'file', path: '/pool/x.iso' };
const record = (device: MediaRecord['device'], drive: string, driveReadonly = true): MediaRecord => ({
  device,
  drive,
  image: 'http://h/redfish/configdrive-1',
  imageName: 'configdrive-1',
  source: '/pool/x.iso',
  writeProtected: true,
  driveReadonly,
});
const off = { state: 'shutoff', persistent: true, capacityBytes: new Map<string, number>() } as const;

describe('a USB stick', () => {
  const readonly = { readonly: true, stick: 'sdz' };
  const { xml } = withImage(q35Xml, 'usb', image, readonly);

  it('is added with its image after the other disks, and its eject restores the definition byte for byte', () => {
    expect(xml).toContain(
      [
        `    <disk type='file' device='disk'>`,
        `      <driver name='qemu' type='raw'/>`,
        `      <source file='/pool/x.iso'/>`,
        `      <target dev='sdz' bus='usb' removable='on'/>`,
        `      <readonly/>`,
        `    </disk>`,
      ].join('\n'),
    );
    expect(readDomain(xml).devices.disks.at(-1)?.target).toBe('sdz');
    expect(withoutImage(xml, 'usb', record('usb', 'sdz'))).toBe(q35Xml);
  });

  it('is writable on request', () => {
    const writable = readDomain(withImage(q35Xml, 'usb', image, { readonly: false, stick: 'sdz' }).xml);
    expect(writable.devices.disks.at(-1)?.readonly).toBe(false);
  });

  it('is not a disk of the inventory, and makes Usb a boot device', () => {
    const kept = withMetadata(xml, { ...emptyRecord, media: [record('usb', 'sdz')] });
    const { media, disks, boot } = readSnapshot(kept, null, off);
    expect(media.find(({ device }) => device === 'usb')).toEqual({
      device: 'usb',
      inserted: true,
      image: 'http://h/redfish/configdrive-1',
      imageName: 'configdrive-1',
      writeProtected: true,
      viaUri: true,
      transferMethod: 'upload',
      transferMethods: ['upload'],
      verifyCertificate: null,
      certificates: [],
    });
    expect(disks.map(({ target }) => target)).not.toContain('sdz');
    expect(boot.available).toContain('usb');
    // A stick that the user has added is a disk.
    expect(readSnapshot(xml, null, off).disks.map(({ target }) => target)).toContain('sdz');
    expect(readSnapshot(xml, null, off).media.find(({ device }) => device === 'usb')?.inserted).toBe(false);
  });

  it('gets a free target in the definition and the running machine', () => {
    const taken = readDomain(q35Xml).devices.disks.map(({ target }) => target);
    const target = stickTarget([readDomain(q35Xml), readDomain(xml)]);
    expect([...taken, 'sdz']).not.toContain(target);
    const markup = hotplugMarkup(readDomain(q35Xml), 'usb', image, { target: 'sdy', readonly: true });
    expect([
      markup.target,
      readDomain(`<domain><name>n</name><devices>${markup.markup}</devices></domain>`),
    ]).toMatchObject(['sdy', { devices: { disks: [{ device: 'disk', bus: 'usb', target: 'sdy', readonly: true }] } }]);
  });

  it('gets a new controller in the definition if the machine has no USB; a hot-plug then fails', () => {
    const without = `<domain><name>n</name><devices><controller type='usb' index='0' model='none'/></devices></domain>`;
    expect(withImage(without, 'usb', image, readonly).xml).toContain(
      `<controller type='usb' index='0' model='qemu-xhci'/>`,
    );
    expect(() => hotplugMarkup(readDomain(without), 'usb', image, { target: 'sda', readonly: true })).toThrow(
      DriverError,
    );
  });
});

describe('a floppy drive', () => {
  it('is added if there is none, stays when it is empty, and makes Floppy a boot device', () => {
    const { target, xml } = withImage(q35Xml, 'floppy', image, { readonly: true, stick: '' });
    expect(target).toBe('fda');
    expect(xml).toContain(`<target dev='fda' bus='fdc'/>`);
    expect(readSnapshot(xml, null, off).boot.available).toContain('fd');
    const emptied = withoutImage(xml, 'floppy', record('floppy', 'fda'));
    expect(readDomain(emptied).devices.disks.find(({ device }) => device === 'floppy')?.source.name).toBeNull();
    expect(readSnapshot(emptied, null, off).boot.available).toContain('fd');
  });

  it('is read-only while a write-protected image is inserted, even if the user has defined it as writable', () => {
    const own = q35Xml.replace(
      '</devices>',
      `<disk type='file' device='floppy'><target dev='fdb' bus='fdc'/></disk></devices>`,
    );
    const { target, xml, wasReadonly } = withImage(own, 'floppy', image, { readonly: true, stick: '' });
    expect([target, wasReadonly]).toEqual(['fdb', false]);
    expect(readDomain(xml).devices.disks.find(({ device }) => device === 'floppy')?.readonly).toBe(true);
    expect(withoutImage(xml, 'floppy', record('floppy', 'fdb', false))).toBe(own);
  });

  it('is available only on PCs', () => {
    const arm = q35Xml.replace(`arch='x86_64'`, `arch='aarch64'`);
    expect(canHaveDrive(readDomain(arm), 'floppy')).toBe(false);
    expect(() => withImage(arm, 'floppy', image, { readonly: true, stick: '' })).toThrow('it is not a PC');
    expect(readSnapshot(arm, null, off).media.map(({ device }) => device)).toEqual(['cdrom', 'usb']);
  });

  it('does not support hot-plug: a running guest gets a USB stick instead', () => {
    const { target, markup } = hotplugMarkup(readDomain(q35Xml), 'floppy', image, { target: 'fda', readonly: true });
    expect(markup).toContain(`<target dev='${target}' bus='usb' removable='on'/>`);
  });
});

describe('a streamed image', () => {
  const network: MediaSource = {
    type: 'network',
    protocol: 'https',
    host: 'h.test',
    port: 8443,
    path: `/it's.iso`,
    query: 'a=1&b="2"',
    verify: false,
  };

  it('has the parts of its URL as source, and the snapshot shows it as a stream', () => {
    const xml = withDriveMedia(q35Xml, 'sda', network);
    expect(xml).toContain(
      `<source protocol='https' name='/it&apos;s.iso' query='a=1&amp;b="2"'><host name='h.test' port='8443'/><ssl verify='no'/></source>`,
    );
    expect(changedDriveMarkup(q35Xml, 'sda', network)).toContain(`<disk type='network' device='cdrom'>`);
    const source = readDomain(xml).devices.disks.find(({ target }) => target === 'sda')?.source.name ?? '';
    const kept = withMetadata(xml, { ...emptyRecord, media: [{ ...record('cdrom', 'sda'), source }] });
    const [cd] = readSnapshot(kept, null, { ...off, streams: true }).media;
    expect([cd?.transferMethod, cd?.transferMethods]).toEqual(['stream', ['upload', 'stream']]);
    expect(withDriveMedia(xml, 'sda', null)).toBe(q35Xml);
  });
});
