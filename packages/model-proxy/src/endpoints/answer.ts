/** What becomes of an upstream's answer is decided by its head: an answer is one of a few kinds, each of which knows what to do. */
import type { ProxyError } from '../errors.js';
import { secretMask } from '../upstream/own-secrets.js';
import type { UpstreamCall } from '../upstream/upstream.js';
import type { Endpoint } from './endpoint.js';
import type { Exchange } from './exchange.js';

/** One answer on its way to the client. */
export interface Answer {
  data(chunk: Buffer): void;
  end(): void;
  /** It breaks off: told to the client as well as what it already has allows. */
  fail(error: ProxyError): void;
}

/** What an answer is made of. */
export interface AnswerContext {
  readonly exchange: Exchange;
  readonly endpoint: Endpoint;
  readonly call: UpstreamCall;
  readonly status: number;
  /** Of the upstream: name, value, name, value; names lower case. */
  readonly headers: readonly string[];
  /** What `model` becomes; null: it stays as it is. */
  readonly rename: ((reported: string) => string) | null;
}

/** A header of a flat list; undefined: it is not there. @param name lower case. */
export function headerOf(headers: readonly string[], name: string): string | undefined {
  for (let index = 0; index < headers.length; index += 2) if (headers[index] === name) return headers[index + 1];
  return undefined;
}

/** Longer ones would break clients. No media type or file name of a model's answer comes near it. */
const MAX_BODY_HEADER_LENGTH = 512;

/** As {@link headerOf}, for a header that describes the body; undefined, too, where it is unreasonably long. */
export function bodyHeaderOf({ exchange, headers }: AnswerContext, name: string): string | undefined {
  const value = headerOf(headers, name);
  if (value === undefined) return undefined;
  if (value.length <= MAX_BODY_HEADER_LENGTH) return secretMask(exchange.selection?.deployment ?? null)(value);
  exchange.droppedHeaders += 1;
  return undefined;
}

/** Sends bytes on; a client that does not take them any more holds the upstream up, and only that one. */
export function pass({ exchange, call }: AnswerContext, bytes: Buffer): void {
  const { response } = exchange;
  if (response.write(bytes) || response.listenerCount('drain') > 0) return;
  call.pause();
  response.once('drain', () => call.resume());
}
