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
import { DriverError } from '../../../driver-error.js';
import { encodeText } from '../escape.js';
import { parseXml, type ParsedElement, type XmlDocument } from '../parse.js';
import { attribute, child, type XmlElement, type XmlElementOf } from '../tree.js';
import { emptyRecord, type MachineRecord } from './machine-record.js';
import { memberSchemas } from './record-schema.js';
import { withoutPrefix, withPrefix } from './unknown-markup.js';
import { readVersion1 } from './version-1.js';

/** For virDomainSetMetadata: `uri` and `key`. */
export const METADATA_URI = 'https://rackless.dev/xmlns/bmc/1';
/** For virDomainSetMetadata: `key`. */
export const METADATA_PREFIX = 'rackless';

/** The written form. Version 0.1 wrote no number. A new member of the record needs no new number. */
const VERSION = 2;

/** Cache of records by document. */
const records = new WeakMap<XmlDocument, MachineRecord>();

/**
 * Reads the record in a domain's XML. A member with an unknown format reads as never set, because a
 * mistake in edited metadata must not make a machine unreadable.
 */
export function readMetadata(xml: string | XmlDocument): MachineRecord {
  const document = typeof xml === 'string' ? parseXml(xml) : xml;
  const known = records.get(document);
  if (known !== undefined) return known;
  const record = readElement(document, findRecord(document.root));
  records.set(document, record);
  return record;
}

/**
 * Returns the markup for virDomainSetMetadata, without prefixes: libvirt sets the namespace itself.
 */
export function renderMetadata(record: MachineRecord): string {
  return render(record, '', '');
}

/** Returns the element of a record for a definition. */
export function recordMarkup(record: MachineRecord): string {
  return render(record, `${METADATA_PREFIX}:`, ` xmlns:${METADATA_PREFIX}='${METADATA_URI}'`);
}

/** Returns whether a record is empty: a definition needs no element for it. */
export function isEmptyRecord({ resetNvram, later, unknown, ...others }: MachineRecord): boolean {
  const isSet = resetNvram || unknown.length > 0 || Object.keys(later).length > 0;
  return !isSet && Object.values(others).every((value) => value === null);
}

/** Returns the element of the record in a domain, or undefined. */
export function findRecord<E extends XmlElementOf<E>>(root: E): E | undefined {
  return child(root, 'metadata')?.nodes.find(
    (node): node is E => node.kind === 'element' && node.namespace === METADATA_URI,
  );
}

/** Returns whether an element has the form of version 0.1. */
export function isOldForm(element: XmlElement | undefined): boolean {
  return element !== undefined && versionOf(element) === 1;
}

/**
 * Rejects an overwrite of data that this version cannot read.
 * @throws {DriverError} conflict.
 */
export function checkVersion(root: XmlElement, present: XmlElement | undefined): void {
  if (present === undefined || versionOf(present) <= VERSION) return;
  const name = child(root, 'name')?.text ?? '';
  const why = `its metadata has version ${versionOf(present)}, and this service knows versions up to ${VERSION}`;
  throw new DriverError('conflict', `changing machine ${name}: ${why}`);
}

/** Returns the version of the form: 1 for version 0.1. */
function versionOf(element: XmlElement): number {
  return Number(attribute(element, 'version') ?? 1);
}

function readElement(document: XmlDocument, element: ParsedElement | undefined): MachineRecord {
  if (element === undefined) return emptyRecord;
  if (versionOf(element) === 1) return readVersion1(document, element);
  const members = jsonMembers(element.text);
  const known = Object.entries(memberSchemas).flatMap(([name, schema]) => {
    const value = schema.safeParse(members.get(name)).data;
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    ...emptyRecord,
    ...Object.fromEntries(known),
    later: Object.fromEntries([...members].filter(([name]) => !Object.hasOwn(memberSchemas, name))),
    unknown: element.nodes.flatMap((node) => (node.kind === 'element' ? [withoutPrefix(document, element, node)] : [])),
  };
}

/** Returns the members of a JSON object; none for any other text, such as one edited by hand. */
function jsonMembers(text: string): ReadonlyMap<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
    return new Map(isMap ? Object.entries(value) : []);
  } catch {
    return new Map();
  }
}

function render({ later, unknown, ...record }: MachineRecord, prefix: string, namespace: string): string {
  const members = Object.entries(record).filter(([, value]) => value !== null && value !== false);
  const json = JSON.stringify({ ...Object.fromEntries(members), ...later });
  // XML has no such characters, not even as references.
  const text = json.replace(/[\uFFFE\uFFFF]/g, (character) => `\\u${character.charCodeAt(0).toString(16)}`);
  const children = unknown.map((markup) => withPrefix(markup, prefix)).join('');
  // On one line: libvirt adds line breaks, and line breaks inside `unknown` must stay.
  return `<${prefix}machine${namespace} version='${VERSION}'>${encodeText(text)}${children}</${prefix}machine>`;
}
