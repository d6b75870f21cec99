/** Forwards the answers to raw requests: changes only the headers, not the bytes of the body. */
import type { ClientRequest, IncomingMessage } from 'node:http';
import { limitInterimAnswers, MAX_INTERIM_ANSWERS } from '@rackless/daemon/http/interim-answers.js';
import { answerHeaders, writeHead } from '../exchange/answer/answer-headers.js';
import type { Exchange } from '../exchange/exchange.js';
import { dropLongHeaders } from '../exchange/head-limit.js';
import type { TracedCall } from '../trace.js';
import { AnswerFault } from '../upstream/connection/answer-fault.js';
import { secretMask } from '../upstream/secret-mask.js';
import { rawAnswerHeaders } from './headers.js';

/** Callbacks of {@link passAnswer}. */
interface RawAnswerHooks {
  /** Bytes arrived, or the client has read its bytes. The idle timeout starts again. */
  onProgress(): void;
  /** The upstream pauses because the client does not read. */
  onPaused(): void;
  /** The whole answer was written. The caller ends the response. */
  onEnd(): void;
  /** The upstream's answer broke off. */
  onBroken(error: Error): void;
}

/**
 * Returns the headers of the answer: the proxy's own, then the upstream's, up to the size limit.
 * @param upstream name, value, name, value.
 * @returns name, value, name, value.
 */
export function answerHead(exchange: Exchange, upstream: readonly string[]): string[] {
  const headers = answerHeaders(exchange, null);
  const from = headers.length;
  const names = new Set(headers.filter((_text, index) => index % 2 === 0));
  const mask = secretMask(exchange.selection?.deployment ?? null);
  headers.push(...rawAnswerHeaders(upstream, names, mask));
  exchange.droppedHeaders += dropLongHeaders(headers, from);
  return headers;
}

/**
 * Checks the status of an answer (RFC 9110 §15). Node's client accepts every number, but Node's
 * server throws for 099, and 600 has no meaning. The upstream client rejects both, too.
 * @returns null if the status is valid.
 */
export function statusFault({ statusCode = 0 }: IncomingMessage): AnswerFault | null {
  if (statusCode >= 200 && statusCode <= 599) return null;
  return new AnswerFault('http', `status ${String(statusCode).padStart(3, '0')}`);
}

/**
 * Reports faults of a handshake that Node's client does not report: a 101 without an `upgrade`
 * header, which closes the connection without an error, and too many interim answers.
 * @param onEnd called when the connection closes, also after an answer or an error.
 */
export function reportEveryEnd(outgoing: ClientRequest, onEnd: (error: AnswerFault) => void): void {
  limitInterimAnswers(outgoing, () => new AnswerFault('head', `more than ${MAX_INTERIM_ANSWERS} interim answers`));
  outgoing.once('close', () => onEnd(new AnswerFault('closed', 'the connection closed')));
}

/**
 * Sends the head of an answer at once, because the client may need it before the first byte of the body.
 * @param upstream headers of the upstream: name, value, name, value.
 */
export function sendHead(exchange: Exchange, status: number, upstream: readonly string[]): void {
  const { request, response } = exchange;
  const headers = answerHead(exchange, upstream);
  // RFC 9112 §9.6: the upstream may not want the rest of the request, so the client's connection must close.
  const closes = (exchange.awaitsContinue || !request.complete) && !hasName(headers, 'connection');
  if (closes) headers.push('connection', 'close');
  writeHead(response, status, headers);
  response.flushHeaders();
}

/**
 * Sends the head at once, and the body while it arrives. The upstream pauses while the client does
 * not read.
 * @param answer without a {@link statusFault}.
 */
export function passAnswer(
  exchange: Exchange,
  answer: IncomingMessage,
  traced: TracedCall | null,
  hooks: RawAnswerHooks,
): void {
  const { response } = exchange;
  traced?.head(answer.statusCode ?? 0, lowerCase(answer.rawHeaders));
  sendHead(exchange, answer.statusCode ?? 0, answer.rawHeaders);

  let ended = false;
  answer.on('data', (chunk: Buffer) => {
    hooks.onProgress();
    traced?.data(chunk);
    if (response.write(chunk) || response.listenerCount('drain') > 0) return;
    answer.pause();
    hooks.onPaused();
    response.once('drain', () => {
      hooks.onProgress();
      answer.resume();
    });
  });
  answer.once('end', () => {
    ended = true;
    hooks.onEnd();
  });
  const broken = (error?: Error) => {
    if (ended) return;
    ended = true;
    hooks.onBroken(error ?? new Error('the connection ended'));
  };
  answer.once('error', broken);
  // Without this listener, the client would wait without end for an answer that broke off.
  answer.once('close', () => broken());
}

function lowerCase(rawHeaders: readonly string[]): string[] {
  return rawHeaders.map((text, index) => (index % 2 === 0 ? text.toLowerCase() : text));
}

function hasName(headers: readonly string[], name: string): boolean {
  return headers.some((text, index) => index % 2 === 0 && text === name);
}
