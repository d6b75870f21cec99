/** `$expand`: replaces links by the resources that they name (DSP0266, $expand). */
import { toRedfishError } from '../messages/driver-errors.js';
import { redfishError, RedfishError } from '../messages/errors.js';
import { isArray, isObject, type Json, type JsonObject } from '../json.js';
import { message, renderMessage, withDetail } from '../messages/messages.js';
import type { Expand, ExpandScope } from './parse.js';
import type { ExpansionBudget } from './expansion-budget.js';

/**
 * Returns the resource of a link; undefined if the URI has no resource that supports queries.
 * @throws {RedfishError} {DriverError} if the resource cannot be read, for example 403 if the client may
 *   not read it.
 */
export type ReadLink = (uri: string) => Promise<JsonObject | undefined>;

/**
 * Maximum number of resources in one answer. `$expand=*($levels=6)` would contain every resource of
 * the service several times.
 */
export const maximumResources = 5000;
/** Maximum number of bytes of JSON in one answer. */
export const maximumBytes = 32 * 1024 * 1024;
/** Number of parallel reads of one answer: enough to use the host, and few enough for other requests to run. */
const parallelReads = 8;

/**
 * Reads the links of one answer: each link once, a few in parallel, and with pauses for other work
 * of the event loop.
 */
export class LinkReader {
  readonly #read: ReadLink;
  readonly #signal: AbortSignal;
  readonly #budget: Pick<ExpansionBudget, 'pace' | 'limits'>;
  readonly #known = new Map<string, JsonObject | undefined>();
  readonly #failures = new Map<string, RedfishError>();
  #count = 0;
  #hasRead = false;
  /** Number of reads that failed with 503. */
  #silentReads = 0;
  /** Total time of the batches with such reads. */
  #silentMs = 0;

  /** @param signal aborted if the client disconnects, which stops the reader. */
  constructor(read: ReadLink, signal: AbortSignal, budget: Pick<ExpansionBudget, 'pace' | 'limits'>) {
    this.#read = read;
    this.#signal = signal;
    this.#budget = budget;
  }

  /**
   * Reads links, a few in parallel. Returns the resources in the order of the links. Stops reading if reads have
   * waited too long for a host that does not answer; the rest then are links with this reason.
   * @throws {RedfishError} 507 if the answer becomes too large (DSP0266, HTTP status codes);
   *   OperationFailed if the client has disconnected; 503 if it stops reading before it could read a link.
   */
  async readAll(uris: readonly string[]): Promise<readonly (JsonObject | undefined)[]> {
    // Pause first, because the next line may reject the answer: many rejected answers in a row must
    // not block the event loop.
    await this.step();
    this.#add(uris.length);
    const resourcesInOrder: (JsonObject | undefined)[] = [];
    for (let index = 0; index < uris.length; index += parallelReads) {
      const resources = await this.#readBatch(uris.slice(index, index + parallelReads));
      // The collection of a log contains whole entries, not links. Each entry counts as a resource.
      for (const resource of resources) this.#add(resource === undefined ? 0 : embeddedMemberCount(resource));
      resourcesInOrder.push(...resources);
      await this.step();
    }
    return resourcesInOrder;
  }

  /**
   * Lets other work run between two steps.
   * @throws {RedfishError} if the client has disconnected.
   */
  async step(): Promise<void> {
    await this.#budget.pace.step();
    if (this.#signal.aborted) throw redfishError('OperationFailed');
  }

  /** The failures of the service so far, by URI. */
  get failures(): ReadonlyMap<string, RedfishError> {
    return this.#failures;
  }

  /** @throws {RedfishError} 503, if no link could be read, and at least one read failed with 503. */
  assertAvailable(): void {
    if (this.#hasRead) return;
    for (const failure of this.#failures.values()) if (failure.status === 503) throw failure;
  }

  #add(resources: number): void {
    this.#count += resources;
    if (this.#count > maximumResources) throw tooLargeError(`${maximumResources} resources`);
  }

  async #readBatch(uris: readonly string[]): Promise<readonly (JsonObject | undefined)[]> {
    const silentBefore = this.#silentReads;
    const beginMs = performance.now();
    const resources = await Promise.all(uris.map((uri) => this.#readOne(uri)));
    if (this.#silentReads > silentBefore) this.#silentMs += performance.now() - beginMs;
    if (this.#hasWaitedTooLong) this.assertAvailable();
    return resources;
  }

  get #hasWaitedTooLong(): boolean {
    return this.#silentMs > this.#budget.limits.silentMs;
  }

  /** Reads one link. If this fails, returns the link with the reason, so that one resource cannot break the answer. */
  async #readOne(uri: string): Promise<JsonObject | undefined> {
    if (this.#known.has(uri)) return this.#known.get(uri);
    const reading = this.#hasWaitedTooLong ? Promise.reject(notReadError()) : this.#read(uri);
    const resource = await reading.then(
      (read) => {
        this.#hasRead ||= read !== undefined;
        return read;
      },
      (error: unknown): JsonObject => {
        const failure = toRedfishError(error, { path: uri });
        // The user may not read the resource, or it does not exist anymore: the service did not fail.
        if (failure.status !== 403 && failure.status !== 404) this.#failures.set(uri, failure);
        if (failure.status === 503) this.#silentReads += 1;
        return { '@odata.id': uri, '@Message.ExtendedInfo': failure.messages.map(renderMessage) };
      },
    );
    this.#known.set(uri, resource);
    return resource;
  }
}

/**
 * Checks the size of an answer's text.
 * @throws {RedfishError} 507.
 */
export function checkBytes(bytes: number): void {
  if (bytes > maximumBytes) throw tooLargeError(`${maximumBytes / 1024 / 1024} MiB`);
}

/** Returns the reason for a link that the service does not read, because too many reads got no answer. */
function notReadError(): RedfishError {
  const fault = message('ServiceTemporarilyUnavailable', '5');
  return new RedfishError(503, [withDetail(fault, 'Not read, because earlier reads waited too long for an answer.')]);
}

function tooLargeError(limit: string): RedfishError {
  const advice = 'ask for fewer levels, or a part with $top and $skip';
  return new RedfishError(507, [
    withDetail(message('InsufficientStorage'), `The answer would hold more than ${limit}: ${advice}.`),
  ]);
}

function embeddedMemberCount({ Members: members }: JsonObject): number {
  return isArray(members) ? members.filter((member) => linkOf(member) === undefined).length : 0;
}

/** A resource that contains other resources. */
interface Expanded {
  readonly body: JsonObject;
  /** The objects and arrays that contain other resources, at any depth. */
  readonly composite: ReadonlySet<Json>;
}

/**
 * Replaces the links of a resource by the resources that they name. A link stays a link if the resource that it
 * names contains this link, at any depth, or does not support queries. A link that cannot be read stays a link, with
 * the reason.
 * @throws as {@link LinkReader.readAll} and {@link LinkReader.assertAvailable}.
 */
export async function expandLinks(body: JsonObject, expand: Expand, reader: LinkReader): Promise<Expanded> {
  const composite = new Set<Json>();
  const expanded = await expandWithin(body, expand, { reader, composite, within: [uriOf(body)] });
  reader.assertAvailable();
  return { body: expanded, composite };
}

/** Context of the expansion of one resource. */
interface ExpansionContext {
  readonly reader: LinkReader;
  readonly composite: Set<Json>;
  /** The URIs of the current resource and of the resources that contain it. */
  readonly within: readonly (string | undefined)[];
}

async function expandWithin(
  body: JsonObject,
  { scope, levels }: Expand,
  { reader, composite, within }: ExpansionContext,
): Promise<JsonObject> {
  const uris = [...new Set(linksIn(body, scope, false))].filter((uri) => !within.includes(uri));
  const resources = await reader.readAll(uris);
  const byUri = new Map<string, JsonObject>();
  for (const [index, uri] of uris.entries()) {
    const resource = resources[index];
    if (resource === undefined) continue;
    const context = { reader, composite, within: [...within, uri] };
    // Expands one resource after the other, because each level already reads several links at once.
    const deeper = levels === 1 ? resource : await expandWithin(resource, { scope, levels: levels - 1 }, context);
    byUri.set(uri, deeper);
  }
  if (byUri.size === 0) return body;
  return replaceLinks(body, { isWanted: (inLinks) => isWanted(scope, inLinks), found: byUri, composite }, false);
}

/**
 * Returns the URI of an object that is only a link; undefined for any other value. A link with a fragment
 * (`#/Temperatures/0`) does not name a resource.
 */
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

/** Replaces the links of an object. Returns the same object if none is replaced. */
function replaceLinks(object: JsonObject, replacing: Replacing, inLinks: boolean): JsonObject {
  let copy: Record<string, Json | undefined> | undefined;
  for (const name of Object.keys(object)) {
    const value = object[name];
    if (value === undefined) continue;
    const replaced = replaceIn(value, replacing, inLinks || name === 'Links');
    if (replaced !== value) (copy ??= { ...object })[name] = replaced;
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
    const replaced = replaceIn(item, replacing, inLinks);
    if (replaced !== item) (copy ??= [...value])[index] = replaced;
  }
  if (copy === undefined) return value;
  replacing.composite.add(copy);
  return copy;
}
