/** Sends a raw request and its answer, and handles all their errors and timeouts. */
import type { ClientRequest, IncomingMessage } from 'node:http';
import { performance } from 'node:perf_hooks';
import { chunkLimitOf } from '../chunk-limit.js';
import type { Exchange } from '../exchange/exchange.js';
import { linger, refuse } from '../exchange/answer/refusal.js';
import { internalError, stalledRequest, toProxyError, type ProxyError } from '../errors.js';
import type { Timeouts } from '../providers/deployment.js';
import type { TracedCall } from '../trace.js';
import { AnswerFault } from '../upstream/connection/answer-fault.js';
import { connectionFault, timeoutFault, type Bound } from '../upstream/connection-faults.js';
import { codeOf } from '../upstream/peer.js';
import { deadline, type Deadline } from '../upstream/time-bounds.js';
import type { UpstreamCall } from '../upstream/upstream.js';
import { ConnectTimeoutError, type Agents } from './agents.js';
import type { CreateProxyMiddleware } from './proxy-middleware.js';
import { passAnswer, reportEveryEnd, statusFault } from './raw-answer.js';
import { proxyOptions, RawRequest, type RawPlan } from './raw-request.js';

/** The body of a raw request. */
export type RawBody =
  /** The whole body in memory, so that it can be sent again; empty: no body. */
  | { readonly kind: 'buffered'; readonly chunks: readonly Buffer[] }
  /** A body that is sent while it arrives. */
  | {
      readonly kind: 'streamed';
      /** The bytes that have arrived. */
      readonly head: Buffer;
      /** Checks each later chunk before it goes upstream. */
      readonly inspect?: (chunk: Buffer) => void;
    };

/** Options of {@link RawCall}. */
export interface RawCallOptions {
  readonly exchange: Exchange;
  readonly createProxy: CreateProxyMiddleware;
  readonly agents: Agents;
  readonly plan: RawPlan;
  readonly body: RawBody;
  readonly timeouts: Timeouts;
  readonly traced: TracedCall | null;
}

/**
 * Milliseconds without a chunk, after which a client has stalled. As in exchange/stalled-uploads.
 */
const STALL_MS = 60_000;
/**
 * A used connection that ends within this many milliseconds was closed before the request arrived.
 * As in upstream/round-trip.
 */
const STALE_WITHIN_MS = 1000;

/** A raw request in flight. The constructor sends it. */
export class RawCall implements UpstreamCall {
  readonly #options: RawCallOptions;
  readonly #startedAt = performance.now();
  readonly #total: Deadline | undefined;
  /** Limits the time in which the side whose turn it is neither sends nor reads. */
  #quiet: Deadline | undefined;
  #stall: NodeJS.Timeout | undefined;
  #raw: RawRequest | undefined;
  #outgoing: ClientRequest | undefined;
  #answer: IncomingMessage | undefined;
  #sentAt = 0;
  #repeated = false;
  #over = false;

  constructor(options: RawCallOptions) {
    this.#options = options;
    const { exchange, timeouts } = options;
    exchange.call = this;
    // A streamed body may have no end, so the proxy's own time is measured only up to here.
    exchange.receivedAt ||= this.#startedAt;
    exchange.sentAt = performance.now();
    this.#total = this.#limit('total', timeouts.totalMs);
    this.#send(options.body.kind === 'buffered' ? options.agents.reusing : options.agents.fresh);
  }

  abort(): void {
    if (this.#over) return;
    this.#leave();
    this.#drop();
  }

  pause(): void {
    this.#answer?.pause();
  }

  resume(): void {
    this.#answer?.resume();
  }

  #send(agent: Agents['reusing']): void {
    const { createProxy, plan, exchange } = this.#options;
    const raw = new RawRequest(plan);
    this.#raw = raw;
    this.#outgoing = undefined;
    this.#sentAt = performance.now();
    const proxy = createProxy({
      ...proxyOptions(plan, agent),
      plugins: [
        (server) => {
          server.on('proxyReq', (outgoing) => {
            if (raw === this.#raw) this.#outgoing = outgoing;
            reportEveryEnd(outgoing, (error) => {
              if (raw === this.#raw) this.#failed(error);
            });
          });
          server.on('proxyRes', (answer) => {
            // An answer without a reader may still emit an error.
            answer.on('error', () => undefined);
            if (raw === this.#raw && !this.#over) this.#receive(answer);
            else answer.destroy();
          });
          server.on('error', (error) => {
            if (raw === this.#raw) this.#failed(error);
          });
        },
      ],
    });
    this.#feed(raw);
    // For exceptions before the request is sent, such as an invalid header. Later faults emit
    // `error`.
    const next = (error?: unknown) => this.#fail(internalError(error));
    void proxy(raw.asMessage, exchange.response, next)
      .then(() => {
        // http-proxy can be aborted only after it has begun.
        if (this.#over || raw !== this.#raw) raw.emit('aborted');
      })
      .catch(next);
  }

  #feed(raw: RawRequest): void {
    const { body, exchange, timeouts } = this.#options;
    const { request } = exchange;
    const wait = () => this.#watch('firstByte', timeouts.firstByteMs);
    raw.once('end', wait);
    if (body.kind === 'buffered') {
      for (const chunk of body.chunks) raw.write(chunk);
      raw.end();
      return;
    }
    this.#stall = setTimeout(() => this.#stalled(), STALL_MS);
    const { inspect } = body;
    const chunks = chunkLimitOf(request);
    // Must come before the pipe, so that a rejected chunk does not go upstream.
    request.on('data', (chunk: Buffer) => {
      this.#stall?.refresh();
      if (this.#over) return;
      try {
        chunks?.add(chunk);
        inspect?.(chunk);
      } catch (error) {
        this.#fail(toProxyError(error));
      }
    });
    // The client pauses while the upstream does not read. That is not the client's fault.
    raw.on('pause', () => this.#watch('send', timeouts.firstByteMs));
    raw.on('resume', () => this.#quiet?.stop());
    raw.once('end', () => clearTimeout(this.#stall));
    if (body.head.length > 0) raw.write(body.head);
    if (request.readableEnded) raw.end();
    else request.pipe(raw);
  }

  #stalled(): void {
    if (this.#raw?.isPaused() === true) this.#stall?.refresh();
    else this.#fail(stalledRequest());
  }

  /** Handles the answer. Node's client calls this, so an exception would end the process. */
  #receive(answer: IncomingMessage): void {
    const { exchange, plan } = this.#options;
    this.#answer = answer;
    exchange.firstByteAt = performance.now();
    const fault = statusFault(answer);
    try {
      if (fault === null) this.#pass(answer);
      else this.#fail(connectionFault(fault, { answerBegun: true, reused: false }, plan.way.peer));
    } catch (error) {
      this.#fail(toProxyError(error));
    }
  }

  #pass(answer: IncomingMessage): void {
    const { exchange, timeouts, traced } = this.#options;
    exchange.streamed = answer.headers['content-type']?.startsWith('text/event-stream') === true;
    const idle = () => this.#watch('idle', timeouts.idleMs);
    idle();
    passAnswer(exchange, answer, traced, {
      onProgress: idle,
      onPaused: () => this.#quiet?.stop(),
      onEnd: () => this.#end(),
      onBroken: (error) => this.#broken(error),
    });
  }

  #end(): void {
    if (this.#over) return;
    const { exchange, traced } = this.#options;
    this.#leave();
    traced?.end();
    const { request, response } = exchange;
    if (request.complete) {
      response.end();
      return;
    }
    // The upstream answered before the end of the request. The answer ends after the rest has
    // arrived.
    this.#drop();
    linger(exchange);
  }

  /** Closes the connection, which shows the client that the answer is incomplete. */
  #broken(error: Error): void {
    if (this.#over) return;
    const { exchange, traced, plan } = this.#options;
    const fault = connectionFault(error, { answerBegun: true, reused: false }, plan.way.peer);
    this.#leave();
    this.#drop();
    traced?.fail(fault);
    exchange.error = fault;
    exchange.response.destroy();
  }

  /**
   * @param error of the connection, of TLS or of Node's parser, before the answer or while the
   *   request is still being sent.
   */
  #failed(error: Error): void {
    // An upstream that has answered may stop reading. The events of the answer report its faults.
    if (this.#over || this.#answer !== undefined) return;
    if (error instanceof ConnectTimeoutError) {
      this.#timeOut('connect', error.limitMs);
      return;
    }
    const reused = this.#outgoing?.reusedSocket === true;
    if (reused && this.#isStale(error)) {
      this.#repeated = true;
      this.#send(this.#options.agents.fresh);
      return;
    }
    this.#fail(connectionFault(asKnown(error), { answerBegun: false, reused }, this.#options.plan.way.peer));
  }

  /**
   * Returns whether the upstream had closed the connection before the request arrived, as in
   * upstream/round-trip. Only a buffered body can be sent again.
   */
  #isStale(error: Error): boolean {
    const ended = codeOf(error) === 'ECONNRESET' || codeOf(error) === 'EPIPE';
    const soon = performance.now() - this.#sentAt <= STALE_WITHIN_MS;
    return ended && soon && !this.#repeated && this.#options.body.kind === 'buffered';
  }

  #timeOut(bound: Bound, limitMs: number | null): void {
    const takenMs = performance.now() - this.#startedAt;
    this.#fail(timeoutFault(bound, limitMs ?? 0, takenMs, this.#options.plan.way.peer));
  }

  #fail(error: ProxyError): void {
    if (this.#over) return;
    const { exchange, traced } = this.#options;
    this.#leave();
    this.#drop();
    traced?.fail(error);
    if (exchange.response.headersSent) {
      exchange.error = error;
      exchange.response.destroy();
      return;
    }
    // The next request follows the rest of the body, which must be read first.
    exchange.request.resume();
    refuse(exchange, error);
  }

  #watch(bound: Bound, limitMs: number | null): void {
    this.#quiet?.stop();
    if (!this.#over) this.#quiet = this.#limit(bound, limitMs);
  }

  #limit(bound: Bound, limitMs: number | null): Deadline | undefined {
    return deadline(this.#options.plan.way.clock, limitMs, () => this.#timeOut(bound, limitMs));
  }

  #leave(): void {
    this.#over = true;
    this.#options.exchange.answeredAt = performance.now();
    this.#total?.stop();
    this.#quiet?.stop();
    clearTimeout(this.#stall);
  }

  /** Ends the upstream's request with its connection, in any state. */
  #drop(): void {
    const raw = this.#raw;
    if (raw === undefined) return;
    this.#options.exchange.request.unpipe(raw);
    // http-proxy owns the request, and exposes it only after it has a connection.
    raw.emit('aborted');
    raw.destroy();
    this.#answer?.destroy();
    this.#outgoing?.destroy();
  }
}

/**
 * Converts faults of Node's parser to those of the proxy's parser. Returns other errors unchanged.
 */
export function asKnown(error: Error): Error {
  const code = codeOf(error);
  if (!code.startsWith('HPE_')) return error;
  return new AnswerFault(code === 'HPE_HEADER_OVERFLOW' ? 'head' : 'http', error.message, error);
}
