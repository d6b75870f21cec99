/** The beginning of a raw request's body, or all of it, where it says where the request goes. */
import type { Exchange } from '../endpoints/exchange.js';
import { refuse } from '../endpoints/refusal.js';
import { ChunkList } from '../json/chunk-list.js';
import { requestTooLarge, stalledRequest, toProxyError } from '../errors.js';
import type { FormHead, FormHeadReader } from './form-head.js';

/** As endpoints/stalled-uploads; in milliseconds. */
const STALL_MS = 60_000;

/** Whether a body comes with the request at all. */
export function hasBody({ request }: Exchange): boolean {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  return coding !== undefined || (length !== undefined && Number(length) > 0);
}

/** Lets a client that waits for leave to send its body (`Expect: 100-continue`) do so. */
export function giveLeave(exchange: Exchange): void {
  if (!exchange.holdsBodyBack) return;
  exchange.holdsBodyBack = false;
  exchange.response.writeContinue();
}

/**
 * Reads all of it.
 * @param maxBytes `max_request_size_mb`: it is kept in memory.
 * @param done may throw what the client shall be told.
 */
export function readWhole(exchange: Exchange, maxBytes: number, done: (chunks: readonly Buffer[]) => void): void {
  const { request } = exchange;
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > maxBytes) throw requestTooLarge(maxBytes, announced);
  giveLeave(exchange);
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

/** Reads so much of a form as it takes to know its fields; then nothing more of it is read. */
export function readFormHead(exchange: Exchange, reader: FormHeadReader, done: (head: FormHead) => void): void {
  giveLeave(exchange);
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

interface Listening {
  readonly onData: (chunk: Buffer) => void;
  readonly onEnd: () => void;
}

function read(exchange: Exchange, { onData, onEnd }: Listening): { readonly stop: () => void } {
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
  const takeData = (chunk: Buffer): void => {
    stall.refresh();
    guarded(() => onData(chunk));
  };
  const takeEnd = (): void => guarded(onEnd);
  const stop = (): void => {
    clearTimeout(stall);
    request.off('data', takeData);
    request.off('end', takeEnd);
    response.off('close', stop);
  };
  request.on('data', takeData);
  request.on('end', takeEnd);
  response.on('close', stop);
  return { stop };
}
