/** What a stage answers, and how it goes out. */
import type { ServerResponse } from 'node:http';
import { renderError, type RedfishError } from './errors.js';
import type { JsonObject } from './json.js';
import type { StreamSource } from './stream.js';

/** By name, as they are sent. */
export type Headers = Readonly<Record<string, string>>;

/** A finished answer. Immutable, so that one can be kept and sent again. */
export interface Answer {
  readonly status: number;
  /** Name, value, name, value: what `writeHead` takes without looking at each. Content-Length included where there is a body. */
  readonly headers: readonly string[];
  readonly body: string | undefined;
  /** In place of a body: writes to the open answer for as long as the client stays. */
  readonly stream?: StreamSource;
}

/** On every answer: the protocol version, and that nobody may answer in our place (DSP0266, response headers). */
const always = ['OData-Version', '4.0', 'Cache-Control', 'no-cache'];

const json = 'application/json; charset=utf-8';

/** A body above this many characters must be read within this time. Smaller bodies fit into the buffers of a socket. */
const largeBody = 64 * 1024;
const stalledMs = 30_000;

const flatten = (headers: Headers): readonly string[] => Object.entries(headers).flat();

/** An answer with a JSON text. */
export function jsonAnswer(status: number, text: string, headers: Headers = {}): Answer {
  return textAnswer(status, text, json, headers);
}

/** An answer with any text. */
export function textAnswer(status: number, text: string, contentType: string, headers: Headers = {}): Answer {
  const length = String(Buffer.byteLength(text));
  return {
    status,
    headers: [...always, 'Content-Type', contentType, 'Content-Length', length, ...flatten(headers)],
    body: text,
  };
}

/** An answer that goes on. */
export function streamAnswer(stream: StreamSource, contentType: string, headers: Headers = {}): Answer {
  return {
    status: 200,
    headers: [...always, 'Content-Type', contentType, ...flatten(headers)],
    body: undefined,
    stream,
  };
}

/** An answer with bytes as they are. */
export function bytesAnswer(bytes: Buffer, contentType: string, headers: Headers = {}): Answer {
  return {
    status: 200,
    headers: [...always, 'Content-Type', contentType, 'Content-Length', String(bytes.length), ...flatten(headers)],
    body: undefined,
    stream: (output) => void output.end(bytes),
  };
}

/** An answer without a body: 204, 304. */
export function emptyAnswer(status: number, headers: Headers = {}): Answer {
  return { status, headers: [...always, ...flatten(headers)], body: undefined };
}

/** The answer that an error asks for. */
export function errorAnswer(error: RedfishError): Answer {
  return jsonAnswer(error.status, stringify(renderError(error.messages)), error.headers);
}

/** JSON as it is sent. Indentation would double the bytes. */
export function stringify(value: JsonObject): string {
  return JSON.stringify(value);
}

/**
 * Sends it. A HEAD request gets the same headers and no body; so does whoever asks for what is sent without one.
 * @param requestId echoed in X-Request-Id.
 */
export function send(response: ServerResponse, answer: Answer, requestId: string): void {
  response.writeHead(answer.status, [...answer.headers, 'X-Request-Id', requestId]);
  if (answer.stream !== undefined) {
    // The client is to know that it is heard before the first event comes.
    response.flushHeaders();
    answer.stream(response);
    return;
  }
  // A client that reads nothing of a large body holds it in memory.
  if (answer.body !== undefined && answer.body.length > largeBody) {
    response.setTimeout(stalledMs, () => response.destroy());
  }
  // Node leaves the body of an answer to HEAD out by itself.
  response.end(answer.body);
}
