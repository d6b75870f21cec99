/**
 * Checks that an edit changes no other bytes, and that its reversal restores the text. The documents
 * are random: XML allows them, but libvirt would not write them.
 */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { orderWithFirst } from './os/boot-order.js';
import { DefinitionEdit } from './definition-edit.js';
import { readDomain } from './domain.js';
import type { XmlElement } from './tree.js';
import { XmlEdit } from './xml-edit.js';
import {
  restoreBootOrder,
  withBootOrder,
  withCdrom,
  withDriveMedia,
  withFirmware,
} from '../../../../test/support/xml-edits.js';

const quote = fc.constantFrom(`'`, `"`);
/** White space where a tag allows it. */
const gap = fc.constantFrom(' ', '  ', '\n        ', '\t');
const lead = fc.constantFrom('', ' ', '\n', '\n    ', '\n\t\t', '\r\n  ');
/** Text between two elements. An edit must keep this text. */
const noise = fc.constantFrom(
  '',
  '',
  '',
  `<!-- <boot dev='hd'/> "it's" -->`,
  '<?pi <boot?>',
  '<x:y xmlns:x="urn:x" x:z=\'&#38;"\'><boot order="1"/></x:y>',
  `<foreign><![CDATA[</os> & <source/>]]></foreign>`,
);

/** Returns a tag with the given attributes, in a random spelling. */
const tag = (name: string, attributes: Readonly<Record<string, string>>, content = ''): fc.Arbitrary<string> =>
  fc
    .tuple(lead, noise, fc.array(fc.tuple(gap, quote), { minLength: 9, maxLength: 9 }), gap)
    .map(([before, beside, styles, last]) => {
      const written = Object.entries(attributes).map(([key, value], index) => {
        const [space, mark] = styles[index] ?? [' ', `'`];
        return `${space}${key}=${mark}${value}${mark}`;
      });
      const start = `${before}${beside}<${name}${written.join('')}`;
      return content === '' ? `${start}${last}/>` : `${start}${last}>${content}${beside}</${name}>`;
    });

const elements = (parts: readonly fc.Arbitrary<string>[]): fc.Arbitrary<string> =>
  fc.tuple(...parts).chain((texts) => fc.tuple(fc.constant(texts.join('')), lead).map(([text, end]) => text + end));

const optional = (part: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.boolean().chain((present) => (present ? part : fc.constant('')));

const boot = (order: number | null): readonly fc.Arbitrary<string>[] =>
  order === null ? [] : [tag('boot', { order: String(order), loadparm: 'A' })];

const disk = (target: string, device: string, order: number | null): fc.Arbitrary<string> =>
  elements([
    optional(tag('driver', { name: 'qemu', type: 'raw' })),
    ...(device === 'cdrom' ? [] : [tag('source', { file: `/${target}.img` })]),
    tag('target', { dev: target, bus: 'sata' }),
    ...boot(order),
    optional(tag('serial', {}, `S&#45;${target}`)),
  ]).chain((content) => tag('disk', { type: 'file', device }, content));

/** Empty interfaces with an end tag. */
const openInterfaces = [`\n    <interface type='user'></interface>`, `<interface type="user">\n </interface>`];

const nic = (mac: string, order: number | null): fc.Arbitrary<string> =>
  fc
    .boolean()
    .chain((bare) =>
      bare && order === null
        ? fc.oneof(tag('interface', { type: 'user' }), fc.constantFrom(...openInterfaces))
        : elements([tag('mac', { address: mac }), ...boot(order), tag('model', { type: 'virtio' })]).chain((content) =>
            tag('interface', { type: 'user' }, content),
          ),
    );

/** Orders of the four devices: all null, so that `<boot dev>` applies; or numbers with gaps, for all or for two. */
const orders = fc.oneof(
  fc.constant([null, null, null, null]),
  fc.uniqueArray(fc.integer({ min: 1, max: 40 }), { minLength: 4, maxLength: 4 }),
  fc
    .uniqueArray(fc.integer({ min: 1, max: 40 }), { minLength: 2, maxLength: 2 })
    .map(([first = 1, second = 2]) => [null, first, null, second]),
);

const domain = orders.chain(([a = null, b = null, c = null, d = null]) => {
  const devices = elements([
    disk('sda', 'disk', a),
    nic('52:54:00:00:00:01', b),
    disk('sdb', 'cdrom', c),
    nic('52:54:00:00:00:02', d),
    tag('graphics', { type: 'vnc', passwd: '&quot;&#x27;s' }),
  ]).chain((content) => tag('devices', {}, content));
  const byKind = a === null && b === null;
  const os = elements([
    tag('type', { arch: 'x86_64', machine: 'pc-q35-7.2' }, 'hvm'),
    ...(byKind ? [tag('boot', { dev: 'network' }), optional(tag('boot', { dev: 'hd' }))] : []),
    optional(tag('bootmenu', { enable: 'no' })),
  ]).chain((content) => tag('os', {}, content));
  return fc
    .tuple(lead, fc.constantFrom('', '\n'), os, devices, noise)
    .map(
      ([first, last, osText, devicesText, beside]) =>
        `<domain type='qemu'>${first}<name>n</name>${beside}${osText}${devicesText}</domain>${last}`,
    );
});

/**
 * Returns the text without libvirt's `<boot>` elements, but with comments and foreign elements of
 * that name.
 */
function withoutBoot(xml: string): string {
  const edit = new XmlEdit(xml);
  const boots = (element: XmlElement): readonly XmlElement[] =>
    element.nodes.flatMap((node) => {
      if (node.kind !== 'element' || node.namespace !== null || node.name === 'foreign') return [];
      return node.name === 'boot' ? [node] : boots(node);
    });
  // An element that the edit opened for its <boot> has an end tag. Gives it the form of an empty element again.
  for (const element of boots(edit.root)) edit.remove(element);
  return edit.text().replaceAll(/\s*(\/>|>\s*<\/interface>)/g, '/>');
}

describe('an edit of any document', () => {
  it('overrides the boot order in <boot> only, and reverts it byte for byte', () => {
    fc.assert(
      fc.property(domain, fc.constantFrom('cdrom', 'hd', 'network'), (xml, target) => {
        const wanted = orderWithFirst(readDomain(xml), target).map(({ device }) => device.key);
        const edited = withBootOrder(xml, target);
        const numbered = readDomain(edited.xml);
        const { disks, interfaces } = numbered.devices;
        const now = [...disks, ...interfaces]
          .filter((device) => device.bootOrder !== null)
          .sort((one, other) => (one.bootOrder ?? 0) - (other.bootOrder ?? 0))
          .map((device) => device.key);
        expect(now).toEqual(wanted);
        expect(numbered.os.bootDevices).toEqual([]);
        expect(withoutBoot(edited.xml)).toBe(withoutBoot(xml));
        expect(restoreBootOrder(edited.xml, edited.saved)).toBe(xml);
      }),
      { numRuns: 500 },
    );
  });

  it('inserts media, and the eject restores the text byte for byte', () => {
    fc.assert(
      fc.property(domain, fc.string({ unit: 'grapheme-ascii', minLength: 1 }), (xml, path) => {
        const filled = withDriveMedia(xml, 'sdb', { type: 'file', path });
        expect(readDomain(filled).devices.disks[1]?.source.name).toBe(path);
        expect(withDriveMedia(filled, 'sdb', null)).toBe(xml);
      }),
      { numRuns: 300 },
    );
  });

  it('adds a drive, and its removal restores the text byte for byte', () => {
    fc.assert(
      fc.property(domain, (xml) => {
        const { xml: filled, target } = withCdrom(xml, null);
        const edit = new DefinitionEdit(filled);
        const added = edit.domain.devices.disks.find((found) => found.target === target)?.element;
        if (added !== undefined) edit.xml.remove(added);
        expect(edit.text()).toBe(xml);
      }),
      { numRuns: 200 },
    );
  });

  it('selects UEFI and reverts to BIOS byte for byte', () => {
    const none = { loaderPath: null, nvramTemplate: null };
    fc.assert(
      fc.property(domain, (xml) => {
        const efi = withFirmware(xml, 'efi', none);
        expect(readDomain(efi).firmware).toBe('efi');
        expect(withFirmware(efi, 'bios', none)).toBe(xml);
      }),
      { numRuns: 200 },
    );
  });
});
