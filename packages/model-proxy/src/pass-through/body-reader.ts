/** Reads the whole body of a raw request into memory, or the first fields of its form. */
import { chunkLimitOf } from '../chunk-limit.js';
import type { Exchange } from '../exchange/exchange.js';
import { refuse } from '../exchange/answer/refusal.js';
import { ChunkList } from '../json/chunk-list.js';
import { requestTooLarge, stalledRequest } from '../errors/body.js';
import { toProxyError } from '../errors/proxy-error.js';
import type { FormHead, FormHeadReader } from './form-head.js';

/**
 * Milliseconds without a chunk, after which the client gets 408. While a body is forwarded, the limit of
 * exchange/stalled-uploads.ts applies instead: 30 to 60 seconds.
 */
const STALL_MS = 60_000;

/** Returns whether the request has a body. */
export function hasBody({ request }: Exchange): boolean {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  return coding !== undefined || (length !== undefined && Number(length) > 0);
}

/** Sends `100 Continue` to a client that waits for it before it sends its body. */
export function sendContinue(exchange: Exchange): void {
  if (!exchange.awaitsContinue) return;
  exchange.awaitsContinue = false;
  exchange.response.writeContinue();
}

/**
 * Reads the whole body into memory. Sends errors that occur during the reading to the client.
 * @param maxBytes maximum size of the body.
 * @param done may throw an error for the client. It is not called after an error, or if the client disconnects.
 * @throws {ProxyError} 413: the announced length is too large.
 */
export function readWhole(exchange: Exchange, maxBytes: number, done: (chunks: readonly Buffer[]) => void): void {
  const { request } = exchange;
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > maxBytes) throw requestTooLarge(maxBytes, announced);
  sendContinue(exchange);
  const received = new ChunkList();
  let length = 0;
  const reading = read(exchange, {
    onData: (chunk) => {
      length += chunk.length;
      if (length > maxBytes) throw requestTooLarge(maxBytes, undefined);
      received.push(chunk);
    },
    onEnd: () => {
      reading.stop();
      done(received.chunks);
    },
  });
}

/**
 * Reads a form until its first fields are known, and then pauses the request. If the form ends first, passes the fields
 * so far.
 */
export function readFormHead(exchange: Exchange, reader: FormHeadReader, done: (head: FormHead) => void): void {
  sendContinue(exchange);
  const { request } = exchange;
  const reading = read(exchange, {
    onData: (chunk) => {
      const head = reader.push(chunk);
      if (head === undefined) return;
      reading.stop();
      request.pause();
      done(head);
    },
    onEnd: () => {
      reading.stop();
      done(reader.finish());
    },
  });
}

/** Handlers for the body's events. They may throw an error for the client. */
interface BodyHandlers {
  readonly onData: (chunk: Buffer) => void;
  readonly onEnd: () => void;
}

function read(exchange: Exchange, { onData, onEnd }: BodyHandlers): { readonly stop: () => void } {
  const { request, response } = exchange;
  const stall = setTimeout(() => {
    stop();
    refuse(exchange, stalledRequest());
    response.end();
  }, STALL_MS);
  const guarded = (act: () => void): void => {
    try {
      act();
    } catch (error) {
      stop();
      request.resume();
      refuse(exchange, toProxyError(error));
    }
  };
  const chunkLimit = chunkLimitOf(request);
  const onChunk = (chunk: Buffer): void => {
    stall.refresh();
    guarded(() => {
      chunkLimit?.add(chunk);
      onData(chunk);
    });
  };
  const onBodyEnd = (): void => guarded(onEnd);
  const stop = (): void => {
    clearTimeout(stall);
    request.off('data', onChunk);
    request.off('end', onBodyEnd);
    response.off('close', stop);
  };
  request.on('data', onChunk);
  request.on('end', onBodyEnd);
  response.on('close', stop);
  return { stop };
}
