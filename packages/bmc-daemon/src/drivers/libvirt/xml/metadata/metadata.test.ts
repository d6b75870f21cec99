import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { q35Xml, unusualXml } from '../../../../../test/fixtures/domain-xml.js';
import { encodeAttribute, encodeText } from '../escape.js';
import { DriverError } from '../../../driver-error.js';
import { MEDIA_DEVICES } from '../../../snapshot/media-snapshot.js';
import { emptyRecord } from './machine-record.js';
import { METADATA_URI, readMetadata, recordMarkup, renderMetadata } from './metadata.js';
import { readSnapshot } from '../snapshot.js';
import type { MachineRecord } from './machine-record.js';
import { withBootOrder, withMetadata } from '../../../../../test/support/xml-edits.js';

const record: MachineRecord = {
  indicator: 'blinking',
  boot: { enabled: 'continuous', target: 'cdrom', saved: withBootOrder(unusualXml, 'cdrom').saved },
  media: [
    {
      device: 'cdrom',
      drive: 'sda',
      image: `http://h/it's?a&b "c".iso`,
      imageName: `it's.iso`,
      source: '/pool/x.iso',
      writeProtected: true,
      driveReadonly: true,
    },
  ],
  mediaSettings: [{ device: 'usb', verifyCertificate: true, certificates: [{ id: '1', pem: 'a\nb' }] }],
  settings: {
    kept: { QuietBoot: true, L2Cache: `it's "so"` },
    pending: { cpuCount: 2, firmware: 'efi', kept: { ProcTurboMode: 'Disabled' } },
    failure: { reason: 'refused', time: '2026-11-20T17:00:00.000Z' },
    original: { cpuCount: 4 },
    variables: '/usr/share/OVMF/OVMF_VARS_4M.fd',
  },
  disks: [
    { target: 'vdb', source: `/p/it's.img`, indicator: 'off', name: 'data "1"', capacityBytes: 4096, storage: null },
  ],
  unattached: [{ pool: `it's`, volume: 'rackless-volume-a' }],
  owner: { assetTag: `it's "7" & <8>`, firmwareUpdate: { installed: '1.0.1', staged: null } },
  created: {
    uuid: '00000000-0000-4000-8000-000000000001',
    group: 'node',
    complete: true,
    volumes: [{ pool: 'default', volume: 'node-1.qcow2' }],
    serialLog: '/var/log/libvirt/qemu/node-1-serial0.log',
    clonedFrom: null,
  },
  intents: [
    { kind: 'restart', instance: 7, force: true },
    { kind: 'drive', device: 'cdrom' },
    { kind: 'autostart', on: true },
    { kind: 'order' },
  ],
  resetNvram: true,
  later: {},
  unknown: [],
};

/** Returns the markup with a namespace declaration and prefixes, as libvirt stores it. */
const asLibvirtStores = (markup: string): string =>
  markup
    .replaceAll(/<(\/?)(\w)/g, '<$1rackless:$2')
    .replace('<rackless:machine', `<rackless:machine xmlns:rackless="${METADATA_URI}"`);

/** Returns a domain that has the markup with a default namespace, so that the children stay unchanged. */
const inDomain = (markup: string): string =>
  `<domain><metadata>${markup.replace('<machine', `<machine xmlns='${METADATA_URI}'`)}</metadata></domain>`;

describe('the metadata record', () => {
  it('is the same after a write and a read, in a definition and in the markup of a metadata call', () => {
    const text = fc.string({ unit: 'grapheme' }).map((value) => value.replace(/\p{Cc}/gu, ''));
    const settings = fc.record({
      kept: fc.dictionary(
        text.filter((name) => name !== '__proto__'),
        fc.oneof(text, fc.integer(), fc.boolean()),
      ),
      pending: fc.record({ cpuCount: fc.nat(), networkBoot: fc.boolean() }, { requiredKeys: [] }),
      failure: fc.option(fc.record({ reason: text, time: text })),
      original: fc.record({ firmware: fc.constantFrom('bios' as const, 'efi' as const) }, { requiredKeys: [] }),
      variables: fc.option(text),
    });
    const device = fc.constantFrom(...MEDIA_DEVICES);
    const anyRecord = fc.record<MachineRecord>({
      indicator: fc.constantFrom(null, 'lit', 'off', 'blinking'),
      boot: fc.option(
        fc.record({
          enabled: fc.constantFrom('disabled', 'once', 'continuous'),
          target: fc.constantFrom('none', 'network', 'cdrom', 'hd', 'fd', 'usb'),
          saved: fc.option(
            fc.record({
              os: fc.array(
                fc.record({
                  at: fc.nat(9),
                  markup: text.map((value) => `\n\t <boot dev='${encodeAttribute(value)}'/>`),
                }),
              ),
              devices: fc.array(fc.record({ key: text, order: fc.constantFrom('1', ' 07 ', '&#57;') })),
            }),
          ),
        }),
      ),
      media: fc.option(
        fc.uniqueArray(
          fc.record({
            device,
            drive: text,
            image: text,
            imageName: text,
            source: text,
            writeProtected: fc.boolean(),
            driveReadonly: fc.boolean(),
          }),
          { minLength: 1, selector: (media) => media.device },
        ),
      ),
      mediaSettings: fc.option(
        fc.array(
          fc.record({
            device,
            verifyCertificate: fc.option(fc.boolean()),
            certificates: fc.array(fc.record({ id: text, pem: text })),
          }),
        ),
      ),
      settings: fc.option(settings),
      unattached: fc.option(fc.array(fc.record({ pool: text, volume: text }))),
      disks: fc.option(
        fc.array(
          fc.record({
            target: text,
            source: fc.option(text),
            indicator: fc.constantFrom(null, 'lit', 'off', 'blinking'),
            name: fc.option(text),
            capacityBytes: fc.option(fc.nat()),
            storage: fc.option(text),
          }),
        ),
      ),
      created: fc.option(
        fc.record({
          uuid: fc.uuid(),
          group: fc.option(text),
          complete: fc.boolean(),
          volumes: fc.array(fc.record({ pool: text, volume: text })),
          serialLog: fc.option(text),
          clonedFrom: fc.option(fc.uuid()),
        }),
      ),
      owner: fc.option(
        fc.record({
          assetTag: text,
          firmwareUpdate: fc.record({ installed: fc.option(text), staged: text }),
        }),
      ),
      intents: fc.option(
        fc.array(
          fc.oneof(
            fc.record({ kind: fc.constant('start' as const), fresh: fc.boolean() }),
            fc.record({ kind: fc.constant('restart' as const), instance: fc.nat(), force: fc.boolean() }),
            fc.record({ kind: fc.constant('drive' as const), device: fc.constantFrom('cdrom', 'usb') }),
            fc.record({ kind: fc.constant('autostart' as const), on: fc.boolean() }),
            fc.record({ kind: fc.constant('order' as const) }),
          ),
          { minLength: 1 },
        ),
      ),
      resetNvram: fc.boolean(),
      later: fc.constantFrom({}, { newer: [1, { text: '<"&' }] }),
      unknown: fc.constantFrom([], ['<later x="1">\n  <in/> a\n</later>', `<o:x xmlns:o='urn:o' o:y='1'/>`]),
    });
    fc.assert(
      fc.property(anyRecord, fc.constantFrom(q35Xml, unusualXml), (written, xml) => {
        const stored = withMetadata(xml, written);
        expect(readMetadata(stored)).toEqual(written);
        expect(readMetadata(inDomain(renderMetadata(written)))).toEqual(written);
        // A second write replaces the record in its place. An empty record removes the stored one completely, but
        // a <metadata> element that the first write added stays.
        expect(withMetadata(stored, written)).toBe(stored);
        const removed = withMetadata(stored, emptyRecord).replace('\n  <metadata>\n  </metadata>', '');
        expect(removed).toBe(xml);
      }),
    );
  });

  it('is empty for a machine without changes, even with foreign metadata', () => {
    expect(readMetadata(q35Xml)).toEqual(emptyRecord);
    expect(readMetadata(unusualXml)).toEqual(emptyRecord);
    expect(withMetadata(q35Xml, emptyRecord)).toBe(q35Xml);
  });

  it('keeps foreign metadata byte for byte', () => {
    const xml = withMetadata(unusualXml, record);
    const own = /\n {4}<rackless:machine[\s\S]*<\/rackless:machine>/.exec(xml)?.[0] ?? '';
    expect(xml.replace(own, '')).toBe(unusualXml);
    expect(xml.indexOf(own)).toBe(unusualXml.indexOf('\n  </metadata>'));
  });

  it('is in a new <metadata> after the name and the description of the machine if there is none', () => {
    expect(withMetadata(q35Xml, { ...emptyRecord, indicator: 'off' })).toBe(
      q35Xml.replace(
        '</description>',
        `</description>\n  <metadata>\n    <rackless:machine xmlns:rackless='${METADATA_URI}' version='2'>{"indicator":"off"}</rackless:machine>\n  </metadata>`,
      ),
    );
  });

  it('is found with another prefix, and with double quotes', () => {
    const stored = asLibvirtStores(renderMetadata(record));
    const xml = `<domain><metadata>${stored.replaceAll('rackless:', 'ns0:').replace('xmlns:rackless', 'xmlns:ns0')}</metadata></domain>`;
    expect(readMetadata(xml)).toEqual(record);
  });

  it('keeps members and elements of a newer version of the daemon', () => {
    const own = `<rackless:machine xmlns:rackless="${METADATA_URI}" version="2">\n {"newer":{"a":"<&"}}<rackless:bios><rackless:a>x\n y</rackless:a></rackless:bios></rackless:machine>`;
    const xml = `<domain><metadata>${own.replace('<&', '&lt;&amp;')}</metadata></domain>`;
    const read = readMetadata(xml);
    expect(read).toEqual({ ...emptyRecord, later: { newer: { a: '<&' } }, unknown: ['<bios><a>x\n y</a></bios>'] });
    const written = withMetadata(xml, { ...read, indicator: 'off' });
    expect(written).toContain(`version='2'>{"indicator":"off","newer":{"a":"&lt;&amp;"}}<rackless:bios>`);
    expect(readMetadata(written)).toEqual({ ...read, indicator: 'off' });
  });

  it('is not overwritten if a newer version of the daemon has written it in another format', () => {
    const xml = `<domain><name>a</name><metadata><machine xmlns='${METADATA_URI}' version='3'>x</machine></metadata></domain>`;
    expect(readMetadata(xml)).toEqual(emptyRecord);
    expect(() => withMetadata(xml, { ...emptyRecord, indicator: 'off' })).toThrow(
      new DriverError(
        'conflict',
        'changing machine a: its metadata has version 3, and this service knows versions up to 2',
      ),
    );
  });

  it('is read without its invalid members', () => {
    const text = JSON.stringify({
      indicator: 'lit',
      boot: { enabled: 'twice' },
      disks: 7,
      settings: { kept: 1, variables: 'v' },
    });
    expect(readMetadata(inDomain(`<machine version='2'>${text}</machine>`))).toEqual({
      ...emptyRecord,
      indicator: 'lit',
      settings: { kept: {}, pending: {}, failure: null, original: {}, variables: 'v' },
    });
  });

  it.each(['', 'x', '[]', '7', 'null', '{"boot":{"enabled":"once"}}', '{"media":[{"device":"cdrom","drive":"sda"}]}'])(
    'is ignored in an unknown format: %s',
    (text) => {
      expect(readMetadata(inDomain(`<machine version='2'>${text}</machine>`))).toEqual(emptyRecord);
    },
  );

  it.each([
    ['tags that do not match', `</os><os>`, '1'],
    ['an open tag', '<boot', '1'],
    ['another element', `<type/>`, '1'],
    ['text', `<boot dev='hd'/>x`, '1'],
    ['a number that ends its attribute', `<boot dev='hd'/>`, `1'/><disk x='`],
    ['an unknown entity', `<boot dev='hd'/>`, '&x;'],
  ])('ignores an override whose saved order has %s, so that the machine stays readable', (_, markup, order) => {
    const saved = { os: [{ at: 1, markup }], devices: [{ key: 'disk:vda', order }] };
    const boot = { enabled: 'continuous', target: 'cdrom', saved };
    const element = recordMarkup(emptyRecord).replace('{}', encodeText(JSON.stringify({ indicator: 'lit', boot })));
    const xml = q35Xml.replace('</description>', `</description><metadata>${element}</metadata>`);
    expect(readMetadata(xml)).toEqual({ ...emptyRecord, indicator: 'lit' });
    const off = { state: 'shutoff', persistent: true, capacityBytes: new Map<string, number>() } as const;
    expect(readSnapshot(xml, null, off).boot.order).toEqual(readSnapshot(q35Xml, null, off).boot.order);
  });

  it('can contain characters that XML does not allow', () => {
    const assetTag = '\u0000\u0007\u001b\uFFFE\uFFFF\uD800 ]]> &lt; \u0085\r\n';
    const written = withMetadata(q35Xml, { ...emptyRecord, owner: { assetTag } });
    expect(readMetadata(written).owner).toEqual({ assetTag });
    // The only control characters in the XML are line feeds.
    expect(
      Array.from(written).filter((character) => character !== '\n' && !/^[\x20-\uD7FF\uE000-\uFFFD]$/.test(character)),
    ).toEqual([]);
  });
});
