/** Tests of definitions that version 0.1 of the daemon wrote with a real libvirtd. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { edited } from '../definition-edit.js';
import { setHardware } from '../os/machine-settings.js';
import { emptyRecord } from './machine-record.js';
import { METADATA_URI, readMetadata } from './metadata.js';
import { withMetadata } from '../../../../../test/support/xml-edits.js';

const folder = join(import.meta.dirname, '../../../../../test/fixtures/metadata-0.1');
const names = readdirSync(folder).flatMap((file) => (file.endsWith('.xml') ? [file.replace('.xml', '')] : []));
const definition = (name: string): string => readFileSync(join(folder, `${name}.xml`), 'utf8');
/** The records as version 0.1 read them, without members that are not set. */
const records = JSON.parse(readFileSync(join(folder, 'records.json'), 'utf8')) as Readonly<Record<string, object>>; // by the name of the definition
/** Writes the unchanged record of a definition again. The result has the current format. */
const inCurrentFormat = (xml: string): string => edited(xml, (edit) => edit.setRecord(edit.record));
const inDomain = (markup: string): string =>
  `<domain><metadata>${markup.replace('<machine', `<machine xmlns='${METADATA_URI}'`)}</metadata></domain>`;

describe('the metadata of version 0.1', () => {
  it.each(names)('is read: %s', (name) => {
    expect(readMetadata(definition(name))).toEqual({ ...emptyRecord, ...records[name] });
  });

  it.each(names)('is written in the current format: %s', (name) => {
    const old = definition(name);
    const written = inCurrentFormat(old);
    expect(readMetadata(written)).toEqual(readMetadata(old));
    expect(written).toMatch(/<rackless:machine [^>]*version='2'>\{[^<]*\}<\/rackless:machine>/);
    // The first write changes only the record, and a second write changes nothing.
    expect(withMetadata(written, emptyRecord)).toBe(withMetadata(old, emptyRecord));
    expect(inCurrentFormat(written)).toBe(written);
  });

  it.each(names)('gets the current format with a change, and stays as it is without a change: %s', (name) => {
    const old = definition(name);
    expect(edited(old, () => undefined)).toBe(old);
    expect(edited(old, (edit) => setHardware(edit, { memoryMiB: edit.domain.memoryKiB / 1024 }))).toBe(old);
    const changed = edited(old, (edit) => setHardware(edit, { memoryMiB: 77 }));
    expect(changed).toBe(edited(inCurrentFormat(old), (edit) => setHardware(edit, { memoryMiB: 77 })));
    expect(changed).not.toBe(inCurrentFormat(old));
  });

  it('may lack the device of an image, which is then in the CD drive', () => {
    const old = `<machine><media drive='sda' image='http://h/x.iso' name='x.iso' source='/x' writeProtected='no'/></machine>`;
    expect(readMetadata(inDomain(old)).media).toEqual([
      {
        device: 'cdrom',
        drive: 'sda',
        image: 'http://h/x.iso',
        imageName: 'x.iso',
        source: '/x',
        writeProtected: false,
        driveReadonly: true,
      },
    ]);
    expect(readMetadata(inDomain(old.replace('<media ', `<media device='tape' `))).media).toBeNull();
  });

  it('may have the intent of a restart as an attribute', () => {
    expect(readMetadata(inDomain(`<machine restarting='7'/>`)).intents).toEqual([
      { kind: 'restart', instance: 7, force: false },
    ]);
  });

  it('may have unknown elements, which stay', () => {
    const xml = inDomain(`<machine indicator='lit'><bios><a>x\n y</a></bios><intent kind='later'/></machine>`);
    const unknown = ['<bios><a>x\n y</a></bios>', `<intent kind='later'/>`];
    expect(readMetadata(xml)).toEqual({ ...emptyRecord, indicator: 'lit', unknown });
    expect(readMetadata(inCurrentFormat(xml))).toEqual({ ...emptyRecord, indicator: 'lit', unknown });
  });

  it.each([
    `<machine indicator='purple'/>`,
    `<machine><boot enabled='twice' target='cdrom'/></machine>`,
    `<machine><boot enabled='once'/></machine>`,
    `<machine><disks kept='{'/></machine>`,
    `<machine><mediaSettings/></machine>`,
  ])('is ignored in an unknown format: %s', (markup) => {
    expect(readMetadata(inDomain(markup))).toEqual(emptyRecord);
  });

  it('is not added to a definition without a record', () => {
    const xml = `<domain><metadata><x:y xmlns:x='urn:x'/></metadata></domain>`;
    expect(inCurrentFormat(xml)).toBe(xml);
  });
});
