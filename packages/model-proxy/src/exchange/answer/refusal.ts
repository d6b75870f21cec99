/** Sends errors to clients, also to clients that are still sending their request. */
import { Buffer } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { limitChunks } from '@rackless/daemon/http/unread-body.js';
import { stalledRequest } from '../../errors/body.js';
import { errorBody } from '../../errors/error-body.js';
import { toProxyError, type ProxyError } from '../../errors/proxy-error.js';
import { answerHeaders, writeHead } from './answer-headers.js';
import type { Exchange } from '../exchange.js';

/** After an error, if a body has at most this size, Node reads its rest, and the connection stays open. */
const SMALL_BODY_BYTES = 65_536;
/**
 * Timeouts for a client that still sends its request after the answer: for the next chunk, and for
 * all chunks. nginx calls this `lingering_close` and has the same values.
 */
const LINGER_IDLE_MS = 5000;
const LINGER_MS = 30_000;

/**
 * Stores the error. Answers with it unless an answer has begun, or the client has gone. Never throws, because
 * most callers are event handlers, where an exception would end the process.
 * @param upstream headers of the upstream's answer if the error is the upstream's.
 */
export function refuse(exchange: Exchange, error: ProxyError, upstream: readonly string[] | null = null): void {
  const { response } = exchange;
  exchange.error = error;
  if (response.headersSent || response.destroyed) return;
  try {
    answerWith(exchange, error, upstream);
  } catch (fault) {
    // The error cannot be sent. The log shows why.
    exchange.error = toProxyError(fault);
    response.destroy();
  }
}

function answerWith(exchange: Exchange, error: ProxyError, upstream: readonly string[] | null): void {
  const { request, response } = exchange;
  const body = Buffer.from(errorBody(error, exchange.api, exchange.id));
  const headers = answerHeaders(exchange, upstream);
  headers.push('content-type', 'application/json', 'content-length', String(body.length));
  // The upstream's headers may already contain some of these names.
  for (const [name, value] of Object.entries(error.headers)) if (!headers.includes(name)) headers.push(name, value);
  if (exchange.awaitsContinue) headers.push('connection', 'close');
  if (exchange.awaitsContinue || isRestSmall(request)) {
    writeHead(response, error.status, headers);
    response.end(request.method === 'HEAD' ? undefined : body);
    return;
  }
  headers.push('connection', 'close');
  writeHead(response, error.status, headers);
  response.write(body);
  // Sends the answer before Node parses the next bytes. If they are malformed, the socket is destroyed
  // in the same turn, with everything that it has not sent.
  response.socket?.uncork();
  linger(exchange);
}

/**
 * Ends a request with an error at any time: after a fault of the client while the upstream works,
 * or after an exception in a handler. Aborts the upstream's request. The client gets the error. If
 * its answer has begun, closes the connection instead. Never throws.
 */
export function breakOff(exchange: Exchange, error: ProxyError): void {
  const { response, call } = exchange;
  call?.abort();
  const isBegun = response.headersSent;
  refuse(exchange, error);
  // The client must see that the answer is incomplete.
  if (isBegun) response.destroy();
}

/** Ends the request of a client that stopped sending: answers 408, or breaks off an answer that has begun. */
export function abandon(exchange: Exchange): void {
  const { response } = exchange;
  // The connection has closed already.
  if (response.destroyed) return;
  const isBegun = response.headersSent;
  breakOff(exchange, stalledRequest());
  if (!isBegun) response.end();
}

/** Ends an answer. If the client is still sending its request, waits for the end of the request, or for a timeout. */
export function endAnswer(exchange: Exchange): void {
  if (exchange.request.complete) exchange.response.end();
  else linger(exchange);
}

/** Returns whether a request is complete, or its whole body is small. Node reads the rest after the answer. */
function isRestSmall({ complete, headers }: IncomingMessage): boolean {
  if (complete) return true;
  const length = headers['content-length'];
  if (length === undefined) return headers['transfer-encoding'] === undefined;
  return Number(length) <= SMALL_BODY_BYTES;
}

/**
 * Reads and discards the rest of a request, then ends the answer. After a timeout, also closes the connection. If
 * the proxy closed the connection with unread bytes, TCP would reset it, and the client could lose the answer (RFC
 * 9112 §9.6).
 */
function linger({ request, response }: Exchange): void {
  const close = () => {
    // If unsent bytes are left, the client does not read. Otherwise, `end` sends the last chunk,
    // which completes an answer in chunks.
    if (response.writableLength > 0) request.destroy();
    else response.end(() => request.destroy());
    // If the client does not read that last chunk, this function runs again.
    totalTimer.refresh();
  };
  const totalTimer = setTimeout(close, LINGER_MS);
  const idleTimer = setTimeout(close, LINGER_IDLE_MS);
  request.removeAllListeners('data').on('data', () => idleTimer.refresh());
  limitChunks(request);
  request.on('end', () => response.end());
  response.on('close', () => {
    clearTimeout(totalTimer);
    clearTimeout(idleTimer);
  });
  request.resume();
}
