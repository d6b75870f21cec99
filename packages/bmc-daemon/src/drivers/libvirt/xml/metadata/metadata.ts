/**
 * The record of the daemon in a domain's metadata. It survives restarts of the daemon and moves
 * with the machine. It is one JSON text:
 *
 * ```xml
 * <rackless:machine xmlns:rackless='https://rackless.dev/xmlns/bmc/1' version='2'>
 *   {"indicator":"lit","media":[{"device":"cdrom","drive":"sda",…}],"intents":[{"kind":"order"}]}
 * </rackless:machine>
 * ```
 *
 * record-schema.ts has all members. docs/guides/libvirt-hosts.md describes the form for users.
 */
import { parseXml, type ParsedElement, type XmlDocument } from '../parse.js';
import type { XmlElement, XmlElementOf } from '../tree.js';
import { findInMetadata, jsonElement, readMembers, versionOf } from './json-element.js';
import { emptyRecord, type MachineRecord } from './machine-record.js';
import { memberSchemas } from './record-schema.js';
import { withoutPrefix, withPrefix } from './unknown-markup.js';
import { readVersion1 } from './version-1.js';

/** The parameter `uri` of virDomainSetMetadata. */
export const METADATA_URI = 'https://rackless.dev/xmlns/bmc/1';
/** The parameter `key` of virDomainSetMetadata. */
export const METADATA_PREFIX = 'rackless';

/** Cache of records by document. */
const records = new WeakMap<XmlDocument, MachineRecord>();

/**
 * Reads the record in a domain's XML. Ignores a member with an unknown format.
 * @throws {DriverError} internal, if the XML is not well-formed.
 */
export function readMetadata(xml: string | XmlDocument): MachineRecord {
  // Most machines have no record. libvirt writes the URI without escapes, so a text without the URI needs no
  // parsing.
  if (typeof xml === 'string' && !xml.includes(METADATA_URI)) return emptyRecord;
  const document = typeof xml === 'string' ? parseXml(xml) : xml;
  const cached = records.get(document);
  if (cached !== undefined) return cached;
  const record = readElement(document, findRecord(document.root));
  records.set(document, record);
  return record;
}

/**
 * Returns the markup for virDomainSetMetadata, without prefixes: libvirt sets the namespace itself.
 */
export function renderMetadata(record: MachineRecord): string {
  return render(record, '', null);
}

/** Returns the element of a record for a definition. */
export function recordMarkup(record: MachineRecord): string {
  return render(record, `${METADATA_PREFIX}:`, METADATA_URI);
}

/** Returns whether a record is empty: a definition needs no element for it. */
export function isEmptyRecord({ resetNvram, later, unknown, ...others }: MachineRecord): boolean {
  const isSet = resetNvram || unknown.length > 0 || Object.keys(later).length > 0;
  return !isSet && Object.values(others).every((value) => value === null);
}

/** Returns the element of the record in a domain, or undefined. */
export function findRecord<E extends XmlElementOf<E>>(root: E): E | undefined {
  return findInMetadata(root, METADATA_URI);
}

/** Returns whether an element has the format of version 0.1. */
export function isOldForm(element: XmlElement | undefined): boolean {
  return element !== undefined && versionOf(element) === 1;
}

function readElement(document: XmlDocument, element: ParsedElement | undefined): MachineRecord {
  if (element === undefined) return emptyRecord;
  if (versionOf(element) === 1) return readVersion1(document, element);
  const { known, later } = readMembers(element, memberSchemas);
  return {
    ...emptyRecord,
    ...known,
    later,
    unknown: element.nodes.flatMap((node) => (node.kind === 'element' ? [withoutPrefix(document, element, node)] : [])),
  };
}

function render({ later, unknown, ...record }: MachineRecord, prefix: string, namespace: string | null): string {
  const members = Object.entries(record).filter(([, value]) => value !== null && value !== false);
  const children = unknown.map((markup) => withPrefix(markup, prefix)).join('');
  return jsonElement(`${prefix}machine`, { ...Object.fromEntries(members), ...later }, { namespace, children });
}
