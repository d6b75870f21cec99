/** Answers that are errors, and how a client that is still sending gets to read them. */
import { Buffer } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { limitChunks } from '@rackless/daemon/unread-body.js';
import { toProxyError, type ProxyError } from '../errors.js';
import { answerHeaders, writeHead } from './answer-headers.js';
import type { Exchange } from './exchange.js';

/** What is left of a request of this size is read without a thought, and its connection kept. */
const SMALL_BODY_BYTES = 65_536;
/** How long a client that was refused may take over its next piece, and over all of them: as nginx's `lingering_close`. */
const LINGER_IDLE_MS = 5000;
const LINGER_MS = 30_000;

/**
 * Answers with an error, unless an answer has begun. Never throws: it is the last thing that is done for a request, often in an event
 * handler, where an exception would end the process.
 * @param upstream the head of the upstream's answer where the error is the upstream's.
 */
export function refuse(exchange: Exchange, error: ProxyError, upstream: readonly string[] | null = null): void {
  const { response } = exchange;
  exchange.error = error;
  if (response.headersSent || response.destroyed) return;
  try {
    answerWith(exchange, error, upstream);
  } catch (fault) {
    // The error cannot be sent either: the client sees that the connection ends, and the log has the reason.
    exchange.error = toProxyError(fault);
    response.destroy();
  }
}

function answerWith(exchange: Exchange, error: ProxyError, upstream: readonly string[] | null): void {
  const { request, response } = exchange;
  const body = Buffer.from(JSON.stringify(error.body));
  const headers = answerHeaders(exchange, upstream);
  headers.push('content-type', 'application/json', 'content-length', String(body.length));
  // The upstream's own may be among them already.
  for (const [name, value] of Object.entries(error.headers)) if (!headers.includes(name)) headers.push(name, value);
  if (exchange.holdsBodyBack) headers.push('connection', 'close');
  if (exchange.holdsBodyBack || isNearlyRead(request)) {
    writeHead(response, error.status, headers);
    response.end(request.method === 'HEAD' ? undefined : body);
    return;
  }
  headers.push('connection', 'close');
  writeHead(response, error.status, headers);
  response.write(body);
  linger(exchange);
}

/**
 * Ends one request with an error at any time: a fault of the client's while the upstream may be at work, or an exception in a handler.
 * The upstream's request ends, and the client gets the error unless its answer has begun. Never throws.
 */
export function breakOff(exchange: Exchange, error: ProxyError): void {
  const { response, call } = exchange;
  call?.abort();
  const isBegun = response.headersSent;
  refuse(exchange, error);
  // What the client has of an answer must not look whole.
  if (isBegun) response.destroy();
}

/** Ends an answer; one to a request that is still being sent, when all of that has come. */
export function endAnswer(exchange: Exchange): void {
  if (exchange.request.complete) exchange.response.end();
  else linger(exchange);
}

/** Whether Node may read what is left of a request by itself, which it does once the answer has ended. */
function isNearlyRead({ complete, headers }: IncomingMessage): boolean {
  if (complete) return true;
  const length = headers['content-length'];
  if (length === undefined) return headers['transfer-encoding'] === undefined;
  return Number(length) <= SMALL_BODY_BYTES;
}

/**
 * Reads on and throws away until the client has sent all of it, then ends the answer: a connection that is closed with bytes unread is
 * reset, and the client would see that in place of the answer (RFC 9112 §9.6).
 */
export function linger({ request, response }: Exchange): void {
  const give = () => request.destroy();
  const whole = setTimeout(give, LINGER_MS);
  const idle = setTimeout(give, LINGER_IDLE_MS);
  request.removeAllListeners('data').on('data', () => idle.refresh());
  limitChunks(request);
  request.on('end', () => response.end());
  response.on('close', () => {
    clearTimeout(whole);
    clearTimeout(idle);
  });
  request.resume();
}
