/** `$expand`: resources in place of the links to them (DSP0266, $expand). */
import { refuse, RedfishError } from '../errors.js';
import { isArray, isObject, type Json, type JsonObject } from '../json.js';
import { message, renderMessage, withDetail } from '../messages.js';
import type { Expand, ExpandScope } from './parse.js';

/**
 * The resource behind a link, with the privileges of who asks; undefined for what is no resource.
 * @throws {RedfishError}
 */
export type ReadLink = (uri: string) => Promise<JsonObject | undefined>;

/**
 * Resources that one answer holds at most: `$expand=*($levels=6)` on two hundred machines would be every resource of the
 * service several times over.
 */
export const maximumResources = 5000;
/** Read at the same time: enough to keep a host busy, and few enough to leave room for everybody else. */
const atOnce = 8;

/** Reads links for one answer: counts them, and reads only so many at once. */
export class LinkReader {
  readonly #read: ReadLink;
  readonly #signal: AbortSignal;
  #count = 0;

  /** @param signal aborted when the client goes away, which ends the reading. */
  constructor(read: ReadLink, signal: AbortSignal) {
    this.#read = read;
    this.#signal = signal;
  }

  /** @throws {RedfishError} 507 where the answer becomes too large (DSP0266, HTTP status codes); what reading throws. */
  async readAll(uris: readonly string[]): Promise<readonly (JsonObject | undefined)[]> {
    this.#add(uris.length);
    const found: (JsonObject | undefined)[] = [];
    for (let index = 0; index < uris.length; index += atOnce) {
      // Nobody is there any more to be answered.
      if (this.#signal.aborted) throw refuse('OperationFailed');
      const read = await Promise.all(uris.slice(index, index + atOnce).map((uri) => this.#one(uri)));
      // A log holds its entries itself.
      for (const resource of read) this.#add(resource === undefined ? 0 : wholeMembers(resource));
      found.push(...read);
    }
    return found;
  }

  #add(resources: number): void {
    this.#count += resources;
    if (this.#count <= maximumResources) return;
    const fault = withDetail(
      message('InsufficientStorage'),
      `The answer would hold more than ${maximumResources} resources: ask for fewer levels, or a part with $top and $skip.`,
    );
    throw new RedfishError(507, [fault]);
  }

  /** A resource that this user may not see, or that is gone by now, stays a link that says so. Everything else ends the request. */
  async #one(uri: string): Promise<JsonObject | undefined> {
    try {
      return await this.#read(uri);
    } catch (error) {
      if (!(error instanceof RedfishError) || (error.status !== 403 && error.status !== 404)) throw error;
      return { '@odata.id': uri, '@Message.ExtendedInfo': error.messages.map(renderMessage) };
    }
  }
}

function wholeMembers({ Members: members }: JsonObject): number {
  return isArray(members) ? members.filter((member) => linkOf(member) === undefined).length : 0;
}

/** The resource with what its links lead to in their places. A link to one of the resources that it stands in stays a link. */
export async function expandLinks(body: JsonObject, expand: Expand, reader: LinkReader): Promise<JsonObject> {
  return expandWithin(body, expand, reader, [uriOf(body)]);
}

async function expandWithin(
  body: JsonObject,
  { scope, levels }: Expand,
  reader: LinkReader,
  within: readonly (string | undefined)[],
): Promise<JsonObject> {
  const uris = [...new Set(linksIn(body, scope, false))].filter((uri) => !within.includes(uri));
  const read = await reader.readAll(uris);
  const found = new Map<string, JsonObject>();
  for (const [index, uri] of uris.entries()) {
    const resource = read[index];
    if (resource === undefined) continue;
    // One after the other: each level reads so many at once already.
    const deeper =
      levels === 1 ? resource : await expandWithin(resource, { scope, levels: levels - 1 }, reader, [...within, uri]);
    found.set(uri, deeper);
  }
  return found.size === 0 ? body : replaceLinks(body, scope, false, found);
}

/** What is a link and nothing else. One into a resource (`#/Temperatures/0`) is no link to a resource. */
function linkOf(value: Json | undefined): string | undefined {
  if (!isObject(value)) return undefined;
  const uri = uriOf(value);
  return uri !== undefined && !uri.includes('#') && Object.keys(value).length === 1 ? uri : undefined;
}

function uriOf({ '@odata.id': uri }: JsonObject): string | undefined {
  return typeof uri === 'string' ? uri : undefined;
}

function isWanted(scope: ExpandScope, inLinks: boolean): boolean {
  return scope === '*' || (scope === '~') === inLinks;
}

function linksIn(value: Json | undefined, scope: ExpandScope, inLinks: boolean): readonly string[] {
  const link = linkOf(value);
  if (link !== undefined) return isWanted(scope, inLinks) ? [link] : [];
  if (isArray(value)) return value.flatMap((item) => linksIn(item, scope, inLinks));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => linksIn(member, scope, inLinks || name === 'Links'));
}

function replaceLinks(
  object: JsonObject,
  scope: ExpandScope,
  inLinks: boolean,
  found: ReadonlyMap<string, JsonObject>,
): JsonObject {
  const replaced = (value: Json, inside: boolean): Json => {
    const link = linkOf(value);
    if (link !== undefined) return (isWanted(scope, inside) ? found.get(link) : undefined) ?? value;
    if (isArray(value)) return value.map((item) => replaced(item, inside));
    return isObject(value) ? replaceLinks(value, scope, inside, found) : value;
  };
  return Object.fromEntries(
    Object.entries(object).flatMap(([name, value]): [string, Json][] =>
      value === undefined ? [] : [[name, replaced(value, inLinks || name === 'Links')]],
    ),
  );
}
