/** One raw request: its body as it comes, its answer as it comes, and every way in which either may end. */
import type { ClientRequest, IncomingMessage } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { Exchange } from '../endpoints/exchange.js';
import { linger, refuse } from '../endpoints/refusal.js';
import { internalError, stalledRequest, toProxyError, type ProxyError } from '../errors.js';
import type { Timeouts } from '../providers/deployment.js';
import type { TracedCall } from '../trace.js';
import { AnswerFault } from '../upstream/answer-fault.js';
import { codeOf, connectionFault, timeoutFault, type Bound } from '../upstream/connection-faults.js';
import { deadline, type Deadline } from '../upstream/time-bounds.js';
import type { UpstreamCall } from '../upstream/upstream.js';
import { ConnectTimeoutError, type Agents } from './agents.js';
import type { CreateProxyMiddleware } from './proxy-middleware.js';
import { passAnswer, reportEveryEnd, statusFault } from './raw-answer.js';
import { proxyOptions, RawRequest, type RawPlan } from './raw-request.js';

/** The body of a raw request. */
export type RawBody =
  /** Kept whole, so that it can be sent again; empty: there is none. */
  | { readonly kind: 'kept'; readonly chunks: readonly Buffer[] }
  /** Sent as it comes from the client, behind what came of it already. */
  | {
      readonly kind: 'streamed';
      readonly head: Buffer;
      /** Sees what comes behind the head before the upstream does. */
      readonly inspect?: (chunk: Buffer) => void;
    };

export interface RawCallOptions {
  readonly exchange: Exchange;
  readonly createProxy: CreateProxyMiddleware;
  readonly agents: Agents;
  readonly plan: RawPlan;
  readonly body: RawBody;
  readonly timeouts: Timeouts;
  readonly traced: TracedCall | null;
}

/** How long a client may send nothing of its body, in milliseconds; as for other requests (endpoints/stalled-uploads). */
const STALL_MS = 60_000;
/** How soon a used connection must have ended to have been closed before the request came; as upstream/round-trip. */
const STALE_WITHIN_MS = 1000;

/** Begins when it is constructed. */
export class RawCall implements UpstreamCall {
  readonly #options: RawCallOptions;
  readonly #startedAt = performance.now();
  readonly #total: Deadline | undefined;
  /** Limits how long the side whose turn it is sends or reads nothing. */
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
    // A body that is streamed has no end that could be waited for: what is ours to answer for begins and ends here.
    exchange.receivedAt ||= this.#startedAt;
    exchange.sentAt = performance.now();
    this.#total = this.#limit('total', timeouts.totalMs);
    this.#send(options.body.kind === 'kept' ? options.agents.kept : options.agents.fresh);
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

  #send(agent: Agents['kept']): void {
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
            // An answer that nobody reads any more may still break off.
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
    // What it throws before it asks, such as a header that can not be sent; it has an error of its own for what comes later.
    const next = (error?: unknown) => this.#fail(internalError(error));
    void proxy(raw.asMessage, exchange.response, next)
      .then(() => {
        // It can be stopped only once it has begun.
        if (this.#over || raw !== this.#raw) raw.emit('aborted');
      })
      .catch(next);
  }

  #feed(raw: RawRequest): void {
    const { body, exchange, timeouts } = this.#options;
    const { request } = exchange;
    const wait = () => this.#watch('firstByte', timeouts.firstByteMs);
    raw.once('end', wait);
    if (body.kind === 'kept') {
      for (const chunk of body.chunks) raw.write(chunk);
      raw.end();
      return;
    }
    this.#stall = setTimeout(() => this.#stalled(), STALL_MS);
    const { inspect } = body;
    // Before the pipe: a chunk that is refused here does not go on.
    request.on('data', (chunk: Buffer) => {
      this.#stall?.refresh();
      if (this.#over || inspect === undefined) return;
      try {
        inspect(chunk);
      } catch (error) {
        this.#fail(toProxyError(error));
      }
    });
    // The client is held back as long as the upstream holds us back, and is not to blame for that.
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

  /** Called by Node's client: what is thrown here would end the process. */
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
      onHeld: () => this.#quiet?.stop(),
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
    // The upstream did not want all of it. The client hears so when it has sent the rest.
    this.#drop();
    linger(exchange);
  }

  /** Nothing can be said any more; a client sees by the connection's end that the answer is not whole. */
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

  /** @param error of the connection, of TLS or of Node's parser, before there was an answer, or of what was still being sent. */
  #failed(error: Error): void {
    // An upstream that has answered may stop reading; what becomes of the answer, its own events tell.
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

  /** As upstream/round-trip: the upstream had closed the connection before the request came to it. Only what was kept can be repeated. */
  #isStale(error: Error): boolean {
    const ended = codeOf(error) === 'ECONNRESET' || codeOf(error) === 'EPIPE';
    const soon = performance.now() - this.#sentAt <= STALE_WITHIN_MS;
    return ended && soon && !this.#repeated && this.#options.body.kind === 'kept';
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
    // Somebody has to read what is left of a small body: the next request is behind it.
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

  /** Ends the upstream's request with its connection, wherever it is. */
  #drop(): void {
    const raw = this.#raw;
    if (raw === undefined) return;
    this.#options.exchange.request.unpipe(raw);
    // http-proxy has the request, and shows it only when it has a connection.
    raw.emit('aborted');
    raw.destroy();
    this.#answer?.destroy();
    this.#outgoing?.destroy();
  }
}

/** Faults that Node's parser finds, as ours tells them. */
export function asKnown(error: Error): Error {
  const code = codeOf(error);
  if (!code.startsWith('HPE_')) return error;
  return new AnswerFault(code === 'HPE_HEADER_OVERFLOW' ? 'head' : 'http', error.message, error);
}
