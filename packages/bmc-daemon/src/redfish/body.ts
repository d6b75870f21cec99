/** A request's body, from bytes to a JSON object. */
import type { IncomingMessage } from 'node:http';
import { checkStructure } from './body-limits.js';
import { RedfishError, refuse } from './errors.js';
import { message } from './messages.js';
import { isArray, isObject, type Json, type JsonObject } from './json.js';

/** 1 MiB: a hundred times the largest body that any resource takes. */
export const maximumBodyBytes = 1024 * 1024;
/**
 * 16 KiB, for a client that has not logged in. It is also what every request may hold in memory without asking: 10,000 clients that
 * send slowly hold 160 MiB.
 */
export const freeBodyBytes = 16 * 1024;
/** All bodies that are being read, as far as each is above {@link freeBodyBytes}. */
const sharedBytes = 64 * maximumBodyBytes;
/**
 * Pieces in which a body may arrive. Each costs a call, even if it is one byte: 1 MiB of chunks of one byte took seconds. An honest
 * client of a slow network sends 1 MiB in 2,000 pieces (536 bytes of payload in a TCP segment).
 */
const mostPieces = 4096;
const retryAfterSeconds = 1;

/**
 * Reads a body. Its `@odata.*` members are left out: they say nothing that the service acts on (DSP0266, PATCH), but for links.
 * @param limit in bytes, {@link maximumBodyBytes} at most.
 * @returns undefined for an empty one, whatever its content type.
 * @throws {RedfishError} 413 PayloadTooLarge, 415 for anything but JSON, 400 MalformedJSON, 400 UnrecognizedRequestBody for
 * JSON that is no object, 400 StringValueTooLong, 503 while other clients send more large bodies than the service holds.
 */
export type ReadBody = (request: IncomingMessage, limit?: number) => Promise<JsonObject | undefined>;

/** The reader of one service, whose bodies share memory. */
export function createBodyReader(): ReadBody {
  const memory = { left: sharedBytes };
  return async (request, limit = maximumBodyBytes) => {
    const declared = Number(request.headers['content-length'] ?? 0);
    if (declared > limit) throw refuse('PayloadTooLarge');
    const collector = new Collector(memory, limit);
    try {
      const bytes = await collect(request, collector);
      if (bytes.length === 0) return undefined;
      requireJson(request.headers['content-type']);
      checkStructure(bytes);
      const parsed = parse(bytes);
      if (!isObject(parsed)) throw refuse('UnrecognizedRequestBody');
      return withoutAnnotations(parsed);
    } finally {
      collector.release();
    }
  };
}

/** The bytes of a body in one buffer that grows: a buffer for each piece would cost a hundred times a piece of one byte. */
class Collector {
  readonly #memory: { left: number };
  readonly #limit: number;
  #bytes = Buffer.alloc(0);
  #length = 0;
  #pieces = 0;
  #borrowed = 0;

  constructor(memory: { left: number }, limit: number) {
    this.#memory = memory;
    this.#limit = limit;
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Adds a piece, or returns why the body is refused. */
  add(piece: Buffer): RedfishError | undefined {
    const length = this.#length + piece.length;
    this.#pieces += 1;
    if (length > this.#limit) return refuse('PayloadTooLarge');
    if (this.#pieces > mostPieces) return new RedfishError(413, [message('PayloadTooLarge')], { Connection: 'close' });
    if (length > this.#bytes.length && !this.#grow(Math.min(Math.max(2 * length, 1024), this.#limit))) {
      const seconds = String(retryAfterSeconds);
      return new RedfishError(503, [message('ServiceTemporarilyUnavailable', seconds)], { 'Retry-After': seconds });
    }
    piece.copy(this.#bytes, this.#length);
    this.#length = length;
    return undefined;
  }

  /** Gives the memory back. What is added later is thrown away. */
  release(): void {
    this.#memory.left += this.#borrowed;
    this.#borrowed = 0;
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
  }

  /** Returns whether there is memory left for it. */
  #grow(capacity: number): boolean {
    const borrowed = Math.max(0, capacity - freeBodyBytes);
    const more = borrowed - this.#borrowed;
    if (more > this.#memory.left) return false;
    this.#memory.left -= more;
    this.#borrowed = borrowed;
    const bytes = Buffer.allocUnsafe(capacity);
    this.bytes.copy(bytes);
    this.#bytes = bytes;
    return true;
  }
}

function collect(request: IncomingMessage, collector: Collector): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const add = (piece: Buffer): void => {
      const refusal = collector.add(piece);
      if (refusal === undefined) return;
      request.off('data', add);
      // The rest is read and thrown away: a client whose connection is closed while it sends loses the answer. The exception is a
      // client that would go on with single bytes.
      if (refusal.headers['Connection'] === 'close') request.pause();
      else request.resume();
      reject(refusal);
    };
    const fail = (error: unknown): void => {
      reject(new RedfishError(400, [message('UnrecognizedRequestBody')], {}, error));
    };
    request.on('data', add);
    request.on('end', () => resolve(collector.bytes));
    request.on('error', fail);
    // The client went away while its log-in was verified: no further event comes, and nothing would ever be logged or released.
    if (request.destroyed) fail(request.errored);
  });
}

/** A body without a type is taken for JSON, as nothing else can be meant. */
function requireJson(contentType: string | undefined): void {
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
 * Prototype of every object in a body: nothing is inherited from `Object`, and a client cannot take the conversion to a primitive
 * value away. `{"length": {"toString": 1}}` where a string is expected made zod's check of the length throw.
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

/** `{"@odata.id": uri}` below the top says which resource a property names. */
function isLink(value: JsonObject): boolean {
  const names = Object.keys(value);
  return names.length === 1 && names[0] === '@odata.id';
}
