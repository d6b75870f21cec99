/** `$expand`: resources in place of the links to them (DSP0266, $expand). */
import { toRedfishError } from '../driver-errors.js';
import { refuse, RedfishError } from '../errors.js';
import { isArray, isObject, type Json, type JsonObject } from '../json.js';
import { message, renderMessage, withDetail } from '../messages.js';
import type { Expand, ExpandScope } from './parse.js';
import type { Pace } from './pace.js';

/**
 * The resource behind a link, with the privileges of who asks; undefined for what is no resource.
 * @throws {RedfishError}
 */
export type ReadLink = (uri: string) => Promise<JsonObject | undefined>;

/** Resources that one answer holds at most: `$expand=*($levels=6)` would be every resource of the service several times over. */
export const maximumResources = 5000;
/** Bytes of JSON that one answer holds at most. */
export const maximumBytes = 32 * 1024 * 1024;
/** Read at the same time: enough to keep a host busy, and few enough to leave room for the requests of others. */
const atOnce = 8;

/** Reads links for one answer: each once, only so many at a time, and not all in one turn of the event loop. */
export class LinkReader {
  readonly #read: ReadLink;
  readonly #signal: AbortSignal;
  readonly #pace: Pace;
  readonly #known = new Map<string, JsonObject | undefined>();
  #count = 0;

  /** @param signal aborted when the client goes away, which ends the reading. */
  constructor(read: ReadLink, signal: AbortSignal, pace: Pace) {
    this.#read = read;
    this.#signal = signal;
    this.#pace = pace;
  }

  /** @throws {RedfishError} 507 where the answer becomes too large (DSP0266, HTTP status codes); what reading throws. */
  async readAll(uris: readonly string[]): Promise<readonly (JsonObject | undefined)[]> {
    // An answer that is too large ends here: many of those must not follow each other in one turn either.
    await this.step();
    this.#add(uris.length);
    const found: (JsonObject | undefined)[] = [];
    for (let index = 0; index < uris.length; index += atOnce) {
      const read = await Promise.all(uris.slice(index, index + atOnce).map((uri) => this.#one(uri)));
      // A log holds its entries itself.
      for (const resource of read) this.#add(resource === undefined ? 0 : wholeMembers(resource));
      found.push(...read);
      await this.step();
    }
    return found;
  }

  /** Lets others come between two steps of the work. @throws {RedfishError} when the client went away. */
  async step(): Promise<void> {
    await this.#pace.step();
    if (this.#signal.aborted) throw refuse('OperationFailed');
  }

  #add(resources: number): void {
    this.#count += resources;
    if (this.#count > maximumResources) throw tooLarge(`${maximumResources} resources`);
  }

  /** A resource that this user may not see, or that went away, stays a link that says so. Everything else ends the request. */
  async #one(uri: string): Promise<JsonObject | undefined> {
    if (this.#known.has(uri)) return this.#known.get(uri);
    const resource = await this.#read(uri).catch((error: unknown): JsonObject => {
      // Of the link, not of the request: a machine that goes away is no reason for a 404 of its collection.
      const failure = toRedfishError(error, { path: uri });
      if (failure.status !== 403 && failure.status !== 404) throw error;
      return { '@odata.id': uri, '@Message.ExtendedInfo': failure.messages.map(renderMessage) };
    });
    this.#known.set(uri, resource);
    return resource;
  }
}

/** @throws {RedfishError} 507 where the text of an answer is too large. */
export function checkBytes(bytes: number): void {
  if (bytes > maximumBytes) throw tooLarge(`${maximumBytes / 1024 / 1024} MiB`);
}

function tooLarge(limit: string): RedfishError {
  const advice = 'ask for fewer levels, or a part with $top and $skip';
  return new RedfishError(507, [
    withDetail(message('InsufficientStorage'), `The answer would hold more than ${limit}: ${advice}.`),
  ]);
}

function wholeMembers({ Members: members }: JsonObject): number {
  return isArray(members) ? members.filter((member) => linkOf(member) === undefined).length : 0;
}

/** A resource with others in it. */
export interface Expanded {
  readonly body: JsonObject;
  /** The objects and arrays in which other resources stand, at any depth. */
  readonly composite: ReadonlySet<Json>;
}

/** The resource with what its links lead to in their places. A link to one of the resources that it stands in stays a link. */
export async function expandLinks(body: JsonObject, expand: Expand, reader: LinkReader): Promise<Expanded> {
  const composite = new Set<Json>();
  return { body: await expandWithin(body, expand, { reader, composite, within: [uriOf(body)] }), composite };
}

interface Place {
  readonly reader: LinkReader;
  readonly composite: Set<Json>;
  /** The resources that this one stands in. */
  readonly within: readonly (string | undefined)[];
}

async function expandWithin(
  body: JsonObject,
  { scope, levels }: Expand,
  { reader, composite, within }: Place,
): Promise<JsonObject> {
  const uris = [...new Set(linksIn(body, scope, false))].filter((uri) => !within.includes(uri));
  const read = await reader.readAll(uris);
  const found = new Map<string, JsonObject>();
  for (const [index, uri] of uris.entries()) {
    const resource = read[index];
    if (resource === undefined) continue;
    const place = { reader, composite, within: [...within, uri] };
    // One after the other: each level reads so many at once already.
    const deeper = levels === 1 ? resource : await expandWithin(resource, { scope, levels: levels - 1 }, place);
    found.set(uri, deeper);
  }
  if (found.size === 0) return body;
  return replaceLinks(body, { isWanted: (inLinks) => isWanted(scope, inLinks), found, composite }, false);
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

interface Replacing {
  readonly isWanted: (inLinks: boolean) => boolean;
  readonly found: ReadonlyMap<string, JsonObject>;
  readonly composite: Set<Json>;
}

/** The same object where nothing in it is replaced. */
function replaceLinks(object: JsonObject, replacing: Replacing, inLinks: boolean): JsonObject {
  let copy: Record<string, Json | undefined> | undefined;
  for (const name of Object.keys(object)) {
    const value = object[name];
    if (value === undefined) continue;
    const next = replaceIn(value, replacing, inLinks || name === 'Links');
    if (next !== value) (copy ??= { ...object })[name] = next;
  }
  if (copy === undefined) return object;
  replacing.composite.add(copy);
  return copy;
}

function replaceIn(value: Json, replacing: Replacing, inLinks: boolean): Json {
  if (typeof value !== 'object' || value === null) return value;
  const link = linkOf(value);
  if (link !== undefined) return (replacing.isWanted(inLinks) ? replacing.found.get(link) : undefined) ?? value;
  if (!isArray(value)) return replaceLinks(value, replacing, inLinks);
  let copy: Json[] | undefined;
  for (const [index, item] of value.entries()) {
    const next = replaceIn(item, replacing, inLinks);
    if (next !== item) (copy ??= [...value])[index] = next;
  }
  if (copy === undefined) return value;
  replacing.composite.add(copy);
  return copy;
}
