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
import { parseXml, type XmlDocument } from '../parse.js';
import { attribute, child, type XmlElement } from '../tree.js';
import { applySplices, insertChild, removeElement, replaceElement } from '../splice.js';
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

/**
 * Reads the record in a domain's XML. A member with an unknown format reads as never set, because a
 * mistake in edited metadata must not make a machine unreadable.
 */
export function readMetadata(xml: string | XmlDocument): MachineRecord {
  const document = typeof xml === 'string' ? parseXml(xml) : xml;
  const element = findElement(document);
  if (element === undefined) return emptyRecord;
  return versionOf(element) === 1 ? readVersion1(document, element) : readRecord(document, element);
}

/**
 * Returns the markup for virDomainSetMetadata, without prefixes: libvirt sets the namespace itself.
 */
export function renderMetadata(record: MachineRecord): string {
  return render(record, '', '');
}

/**
 * Returns the definition with this record instead of its present record. Adds no `<metadata>` for
 * an empty record.
 * @throws {DriverError} conflict, if a later service has written the record in a later form.
 */
export function withMetadata(xml: string, record: MachineRecord): string {
  const document = parseXml(xml);
  const existing = findElement(document);
  checkVersion(document, existing);
  if (isEmpty(record)) return existing === undefined ? xml : applySplices(xml, [removeElement(document, existing)]);
  const markup = render(record, `${METADATA_PREFIX}:`, ` xmlns:${METADATA_PREFIX}='${METADATA_URI}'`);
  if (existing !== undefined) return applySplices(xml, [replaceElement(existing, markup)]);
  const metadata = child(document.root, 'metadata');
  if (metadata !== undefined) return applySplices(xml, [insertChild(document, metadata, markup)]);
  const lines = ['<metadata>', `  ${markup}`, '</metadata>'];
  // libvirt writes <metadata> after these elements.
  const names = ['description', 'title', 'genid', 'uuid', 'name'];
  const after = names.map((name) => child(document.root, name)).find((element) => element !== undefined);
  return applySplices(xml, [insertChild(document, document.root, lines, after ?? null)]);
}

/** Returns the definition with a changed record; the same text if nothing changes. */
export function withRecord(xml: string, edit: (record: MachineRecord) => MachineRecord): string {
  const record = readMetadata(xml);
  const changed = edit(record);
  return changed === record ? xml : withMetadata(xml, changed);
}

/** Returns the definition with its record in the present form; the same text if it has that form. */
export function withPresentForm(xml: string): string {
  const document = parseXml(xml);
  const element = findElement(document);
  if (element === undefined || versionOf(element) !== 1) return xml;
  return withMetadata(xml, readVersion1(document, element));
}

/** Returns whether the record is empty. */
function isEmpty({ resetNvram, later, unknown, ...others }: MachineRecord): boolean {
  const isSet = resetNvram || unknown.length > 0 || Object.keys(later).length > 0;
  return !isSet && Object.values(others).every((value) => value === null);
}

function findElement({ root }: XmlDocument): XmlElement | undefined {
  return child(root, 'metadata')?.nodes.find(
    (node): node is XmlElement => node.kind === 'element' && node.namespace === METADATA_URI,
  );
}

/** Returns the version of the form: 1 for version 0.1. */
function versionOf(element: XmlElement): number {
  return Number(attribute(element, 'version') ?? 1);
}

/** Rejects an overwrite of data that this version cannot read. */
function checkVersion({ root }: XmlDocument, existing: XmlElement | undefined): void {
  if (existing === undefined || versionOf(existing) <= VERSION) return;
  const name = child(root, 'name')?.text ?? '';
  const why = `its metadata has version ${versionOf(existing)}, and this service knows versions up to ${VERSION}`;
  throw new DriverError('conflict', `changing machine ${name}: ${why}`);
}

function readRecord(document: XmlDocument, element: XmlElement): MachineRecord {
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
