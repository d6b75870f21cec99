/** Sends a raw request to the upstream, and the answer to the client. */
import { performance } from 'node:perf_hooks';
import { chunkLimitOf } from '../chunk-limit.js';
import { headerOf, pass } from '../exchange/answer/answer.js';
import { breakOff, endAnswer, refuse } from '../exchange/answer/refusal.js';
import { estimatedUsage } from '../exchange/counted-usage.js';
import type { Exchange } from '../exchange/exchange.js';
import { mediaType } from '../exchange/request/request-head.js';
import { watchUpload } from '../exchange/stalled-uploads.js';
import { toProxyError, type ProxyError } from '../errors/proxy-error.js';
import type { TracedCall } from '../trace.js';
import { BodyStream } from '../upstream/body-stream.js';
import type { UpstreamCall, UpstreamHandler, UpstreamRequest } from '../upstream/upstream.js';
import { sendHead } from './raw-answer.js';
import { largerOf, type UsageScanner } from './usage-scanner.js';

/** The body of a raw request. */
export type RawBody =
  /** The whole body, so that the upstream client can retry the request. Without chunks: no body. */
  | { readonly kind: 'buffered'; readonly chunks: readonly Buffer[] }
  /** A body that is sent while it arrives. */
  | {
      readonly kind: 'streamed';
      /** The bytes that have arrived. */
      readonly head: Buffer;
      /** Size of the whole body in bytes; null: unknown, so the body is sent in chunks. */
      readonly length: number | null;
      /** Checks each later chunk before it goes upstream. */
      readonly check?: (chunk: Buffer) => void;
    };

/** Options of {@link sendRaw}. */
interface RawCallOptions {
  readonly exchange: Exchange;
  readonly request: Omit<UpstreamRequest, 'body' | 'isRaw'>;
  readonly body: RawBody;
  readonly traced: TracedCall | null;
  /** Reads the tokens of the answer; null: they do not count. */
  readonly scanner: UsageScanner | null;
}

/** Sends a raw request, and the answer or an error to the client. */
export function sendRaw({ exchange, request, body, traced, scanner }: RawCallOptions): void {
  exchange.sentAt = performance.now();
  // A streamed body arrives while the upstream works, so the time of receiving ends here.
  exchange.receivedAt ||= exchange.sentAt;
  const handler = new RawAnswerHandler(exchange, traced, scanner);
  if (body.kind === 'buffered') for (const chunk of body.chunks) exchange.requestBytes += chunk.length;
  const bytes = body.kind === 'buffered' ? body.chunks : streamOf(exchange, body);
  const call = exchange.proxy.upstream.send({ ...request, body: bytes, isRaw: true }, handler);
  handler.call = call;
  exchange.call = call;
}

/** Makes the stream that the client's request fills. */
function streamOf(
  exchange: Exchange,
  { head, length, check }: Extract<RawBody, { readonly kind: 'streamed' }>,
): BodyStream {
  const { request } = exchange;
  exchange.requestBytes = head.length;
  const stream = new BodyStream({
    byteLength: length,
    beginning: head.length > 0 ? [head] : [],
    onRoom: () => request.resume(),
  });
  if (request.readableEnded) {
    stream.finish();
    return stream;
  }
  const upload = watchUpload(exchange);
  const chunkLimit = chunkLimitOf(request);
  request.on('data', (chunk: Buffer) => {
    upload.isMoving = true;
    exchange.requestBytes += chunk.length;
    if (stream.destroyed) return;
    try {
      chunkLimit?.add(chunk);
      check?.(chunk);
      if (!stream.add(chunk)) request.pause();
    } catch (error) {
      breakOff(exchange, toProxyError(error));
    }
  });
  request.on('end', () => stream.finish());
  return stream;
}

/** Sends the upstream's answer to the client. */
class RawAnswerHandler implements UpstreamHandler {
  call: UpstreamCall | undefined;
  readonly #exchange: Exchange;
  readonly #traced: TracedCall | null;
  readonly #scanner: UsageScanner | null;

  constructor(exchange: Exchange, traced: TracedCall | null, scanner: UsageScanner | null) {
    this.#exchange = exchange;
    this.#traced = traced;
    this.#scanner = scanner;
  }

  onHead(status: number, headers: readonly string[]): void {
    const exchange = this.#exchange;
    exchange.firstByteAt = performance.now();
    this.#guard(() => {
      this.#traced?.head(status, headers);
      exchange.streamed = mediaType(headerOf(headers, 'content-type') ?? '') === 'text/event-stream';
      sendHead(exchange, status, headers);
    });
  }

  onData(chunk: Buffer): void {
    const { call } = this;
    if (call === undefined) return;
    this.#guard(() => {
      this.#traced?.data(chunk);
      this.#count(chunk);
      pass({ exchange: this.#exchange, call }, chunk);
    });
  }

  /** Stores the usage so far. The client may leave a stream at any time, so also estimates the usage of a stream. */
  #count(chunk: Buffer): void {
    const scanner = this.#scanner;
    const exchange = this.#exchange;
    if (scanner === null) return;
    scanner.add(chunk);
    if (!exchange.streamed) return;
    exchange.eventCount += linesOfData(chunk);
    exchange.usage = largerOf(scanner.usage, estimatedUsage(exchange));
  }

  onEnd(): void {
    this.#exchange.answeredAt = performance.now();
    // The answer is complete. Without a usage, the estimate for a stream remains.
    if (this.#scanner !== null) this.#exchange.usage = this.#scanner.usage;
    this.#guard(() => {
      this.#traced?.end();
      endAnswer(this.#exchange);
    });
  }

  onError(error: ProxyError): void {
    const exchange = this.#exchange;
    exchange.answeredAt = performance.now();
    this.#guard(() => {
      this.#traced?.fail(error);
      const isBegun = exchange.response.headersSent;
      refuse(exchange, error);
      // Shows the client that the answer is incomplete.
      if (isBegun) exchange.response.destroy();
    });
  }

  /**
   * Runs a part of a callback. After an exception, ends only this request: an exception in a
   * callback of the upstream client would end the process.
   */
  #guard(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#exchange.answeredAt = performance.now();
      breakOff(this.#exchange, toProxyError(error));
    }
  }
}

const dataLine = Buffer.from('\ndata:');

/** Returns the number of lines with data in a part of a stream, which model servers send once for each token. */
function linesOfData(chunk: Buffer): number {
  let count = chunk.toString('latin1', 0, 5) === 'data:' ? 1 : 0;
  for (let at = chunk.indexOf(dataLine); at !== -1; at = chunk.indexOf(dataLine, at + 1)) count += 1;
  return count;
}
