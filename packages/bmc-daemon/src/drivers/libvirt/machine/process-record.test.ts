import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { withStartingMark } from '../../../../test/support/xml-edits.js';
import { DriverError } from '../../driver-error.js';
import { isStarting, PROCESS_URI, readProcess, renderProcess } from './process-record.js';
import type { ProcessRecord } from './process-record.js';

const record: ProcessRecord = {
  instance: 7,
  order: ['disk:vda', `hostdev:it's/"odd"&<x>`],
  armed: { target: 'cdrom', evidence: { drive: 'sda', reads: 12 } },
};

/** Returns the XML of a running machine with the markup, as libvirt stores it. */
const live = (markup: string): string =>
  `<domain id='7'><name>m</name><metadata>${markup
    .replaceAll(/<(\/?)process/g, '<$1p:process')
    .replace('<p:process', `<p:process xmlns:p="${PROCESS_URI}"`)}</metadata></domain>`;
const bare = `<domain id='7'><name>m</name></domain>`;
const render = (written: ProcessRecord, xml = bare): string => renderProcess({ id: written.instance, xml }, written);

/** Returns the XML of a running machine that version 0.1 wrote with a real libvirtd. */
const version1Xml = (name: string): string =>
  readFileSync(join(import.meta.dirname, `../../../../test/fixtures/process-0.1/${name}.xml`), 'utf8');

describe('the record of a process', () => {
  it.each<[string, ProcessRecord]>([
    ['an armed override', record],
    ['an armed override of a single device', { ...record, armed: { target: 'disk:vda', evidence: null } }],
    ['an armed override of a kind of device', { ...record, armed: { target: 'network', evidence: null } }],
    ['no armed override', { ...record, armed: null, order: [] }],
  ])('is the same after a write and a read, with %s', (_what, written) => {
    expect(readProcess({ id: 7, xml: live(render(written)) })).toEqual(written);
  });

  it('is JSON text with a version', () => {
    expect(render({ ...record, order: ['disk:vda'] })).toBe(
      `<process version='2'>{"instance":7,"order":["disk:vda"],"armed":{"target":"cdrom","evidence":{"drive":"sda","reads":12}}}</process>`,
    );
  });

  it('is ignored for another process with a copied definition', () => {
    expect(readProcess({ id: 8, xml: live(render(record)) })).toBeNull();
    expect(readProcess({ id: 7, xml: bare })).toBeNull();
  });

  it.each(['', 'x', '[]', '{"instance":7}', '{"instance":"7","order":[]}', '{"instance":7,"order":"disk:vda"}'])(
    'is ignored in an unknown format: %s',
    (text) => {
      const xml = live(`<process version='2'>${text}</process>`);
      expect([readProcess({ id: 7, xml }), isStarting({ xml })]).toEqual([null, false]);
    },
  );

  it('is read without its invalid member', () => {
    const text = (armed: unknown): string => JSON.stringify({ instance: 7, order: ['disk:vda'], armed });
    const read = (armed: unknown) => readProcess({ id: 7, xml: live(`<process version='2'>${text(armed)}</process>`) });
    expect(read({ target: 'tape', evidence: null })).toEqual({ instance: 7, order: ['disk:vda'], armed: null });
    expect(read({ target: 'hd', evidence: 7 })?.armed).toEqual({ target: 'hd', evidence: null });
  });

  it('keeps members that a newer version of the daemon has added, but not those of another process', () => {
    const xml = live(`<process version='2'>{"instance":7,"order":[],"newer":{"a":1}}</process>`);
    expect(render({ ...record, armed: null, order: [] }, xml)).toContain(`{"instance":7,"order":[],"newer":{"a":1}}`);
    expect(render({ instance: 8, order: [], armed: null }, xml)).not.toContain('newer');
  });

  it('is not overwritten if a newer version of the daemon has written it in another format', () => {
    const xml = live(`<process version='3'>x</process>`);
    expect(() => render(record, xml)).toThrow(
      new DriverError(
        'conflict',
        'changing machine m: the record of its process has version 3, and this service knows versions up to 2',
      ),
    );
  });
});

describe('the record that version 0.1 left in a running machine', () => {
  it('is read', () => {
    const evidence = { drive: 'sda', reads: 2 };
    const read = (name: string) => readProcess({ id: 1, xml: version1Xml(name) });
    expect(read('armed')).toEqual({ instance: 1, order: ['disk:vda'], armed: { target: 'cdrom', evidence } });
    expect(read('order')).toEqual({ instance: 1, order: ['disk:vda'], armed: null });
    expect(readProcess({ id: 2, xml: version1Xml('armed') })).toBeNull();
    expect(['armed', 'order', 'starting'].map((name) => isStarting({ xml: version1Xml(name) }))).toEqual([
      false,
      false,
      true,
    ]);
    expect(read('starting')).toBeNull();
  });

  it('has the current format after the next write, with the same content', () => {
    const xml = version1Xml('armed');
    const known = readProcess({ id: 1, xml });
    if (known === null) throw new Error('the definition has no record');
    const written = renderProcess({ id: 1, xml }, known);
    expect(written).toContain(`version='2'`);
    expect(readProcess({ id: 1, xml: live(written) })).toEqual(known);
  });
});

describe('the mark of a start', () => {
  it('can be added to a definition with or without metadata, and replaces a copied record', () => {
    const foreign = `<domain><name>x</name><metadata><a:b xmlns:a='urn:a'/></metadata></domain>`;
    for (const xml of [`<domain><name>x</name></domain>`, foreign, live(render(record)), version1Xml('armed')]) {
      expect(isStarting({ xml })).toBe(false);
      const marked = withStartingMark(xml);
      expect(isStarting({ xml: marked })).toBe(true);
      expect(readProcess({ id: 7, xml: marked })).toBeNull();
      expect(marked.match(new RegExp(PROCESS_URI, 'g'))).toHaveLength(1);
    }
    expect(withStartingMark(foreign)).toContain(`<a:b xmlns:a='urn:a'/>`);
  });

  it('is no longer set after the first record of the process', () => {
    const started = withStartingMark(bare);
    expect(isStarting({ xml: live(render(record, started)) })).toBe(false);
  });
});
