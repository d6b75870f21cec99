/** A request's body, from bytes to a JSON object. */
import type { IncomingMessage } from 'node:http';
import { RedfishError, refuse } from './errors.js';
import { message } from './messages.js';
import { isArray, isObject, type Json, type JsonObject } from './json.js';

/** 1 MiB: a hundred times the largest body that any resource takes. */
export const maximumBodyBytes = 1024 * 1024;

/**
 * Reads the body. Its `@odata.*` members are left out: they say nothing that the service acts on (DSP0266, PATCH), but for links.
 * @returns undefined for an empty one, whatever its content type.
 * @throws {RedfishError} 413 PayloadTooLarge, 415 for anything but JSON, 400 MalformedJSON, 400 UnrecognizedRequestBody for
 * JSON that is no object.
 */
export async function readBody(request: IncomingMessage): Promise<JsonObject | undefined> {
  const declared = Number(request.headers['content-length'] ?? 0);
  if (declared > maximumBodyBytes) throw refuse('PayloadTooLarge');
  const bytes = await collect(request);
  if (bytes.length === 0) return undefined;
  requireJson(request.headers['content-type']);
  const parsed = parse(bytes);
  if (!isObject(parsed)) throw refuse('UnrecognizedRequestBody');
  return withoutAnnotations(parsed, 0);
}

function collect(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= maximumBodyBytes) {
        chunks.push(chunk);
        return;
      }
      // The rest is read and thrown away: a connection that is closed on a client in mid-body loses it the answer.
      chunks.length = 0;
      reject(refuse('PayloadTooLarge'));
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', (error) => reject(new RedfishError(400, [message('UnrecognizedRequestBody')], {}, error)));
  });
}

/** A body without a type is taken for JSON, as nothing else can be meant. */
function requireJson(contentType: string | undefined): void {
  const [type = '', ...parameters] = (contentType ?? 'application/json').toLowerCase().split(';');
  const charset = parameters.map((parameter) => /^\s*charset="?([^"]*)"?\s*$/.exec(parameter)?.[1]).find(Boolean);
  const readable = charset === undefined || charset === 'utf-8' || charset === 'us-ascii';
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

/** No schema goes deeper; a body made of a hundred thousand brackets must not exhaust the stack. */
const deepest = 32;

function withoutAnnotations(object: JsonObject, depth: number): JsonObject {
  return Object.fromEntries(
    Object.entries(object)
      .filter(([name]) => !name.includes('@odata.'))
      .map(([name, value]) => [name, value === undefined ? value : strip(value, depth + 1)]),
  );
}

function strip(value: Json, depth: number): Json {
  if (depth > deepest) return value;
  if (isArray(value)) return value.map((item) => strip(item, depth + 1));
  if (!isObject(value) || isLink(value)) return value;
  return withoutAnnotations(value, depth);
}

/** `{"@odata.id": uri}` below the top says which resource a property names. */
function isLink(value: JsonObject): boolean {
  const names = Object.keys(value);
  return names.length === 1 && names[0] === '@odata.id';
}
