/** An upstream's answer on its way to the client, byte for byte, with a head that names where it came from. */
import type { IncomingMessage } from 'node:http';
import { answerHeaders, writeHead } from '../endpoints/answer-headers.js';
import type { Exchange } from '../endpoints/exchange.js';
import type { TracedCall } from '../trace.js';
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

/** Name, value, name, value: this proxy's own headers, then the upstream's. */
export function answerHead(exchange: Exchange, answer: IncomingMessage): string[] {
  const ours = answerHeaders(exchange, null);
  const names = new Set(ours.filter((_text, index) => index % 2 === 0));
  ours.push(...rawAnswerHeaders(answer.rawHeaders, names));
  return ours;
}

/** Sends the head at once and the body as it comes; a client that reads slowly slows the upstream down. */
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
