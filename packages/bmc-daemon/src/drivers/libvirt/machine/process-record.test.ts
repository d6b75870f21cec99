import { describe, expect, it } from '@jest/globals';
import { isStarting, PROCESS_URI, readProcess, renderProcess } from './process-record.js';
import type { ProcessRecord } from './process-record.js';
import { withStartingMark } from '../../../../test/support/xml-edits.js';

const record: ProcessRecord = {
  instance: 7,
  order: ['disk:vda', `hostdev:it's/"odd"&<x>`],
  armed: { target: 'cdrom', evidence: { drive: 'sda', reads: 12 } },
};

/** Returns the XML with the markup, as libvirt stores it. */
const live = (markup: string): string =>
  `<domain id='7'><metadata>${markup
    .replaceAll(/<(\/?)(process|order)/g, '<$1p:$2')
    .replace('<p:process', `<p:process xmlns:p="${PROCESS_URI}"`)}</metadata></domain>`;

describe('the record of a process', () => {
  it.each<[string, ProcessRecord]>([
    ['an armed override', record],
    ['one without evidence', { ...record, armed: { target: 'network', evidence: null } }],
    ['none', { ...record, armed: null, order: [] }],
  ])('reads back as it was written, with %s', (_what, written) => {
    expect(readProcess({ id: 7, xml: live(renderProcess(written)) })).toEqual(written);
  });

  it('is ignored for another process with a copied definition', () => {
    expect(readProcess({ id: 8, xml: live(renderProcess(record)) })).toBeNull();
    expect(readProcess({ id: 7, xml: `<domain id='7'/>` })).toBeNull();
  });

  it('marks a definition for a start, with or without metadata', () => {
    const bare = `<domain><name>x</name></domain>`;
    const foreign = `<domain><name>x</name><metadata><a:b xmlns:a='urn:a'/></metadata></domain>`;
    for (const xml of [bare, foreign]) {
      expect(isStarting({ xml })).toBe(false);
      expect(isStarting({ xml: withStartingMark(xml) })).toBe(true);
      expect(readProcess({ id: 7, xml: withStartingMark(xml) })).toBeNull();
    }
    expect(withStartingMark(foreign)).toContain(`<a:b xmlns:a='urn:a'/>`);
  });
});
