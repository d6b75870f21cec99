/**
 * The format of the daemon's records in metadata: an element that contains one JSON text and has a
 * version. The version does not change when a member is added. A member with an unknown format is
 * ignored, as if it was never set. So a mistake of a user who edits metadata does not make a machine
 * unreadable.
 */
import type { z } from 'zod';
import { DriverError } from '../../../driver-error.js';
import { encodeText } from '../escape.js';
import { attribute, child, type XmlElement, type XmlElementOf } from '../tree.js';

/**
 * The version of this format. Version 0.1 of the daemon wrote no version number, and used a
 * different format for each record.
 */
const VERSION = 2;

/** Returns the version of an element: 1 for version 0.1 of the daemon. */
export function versionOf(element: Pick<XmlElement, 'attributes'>): number {
  return Number(attribute(element, 'version') ?? 1);
}

/** Returns the element of a namespace in a domain's metadata, or undefined. */
export function findInMetadata<E extends XmlElementOf<E>>(root: E, namespace: string): E | undefined {
  return child(root, 'metadata')?.nodes.find(
    (node): node is E => node.kind === 'element' && node.namespace === namespace,
  );
}

/**
 * Throws if a newer version of the daemon has written the data in a format that this version cannot read. So
 * this version does not overwrite the data.
 * @param what names the data, `its metadata`.
 * @throws {DriverError} conflict, for a newer version, and for a version that is not a number.
 */
export function checkVersion(root: XmlElement, element: XmlElement | undefined, what: string): void {
  if (element === undefined || versionOf(element) <= VERSION) return;
  const name = child(root, 'name')?.text ?? '';
  const why = `${what} has version ${versionOf(element)}, and this service knows versions up to ${VERSION}`;
  throw new DriverError('conflict', `changing machine ${name}: ${why}`);
}

/**
 * Reads the members of an element.
 * @returns `known`: valid members of the schemas; `later`: all members without a schema, which a
 *   newer version of the daemon may have added.
 */
export function readMembers<Schemas extends Readonly<Record<string, z.ZodType>>>(
  { text }: Pick<XmlElement, 'text'>,
  schemas: Schemas,
) {
  const members = jsonMembers(text);
  const known = Object.entries(schemas).flatMap(([name, schema]) => {
    const { data } = schema.safeParse(members.get(name));
    return data === undefined ? [] : [[name, data] as const];
  });
  return {
    // Each value is the result of the schema with its name.
    known: Object.fromEntries(known) as { readonly [Name in keyof Schemas]?: z.output<Schemas[Name]> },
    later: Object.fromEntries([...members].filter(([name]) => !Object.hasOwn(schemas, name))),
  };
}

/** Returns the members of a JSON object; none for any other text, which a user may have written. */
function jsonMembers(text: string): ReadonlyMap<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value);
    return new Map(isMap ? Object.entries(value) : []);
  } catch {
    return new Map();
  }
}

/**
 * Returns the markup of an element on one line, because libvirt itself adds the line breaks around it.
 * @param name the name with its prefix, such as `rackless:machine`.
 * @param options.namespace declares the prefix; absent: libvirt declares it.
 * @param options.children markup after the text.
 */
export function jsonElement(
  name: string,
  members: object,
  { namespace = null, children = '' }: { readonly namespace?: string | null; readonly children?: string } = {},
): string {
  const [prefix] = name.split(':');
  const declaration = namespace === null ? '' : ` xmlns:${prefix ?? ''}='${namespace}'`;
  // XML cannot contain these characters, not even as references.
  const text = JSON.stringify(members).replace(
    /[\uFFFE\uFFFF]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16)}`,
  );
  return `<${name}${declaration} version='${VERSION}'>${encodeText(text)}${children}</${name}>`;
}
