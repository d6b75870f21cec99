/** Sends answers that the proxy itself makes. */
import { answerHeaders, writeHead } from './answer-headers.js';
import type { Exchange } from '../exchange.js';

/** Sends a value as JSON. The client must not cache it. */
export function answerJson(exchange: Exchange, status: number, value: unknown): void {
  answerText(exchange, status, 'application/json', JSON.stringify(value));
}

/**
 * Sends a text; for HEAD, only its headers.
 * @param more additional headers: name, value, name, value.
 */
export function answerText(
  exchange: Exchange,
  status: number,
  contentType: string,
  text: string,
  more: readonly string[] = [],
): void {
  const { request, response } = exchange;
  const headers = answerHeaders(exchange, null);
  // The text shows the current state, so caches must not store it.
  headers.push(
    'content-type',
    contentType,
    'content-length',
    String(Buffer.byteLength(text)),
    'cache-control',
    'no-store',
  );
  headers.push(...more);
  writeHead(response, status, headers);
  response.end(request.method === 'HEAD' ? undefined : text);
}
