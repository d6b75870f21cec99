/**
 * The interface of all kinds of upstream answers: JSON, events, raw (other content types), untyped
 * (no usable content type, so the first bytes decide), error, and translated answers of dialects.
 */
import type { ProxyError } from '../../errors/proxy-error.js';
import type { TranslatedCall } from '../../providers/translation.js';
import { secretMask } from '../../upstream/secret-mask.js';
import type { UpstreamCall } from '../../upstream/upstream.js';
import type { Endpoint } from '../../endpoints/endpoint.js';
import type { Exchange } from '../exchange.js';

/** The upstream's answer to one request, which the proxy sends to the client. */
export interface Answer {
  /** Receives the next bytes of the upstream's answer. @throws {ProxyError} if the client cannot get the answer. */
  data(chunk: Buffer): void;
  /**
   * Completes the answer to the client. If the upstream's answer is incomplete, invalid or an error, calls
   * {@link AttemptState.reject} or {@link AttemptState.interrupt}.
   * @throws {ProxyError} as `data`.
   */
  end(): void;
  /**
   * Ends the attempt, because the upstream's answer broke off. If a part of the answer has gone to
   * the client, the client gets the error as an event. An answer that cannot contain an error ends
   * with a closed connection. A stream whose last event has arrived ends without an error.
   */
  fail(error: ProxyError): void;
  /**
   * Stores the usage in the exchange if the bytes that have arrived contain it. Called when the
   * attempt ends, also if the client has gone. Absent: `end` stores the usage, or the answer has
   * none.
   */
  readUsage?(): void;
}

/** The attempt that an answer belongs to. Only the first call that ends it has an effect. */
export interface AttemptState {
  /** Whether the attempt has ended. The answer must not send anything then. */
  readonly isOver: boolean;
  /**
   * Ends the attempt: the client gets the whole answer. The caller of {@link Answer.end} does this if
   * `end` has not ended the attempt.
   */
  complete(): void;
  /** Ends the attempt with an error after a part of the answer has gone to the client. */
  interrupt(error: ProxyError): void;
  /**
   * Ends the attempt with an error, before a byte has gone to the client: another attempt follows, or
   * the client gets the error.
   * @param upstream headers of the upstream's answer if the error is the upstream's.
   */
  reject(error: ProxyError, upstream?: readonly string[] | null): void;
}

/** The input of an {@link Answer}. */
export interface AnswerContext {
  readonly exchange: Exchange;
  readonly endpoint: Endpoint;
  readonly call: UpstreamCall;
  readonly attempt: AttemptState;
  readonly status: number;
  /** Headers of the upstream: name, value, name, value; names in lower case. */
  readonly headers: readonly string[];
  /** Returns the model name that the client sees; null: the name does not change. */
  readonly rename: ((reported: string) => string) | null;
  /** The translation between the APIs of the client and of the upstream; null: the answer needs no translation. */
  readonly translated: TranslatedCall | null;
}

/**
 * Returns the first value of a header; undefined: it is absent.
 * @param headers name, value, name, value.
 * @param name in lower case.
 */
export function headerOf(headers: readonly string[], name: string): string | undefined {
  for (let index = 0; index < headers.length; index += 2) if (headers[index] === name) return headers[index + 1];
  return undefined;
}

/** Longer values would break clients. Media types and file names of answers are far shorter. */
const MAX_BODY_HEADER_LENGTH = 512;

/**
 * Returns the value of a header that describes the body, with secrets masked; undefined: it is absent. Drops and
 * counts a value above {@link MAX_BODY_HEADER_LENGTH}, and then returns undefined too.
 * @param name in lower case.
 */
export function bodyHeaderOf({ exchange, headers }: AnswerContext, name: string): string | undefined {
  const value = headerOf(headers, name);
  if (value === undefined) return undefined;
  if (value.length <= MAX_BODY_HEADER_LENGTH) return secretMask(exchange.selection?.deployment ?? null)(value);
  exchange.droppedHeaders += 1;
  return undefined;
}

/** Sends bytes to the client. If the client reads too slowly, pauses the call until the bytes are sent. */
export function pass({ exchange, call }: Pick<AnswerContext, 'exchange' | 'call'>, bytes: Buffer): void {
  const { response } = exchange;
  if (response.write(bytes) || response.listenerCount('drain') > 0) return;
  call.pause();
  response.once('drain', () => call.resume());
}
