/** Reads a request's body: from bytes to a JSON object. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { checkStructure } from './body-limits.js';
import { RedfishError, redfishError } from '../messages/errors.js';
import { message } from '../messages/messages.js';
import { isArray, isObject, type Json, type JsonObject } from '../json.js';

/** 1 MiB: 16 times the longest text that a resource accepts, a PEM text of 64 KiB. */
export const maximumBodyBytes = 1024 * 1024;
/**
 * 16 KiB: the part of each body that does not count against the shared budget, and the limit for the
 * body of a request that needs no login. The bodies of 10,000 slow clients then use at most 160 MiB.
 */
export const unsharedBodyBytes = 16 * 1024;
/**
 * The shared budget: maximum memory in bytes for all bodies in progress together, without the first
 * {@link unsharedBodyBytes} of each.
 */
const sharedBytes = 64 * maximumBodyBytes;
/**
 * Maximum number of chunks of a body. Each chunk costs a call: 1 MiB in chunks of one byte would take
 * seconds. A slow network sends 1 MiB in 2,000 chunks (536 bytes of payload in a TCP segment).
 */
const maxChunks = 4096;
const retryAfterSeconds = 1;

/**
 * Reads a body. Removes members with `@odata.` in their name, which do not change what the service does
 * (DSP0266, PATCH). A nested object with `@odata.id` as its only member is a link and is not changed.
 * @param limit in bytes. Default and maximum: {@link maximumBodyBytes}.
 * @returns undefined for an empty body, whatever its content type.
 * @throws {RedfishError} 413 PayloadTooLarge, 415 for a compressed body or a content type other than JSON, 400
 *   MalformedJSON, 400 UnrecognizedRequestBody for JSON that is not an object and for a client that
 *   disconnects, 400 StringValueTooLong or ArraySizeTooLong, 503 while the bodies of other clients
 *   use the whole budget.
 */
export type ReadBody = (request: IncomingMessage, limit?: number) => Promise<JsonObject | undefined>;

/** Returns a reader. All bodies that it reads share one memory budget. */
export function createBodyReader(): ReadBody {
  const memory = { left: sharedBytes };
  return async (request, limit = maximumBodyBytes) => {
    const declared = Number(request.headers['content-length'] ?? 0);
    if (declared > limit) throw redfishError('PayloadTooLarge');
    const collector = new Collector(memory, limit);
    try {
      const bytes = await collect(request, collector);
      if (bytes.length === 0) return undefined;
      requireJson(request.headers);
      checkStructure(bytes);
      const parsed = parse(bytes);
      if (!isObject(parsed)) throw redfishError('UnrecognizedRequestBody');
      return withoutAnnotations(parsed);
    } finally {
      collector.release();
    }
  };
}

/**
 * A body in one growing buffer. One buffer for each chunk would cost a hundred times the size of a
 * one-byte chunk.
 */
class Collector {
  readonly #memory: { left: number };
  readonly #limit: number;
  #bytes = Buffer.alloc(0);
  #length = 0;
  #chunks = 0;
  #borrowed = 0;

  constructor(memory: { left: number }, limit: number) {
    this.#memory = memory;
    this.#limit = limit;
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Adds a chunk. Returns an error if the body must be rejected, otherwise undefined. */
  add(chunk: Buffer): RedfishError | undefined {
    const length = this.#length + chunk.length;
    this.#chunks += 1;
    if (length > this.#limit) return redfishError('PayloadTooLarge');
    if (this.#chunks > maxChunks) return new RedfishError(413, [message('PayloadTooLarge')], { Connection: 'close' });
    if (length > this.#bytes.length && !this.#grow(Math.min(Math.max(2 * length, 1024), this.#limit))) {
      const seconds = String(retryAfterSeconds);
      return new RedfishError(503, [message('ServiceTemporarilyUnavailable', seconds)], { 'Retry-After': seconds });
    }
    chunk.copy(this.#bytes, this.#length);
    this.#length = length;
    return undefined;
  }

  /** Returns the memory to the budget and drops the bytes. */
  release(): void {
    this.#memory.left += this.#borrowed;
    this.#borrowed = 0;
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
  }

  /** Enlarges the buffer to the given number of bytes. Returns false if the budget is used up. */
  #grow(capacity: number): boolean {
    const borrowed = Math.max(0, capacity - unsharedBodyBytes);
    const additional = borrowed - this.#borrowed;
    if (additional > this.#memory.left) return false;
    this.#memory.left -= additional;
    this.#borrowed = borrowed;
    const bytes = Buffer.allocUnsafe(capacity);
    this.bytes.copy(bytes);
    this.#bytes = bytes;
    return true;
  }
}

function collect(request: IncomingMessage, collector: Collector): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const add = (chunk: Buffer): void => {
      const fault = collector.add(chunk);
      if (fault === undefined) return;
      request.off('data', add);
      // Read and drop the rest: a client loses the answer if its connection closes while it sends.
      // Exception: after too many chunks (`Connection: close`), read no more, because the rest
      // could take very long.
      if (fault.headers['Connection'] === 'close') request.pause();
      else request.resume();
      reject(fault);
    };
    const fail = (error: unknown): void => {
      reject(new RedfishError(400, [message('UnrecognizedRequestBody')], {}, error));
    };
    request.on('data', add);
    request.on('end', () => resolve(collector.bytes));
    request.on('error', fail);
    // If the client disconnected during the login, no further event comes, so report the error here.
    if (request.destroyed) fail(request.errored);
  });
}

/** Rejects a compressed body, and a content type other than JSON in UTF-8. A body without a type counts as JSON. */
function requireJson({ 'content-type': contentType, 'content-encoding': coding }: IncomingHttpHeaders): void {
  if (coding !== undefined && /gzip|deflate|compress|\bbr\b|zstd/i.test(coding)) {
    // RFC 9110 §12.5.3: the answer names the codings that the service accepts.
    throw new RedfishError(415, [message('HeaderInvalid', 'Content-Encoding')], { 'Accept-Encoding': 'identity' });
  }
  const [type = '', ...parameters] = (contentType ?? 'application/json').toLowerCase().split(';');
  const charset = parameters
    .map((parameter) => parameter.trim())
    .find((parameter) => parameter.startsWith('charset='))
    ?.slice('charset='.length);
  const readable = ['utf-8', '"utf-8"', 'us-ascii', '"us-ascii"', '', undefined].includes(charset);
  if (type.trim() !== 'application/json' || !readable) {
    throw new RedfishError(415, [message('HeaderInvalid', 'Content-Type')], { Accept: 'application/json' });
  }
}

function parse(bytes: Buffer): Json {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as Json;
  } catch (error) {
    throw new RedfishError(400, [message('MalformedJSON')], {}, error);
  }
}

/**
 * Prototype of every object in a body. It inherits nothing from `Object`, and a client cannot
 * replace the conversion to a primitive value. Otherwise, `{"length": {"toString": 1}}` in place of a
 * string would make zod's length check throw.
 */
const bodyPrototype: object = Object.freeze(
  Object.create(null, { [Symbol.toPrimitive]: { value: () => '{…}' } }) as object,
);

function withoutAnnotations(object: JsonObject): JsonObject {
  return bodyObject(Object.entries(object).filter(([name]) => !name.includes('@odata.')));
}

function bodyObject(members: readonly (readonly [string, Json | undefined])[]): JsonObject {
  const object = Object.create(bodyPrototype) as Record<string, Json | undefined>;
  for (const [name, value] of members) object[name] = value === undefined ? value : strip(value);
  return object;
}

function strip(value: Json): Json {
  if (isArray(value)) return value.map(strip);
  if (!isObject(value)) return value;
  return isLink(value) ? bodyObject(Object.entries(value)) : withoutAnnotations(value);
}

/** Returns whether the object is a link, `{"@odata.id": uri}`, which names a resource. */
function isLink(value: JsonObject): boolean {
  const names = Object.keys(value);
  return names.length === 1 && names[0] === '@odata.id';
}
