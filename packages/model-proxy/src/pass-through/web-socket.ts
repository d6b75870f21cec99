/**
 * A WebSocket from a client to an upstream: a handshake that is looked at, then bytes in both directions of which only the ends of
 * frames are.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { Exchange } from '../endpoints/exchange.js';
import { refuse } from '../endpoints/refusal.js';
import type { ProxyError } from '../errors.js';
import type { Timeouts } from '../providers/deployment.js';
import type { TracedCall } from '../trace.js';
import { connectionFault, timeoutFault, type Bound } from '../upstream/connection-faults.js';
import type { UpstreamCall } from '../upstream/upstream.js';
import { optionalTimer } from './optional-timer.js';
import { ConnectTimeoutError, type Agents } from './agents.js';
import { FrameCursor, goingAway, maskedGoingAway } from './frames.js';
import type { CreateProxyMiddleware } from './proxy-middleware.js';
import { answerHead, passAnswer } from './raw-answer.js';
import { asKnown } from './raw-call.js';
import { proxyOptions, RawRequest, type RawPlan } from './raw-request.js';

export interface WebSocketOptions {
  readonly exchange: Exchange;
  /** The client's; carries the exchange's response until it is handed over. */
  readonly socket: Socket;
  /** What came behind the client's head. */
  readonly head: Buffer;
  readonly createProxy: CreateProxyMiddleware;
  readonly agents: Agents;
  readonly plan: RawPlan;
  readonly timeouts: Timeouts;
  readonly traced: TracedCall | null;
}

/** How long a client may take to read what came before its upstream went away, in milliseconds. */
const LAST_BYTES_MS = 30_000;
const LEAVING = 'the proxy is shutting down';

/** Begins when it is constructed. */
export class WebSocketCall implements UpstreamCall {
  readonly #options: WebSocketOptions;
  readonly #startedAt = performance.now();
  readonly #handshake: NodeJS.Timeout | undefined;
  #outgoing: ClientRequest | undefined;
  /** The upstream's, when both are open. */
  #upstream: Socket | undefined;
  readonly #toClient = new FrameCursor();
  readonly #toUpstream = new FrameCursor();
  /** Whether both sides are to be told that this proxy goes away. */
  #leaving = false;
  #over = false;

  constructor(options: WebSocketOptions) {
    this.#options = options;
    const { exchange, timeouts, plan, agents, createProxy, socket, head } = options;
    exchange.call = this;
    exchange.receivedAt = exchange.sentAt = this.#startedAt;
    const limitMs = timeouts.firstByteMs ?? timeouts.totalMs;
    this.#handshake = optionalTimer(limitMs, () => this.#timeOut('firstByte', limitMs ?? 0));
    socket.on('readable', this.#onReadable);
    socket.on('end', this.#onEnd);
    // Before anything else is read: http-proxy does the same, but only when its turn has come.
    if (head.length > 0) socket.unshift(head);

    // http-proxy looks for this one in the client's request.
    const raw = new RawRequest(plan, { upgrade: 'websocket' });
    const proxy = createProxy({
      ...proxyOptions(plan, agents.fresh),
      plugins: [
        (server) => {
          server.on('proxyReqWs', (outgoing: ClientRequest) => this.#begin(outgoing));
          server.on('open', (upstream) => this.#join(upstream));
          server.on('error', (error: Error) => this.#failed(error));
        },
      ],
    });
    proxy.upgrade(raw.asMessage, socket, Buffer.alloc(0));
  }

  /** The client has gone before it was answered. */
  abort(): void {
    if (this.#over) return;
    this.#leave();
    this.#outgoing?.destroy();
  }

  pause(): void {
    // Nothing flows before the handshake is over, and after it the sockets hold each other back.
  }

  resume(): void {
    // As pause.
  }

  /** Tells both sides that this proxy goes away, each as soon as a frame may stand there, and says nothing else from then on. */
  sayGoodbye(): void {
    this.#leaving = true;
    this.#endBetweenFrames();
  }

  /** Node tells that a client has gone only to who reads; its first frames, if there are any, stay where they are. */
  readonly #onReadable = (): void => {
    const { socket } = this.#options;
    if (socket.readableLength === 0) socket.read(0);
  };

  readonly #onEnd = (): void => {
    this.#options.socket.destroy();
  };

  #begin(outgoing: ClientRequest): void {
    this.#outgoing = outgoing;
    // http-proxy begins some promises later; it may be too late by then.
    if (this.#over) outgoing.destroy();
    // Before http-proxy's own listener, which it adds next.
    outgoing.on('upgrade', (answer: IncomingMessage) => this.#accepted(answer));
    queueMicrotask(() => {
      // In place of http-proxy's own, which writes the answer unframed behind a head that says it is in chunks.
      outgoing.removeAllListeners('response');
      outgoing.on('response', (answer: IncomingMessage) => this.#declined(answer));
    });
  }

  /** The upstream wants no WebSocket here, and says why. */
  #declined(answer: IncomingMessage): void {
    if (this.#over) {
      answer.destroy();
      return;
    }
    const { exchange, traced } = this.#options;
    clearTimeout(this.#handshake);
    exchange.firstByteAt = performance.now();
    const nothing = () => undefined;
    passAnswer(exchange, answer, traced, {
      onProgress: nothing,
      onHeld: nothing,
      onEnd: () => {
        this.#leave();
        traced?.end();
        exchange.response.end();
      },
      onBroken: (error) => this.#failed(error),
    });
  }

  /** Sends no byte by itself: http-proxy writes the head of the 101, of what it finds in the answer. */
  #accepted(answer: IncomingMessage): void {
    if (this.#over) return;
    const { exchange, socket, traced } = this.#options;
    clearTimeout(this.#handshake);
    socket.removeListener('readable', this.#onReadable);
    socket.removeListener('end', this.#onEnd);
    exchange.upgraded = true;
    exchange.firstByteAt = performance.now();
    const head = answerHead(exchange, answer);
    traced?.head(answer.statusCode ?? 0, head);
    const headers: Record<string, string | string[]> = {};
    for (let index = 0; index + 1 < head.length; index += 2) {
      const [name = '', value = ''] = head.slice(index, index + 2);
      const former = headers[name];
      headers[name] = former === undefined ? value : [former, value].flat();
    }
    // A proxy that is leaving says so in other answers; of this one the word has another meaning.
    answer.headers = { ...headers, connection: 'Upgrade', upgrade: 'websocket' };
  }

  /** Both are open: http-proxy has piped each into the other, which ends neither where the other breaks off. */
  #join(upstream: Socket): void {
    const { socket, timeouts, exchange } = this.#options;
    if (this.#over || socket.destroyed) {
      upstream.destroy();
      return;
    }
    this.#upstream = upstream;
    // Behind the pipes' own listeners: what the cursors have seen has been written to the other side.
    upstream.on('data', (chunk: Buffer) => this.#passed(this.#toClient, chunk));
    socket.on('data', (chunk: Buffer) => this.#passed(this.#toUpstream, chunk));
    upstream.once('close', () => {
      if (socket.destroyed) return;
      socket.destroySoon();
      // It waits for a client that does not read.
      const enough = setTimeout(() => socket.destroy(), LAST_BYTES_MS);
      socket.once('close', () => clearTimeout(enough));
    });
    socket.once('close', () => {
      // The upstream's close frame may still be on its way.
      if (this.#leaving) upstream.destroySoon();
      else upstream.destroy();
      this.#leave();
    });
    if (this.#leaving) this.#endBetweenFrames();
    const { idleMs } = timeouts;
    if (idleMs === null) return;
    // Bytes in either direction count, pings too.
    upstream.setTimeout(idleMs, () => {
      exchange.error = this.#timeoutFault('idle', idleMs);
      upstream.destroy();
      socket.destroy();
    });
  }

  #passed(direction: FrameCursor, chunk: Buffer): void {
    direction.push(chunk);
    if (this.#leaving) this.#endBetweenFrames();
  }

  #endBetweenFrames(): void {
    const { socket } = this.#options;
    const upstream = this.#upstream;
    if (upstream === undefined) return;
    endWith(upstream, socket, this.#toClient, goingAway);
    endWith(socket, upstream, this.#toUpstream, maskedGoingAway);
  }

  #failed(error: Error): void {
    const { exchange, plan } = this.#options;
    if (this.#over) return;
    if (error instanceof ConnectTimeoutError) {
      this.#timeOut('connect', error.limitMs);
      return;
    }
    const progress = { answerBegun: exchange.firstByteAt !== 0, reused: false };
    this.#fail(connectionFault(asKnown(error), progress, plan.way.peer));
  }

  #timeOut(bound: Bound, limitMs: number): void {
    this.#fail(this.#timeoutFault(bound, limitMs));
  }

  #timeoutFault(bound: Bound, limitMs: number): ProxyError {
    return timeoutFault(bound, limitMs, performance.now() - this.#startedAt, this.#options.plan.way.peer);
  }

  #fail(error: ProxyError): void {
    const { exchange, traced, socket } = this.#options;
    this.#leave();
    traced?.fail(error);
    this.#outgoing?.destroy();
    if (exchange.upgraded || exchange.response.headersSent) {
      exchange.error = error;
      // After what the upstream has still said.
      socket.destroySoon();
      return;
    }
    refuse(exchange, error);
  }

  #leave(): void {
    if (this.#over) return;
    this.#over = true;
    this.#options.exchange.answeredAt = performance.now();
    clearTimeout(this.#handshake);
  }
}

/** Ends one direction with a close frame, where a frame may stand. What still comes from there is read, so that its end is seen. */
function endWith(from: Socket, to: Socket, passed: FrameCursor, frame: (reason: string) => Buffer): void {
  if (to.writableEnded || !passed.isBetweenFrames) return;
  from.unpipe(to);
  from.resume();
  if (passed.isClosed) to.end();
  else to.end(frame(LEAVING));
}
