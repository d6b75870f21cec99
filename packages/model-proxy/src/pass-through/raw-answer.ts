/** An upstream's answer on its way to the client, byte for byte, with a head that names where it came from. */
import type { ClientRequest, IncomingMessage } from 'node:http';
import { MAX_INTERIM_ANSWERS } from '@rackless/daemon/interim-answers.js';
import { answerHeaders, writeHead } from '../endpoints/answer-headers.js';
import type { Exchange } from '../endpoints/exchange.js';
import { dropLongHeaders } from '../endpoints/head-limit.js';
import type { TracedCall } from '../trace.js';
import { AnswerFault } from '../upstream/answer-fault.js';
import { secretMask } from '../upstream/own-secrets.js';
import { rawAnswerHeaders } from './headers.js';

export interface RawAnswerHooks {
  /** A byte moved, or the client took what it was sent: the upstream's time begins anew. */
  onProgress(): void;
  /** The client takes no more for now. */
  onHeld(): void;
  /** All of it has been written to the response, which is still to be ended. */
  onEnd(): void;
  /** It breaks off. */
  onBroken(error: Error): void;
}

/** Name, value, name, value: this proxy's own headers, then the upstream's, as far as a head may be long. */
export function answerHead(exchange: Exchange, answer: IncomingMessage): string[] {
  const headers = answerHeaders(exchange, null);
  const from = headers.length;
  const names = new Set(headers.filter((_text, index) => index % 2 === 0));
  const mask = secretMask(exchange.selection?.deployment ?? null);
  headers.push(...rawAnswerHeaders(answer.rawHeaders, names, mask));
  exchange.droppedHeaders += dropLongHeaders(headers, from);
  return headers;
}

/**
 * The fault of an answer that Node's client accepts and no client can be sent (RFC 9110 §15): Node's server throws for the status 099,
 * and 600 has no meaning. The upstream client for models rejects them as well.
 * @returns null: it can be sent.
 */
export function statusFault({ statusCode = 0 }: IncomingMessage): AnswerFault | null {
  if (statusCode >= 200 && statusCode <= 599) return null;
  return new AnswerFault('http', `status ${String(statusCode).padStart(3, '0')}`);
}

/**
 * Reports the ends of a request that Node's client passes over in silence: a 101 that nobody asked for closes the connection without an
 * error, and interim answers may follow each other without end.
 * @param onEnd may be called after the request has been answered or has failed.
 */
export function reportEveryEnd(outgoing: ClientRequest, onEnd: (error: AnswerFault) => void): void {
  let interim = 0;
  outgoing.on('information', () => {
    interim += 1;
    if (interim > MAX_INTERIM_ANSWERS) outgoing.destroy(new AnswerFault('head', 'too many interim answers'));
  });
  outgoing.once('close', () => onEnd(new AnswerFault('closed', 'closed')));
}

/**
 * Sends the head at once and the body as it comes; a client that reads slowly slows the upstream down.
 * @param answer without a {@link statusFault}.
 */
export function passAnswer(
  exchange: Exchange,
  answer: IncomingMessage,
  traced: TracedCall | null,
  hooks: RawAnswerHooks,
): void {
  const { request, response } = exchange;
  const headers = answerHead(exchange, answer);
  traced?.head(answer.statusCode ?? 0, headers);
  // What is left of the body may not be wanted any more: RFC 9112 §9.6.
  const closes = (exchange.holdsBodyBack || !request.complete) && !serves(headers, 'connection');
  if (closes) headers.push('connection', 'close');
  writeHead(response, answer.statusCode ?? 0, headers);
  response.flushHeaders();

  let ended = false;
  answer.on('data', (chunk: Buffer) => {
    hooks.onProgress();
    traced?.data(chunk);
    if (response.write(chunk) || response.listenerCount('drain') > 0) return;
    answer.pause();
    hooks.onHeld();
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
  // http-proxy would leave a client waiting for ever.
  answer.once('close', () => broken());
}

function serves(headers: readonly string[], name: string): boolean {
  return headers.some((text, index) => index % 2 === 0 && text === name);
}
