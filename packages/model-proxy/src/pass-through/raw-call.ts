/** Sends a raw request to the upstream, and the answer to the client. */
import { performance } from 'node:perf_hooks';
import { chunkLimitOf } from '../chunk-limit.js';
import { headerOf, pass } from '../exchange/answer/answer.js';
import { breakOff, endAnswer, refuse } from '../exchange/answer/refusal.js';
import type { Usage } from '../exchange/answer/usage.js';
import { estimate, tokensOf } from '../exchange/counted-usage.js';
import type { Exchange } from '../exchange/exchange.js';
import { mediaType } from '../exchange/request/request-head.js';
import { watchUpload } from '../exchange/stalled-uploads.js';
import { toProxyError, type ProxyError } from '../errors/proxy-error.js';
import type { TracedCall } from '../trace.js';
import { hasLastEvent } from '../sse/stream-end.js';
import { BodyStream } from '../upstream/body-stream.js';
import type { UpstreamCall, UpstreamHandler, UpstreamRequest } from '../upstream/upstream.js';
import { sendHead } from './raw-answer.js';
import { UsageScanner, type ScannedApi } from './usage-scanner.js';

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
  /** The form in which the answer has its tokens; null: they do not count. */
  readonly scanned: ScannedApi | null;
}

/** Sends a raw request, and the answer or an error to the client. */
export function sendRaw({ exchange, request, body, traced, scanned }: RawCallOptions): void {
  exchange.sentAt = performance.now();
  // A streamed body arrives while the upstream works, so the time of receiving ends here.
  exchange.receivedAt ||= exchange.sentAt;
  const handler = new RawAnswerHandler(exchange, traced, scanned);
  exchange.requestBytes =
    body.kind === 'buffered' ? body.chunks.reduce((sum, { length }) => sum + length, 0) : body.head.length;
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
  readonly #scanned: ScannedApi | null;
  /** null: the tokens of the answer do not count. */
  #scanner: UsageScanner | null = null;
  #answerBytes = 0;
  /** Whether a stream has sent the event after which clients leave. */
  #isDone = false;

  constructor(exchange: Exchange, traced: TracedCall | null, scanned: ScannedApi | null) {
    this.#exchange = exchange;
    this.#traced = traced;
    this.#scanned = scanned;
  }

  onHead(status: number, headers: readonly string[]): void {
    const exchange = this.#exchange;
    exchange.firstByteAt = performance.now();
    this.#guard(() => {
      this.#traced?.head(status, headers);
      const type = mediaType(headerOf(headers, 'content-type') ?? '');
      exchange.streamed = type === 'text/event-stream';
      sendHead(exchange, status, headers);
      if (this.#scanned === null || status >= 300) return;
      this.#scanner = new UsageScanner(exchange.streamed || this.#scanned === 'gemini' ? this.#scanned : 'other');
      if (type.startsWith('text/') || type.endsWith('json')) exchange.estimateUsage = this.#estimate;
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

  /** Estimates the usage of an answer that the client leaves before its end, or that fails. */
  readonly #estimate = (): Usage => {
    const { streamed, eventCount, requestBytes } = this.#exchange;
    const reported = this.#scanner?.usage ?? null;
    // Other answers can have parts of the request that look like a usage.
    const isTrusted = reported !== null && this.#scanner?.api === 'anthropic';
    const { inputTokens, outputTokens } = estimate(requestBytes, streamed ? eventCount : tokensOf(this.#answerBytes));
    const usage = {
      inputTokens: isTrusted ? reported.inputTokens : Math.max(inputTokens, reported?.inputTokens ?? 0),
      outputTokens: Math.max(outputTokens, reported?.outputTokens ?? 0),
    };
    return { ...usage, totalTokens: usage.inputTokens + usage.outputTokens };
  };

  #count(chunk: Buffer): void {
    const exchange = this.#exchange;
    const scanner = this.#scanner;
    if (scanner === null) return;
    scanner.add(chunk);
    this.#answerBytes += chunk.length;
    if (!exchange.streamed) return;
    exchange.eventCount += linesOfData(chunk);
    this.#isDone ||= hasLastEvent(chunk);
    if (this.#isDone) this.#complete();
  }

  /** Lets the reported usage count. */
  #complete(): void {
    this.#exchange.estimateUsage = null;
    if (this.#scanner !== null) this.#exchange.usage = this.#scanner.usage;
  }

  onEnd(): void {
    this.#exchange.answeredAt = performance.now();
    this.#complete();
    this.#guard(() => {
      this.#traced?.end();
      endAnswer(this.#exchange);
    });
  }

  onError(error: ProxyError): void {
    const exchange = this.#exchange;
    exchange.answeredAt = performance.now();
    if (this.#answerBytes === 0) exchange.estimateUsage = null;
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

/**
 * Returns the number of lines with data in a chunk of a stream. Model servers send such a line for each token. Misses a
 * line whose name is in two chunks.
 */
function linesOfData(chunk: Buffer): number {
  let count = chunk.toString('latin1', 0, 5) === 'data:' ? 1 : 0;
  for (let at = chunk.indexOf(dataLine); at !== -1; at = chunk.indexOf(dataLine, at + 1)) count += 1;
  return count;
}
