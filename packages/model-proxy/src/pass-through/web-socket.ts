/**
 * A WebSocket from a client to an upstream: a handshake that is looked at, then bytes in both directions of which only the ends of
 * frames are.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { Exchange } from '../endpoints/exchange.js';
import { refuse } from '../endpoints/refusal.js';
import { toProxyError, type ProxyError } from '../errors.js';
import type { Timeouts } from '../providers/deployment.js';
import type { TracedCall } from '../trace.js';
import { AnswerFault } from '../upstream/answer-fault.js';
import { connectionFault, timeoutFault, type Bound } from '../upstream/connection-faults.js';
import { deadline, type Deadline } from '../upstream/time-bounds.js';
import type { UpstreamCall } from '../upstream/upstream.js';
import { ConnectTimeoutError, type Agents } from './agents.js';
import { FrameCursor, goingAway, maskedGoingAway } from './frames.js';
import type { CreateProxyMiddleware } from './proxy-middleware.js';
import { answerHead, passAnswer, reportEveryEnd, statusFault } from './raw-answer.js';
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
  readonly #handshake: Deadline | undefined;
  /** Runs while both are open, and while a refusal comes. */
  #idle: Deadline | undefined;
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
    this.#handshake = deadline(plan.way.clock, limitMs, () => this.#timeOut('firstByte', limitMs ?? 0));
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
    reportEveryEnd(outgoing, (error) => {
      if (this.#options.exchange.firstByteAt === 0) this.#failed(error);
    });
    // In place of http-proxy's own listeners, which it adds next: they write whatever the upstream answers to the client's socket,
    // a refusal unframed behind a head that says it is in chunks.
    queueMicrotask(() => {
      outgoing.removeAllListeners('response').removeAllListeners('upgrade');
      outgoing.on('response', (answer: IncomingMessage) => this.#try(() => this.#declined(answer)));
      outgoing.on('upgrade', (answer: IncomingMessage, upstream: Socket, head: Buffer) => {
        upstream.on('error', (error) => this.#failed(error));
        this.#try(() => this.#accepted(answer, upstream, head));
      });
    });
  }

  /** For what Node's client calls: what is thrown there would end the process. */
  #try(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#fail(toProxyError(error));
    }
  }

  /** The upstream wants no WebSocket here, and says why. */
  #declined(answer: IncomingMessage): void {
    answer.on('error', () => undefined);
    if (this.#over) {
      answer.destroy();
      return;
    }
    const fault = statusFault(answer);
    if (fault !== null) {
      this.#failed(fault);
      return;
    }
    const { exchange, traced } = this.#options;
    exchange.firstByteAt = performance.now();
    const idle = this.#limitRefusal();
    passAnswer(exchange, answer, traced, {
      onProgress: idle,
      onHeld: () => this.#idle?.stop(),
      onEnd: () => {
        this.#leave();
        traced?.end();
        exchange.response.end();
      },
      onBroken: (error) => this.#failed(error),
    });
  }

  /**
   * Limits a refusal like every other answer: an upstream could otherwise send a head and then nothing.
   * @returns what to call for each chunk.
   */
  #limitRefusal(): () => void {
    const { timeouts, plan } = this.#options;
    const { idleMs } = timeouts;
    this.#handshake?.stop();
    const idle = () => {
      this.#idle?.stop();
      if (!this.#over) this.#idle = deadline(plan.way.clock, idleMs, () => this.#timeOut('idle', idleMs ?? 0));
    };
    idle();
    return idle;
  }

  /** @param behind what has come behind the head of the answer. */
  #accepted(answer: IncomingMessage, upstream: Socket, behind: Buffer): void {
    const { exchange, socket, traced } = this.#options;
    if (this.#over || socket.destroyed) {
      upstream.destroy();
      return;
    }
    // RFC 6455 §4.1; the client checks the rest of the handshake, which is between it and the upstream.
    if (answer.headers.upgrade?.toLowerCase() !== 'websocket') {
      upstream.destroy();
      this.#failed(new AnswerFault('http', 'an upgrade to something else than a WebSocket'));
      return;
    }
    this.#handshake?.stop();
    socket.removeListener('readable', this.#onReadable);
    socket.removeListener('end', this.#onEnd);
    exchange.firstByteAt = performance.now();
    const headers = answerHead(exchange, answer);
    traced?.head(answer.statusCode ?? 0, headers);
    exchange.upgraded = true;
    socket.write(switchingHead(headers), 'latin1');
    if (behind.length > 0) upstream.unshift(behind);
    upstream.setTimeout(0).setNoDelay(true).setKeepAlive(true);
    this.#join(upstream);
  }

  /** Both are open. Pipes end neither where the other breaks off. */
  #join(upstream: Socket): void {
    const { socket, timeouts, exchange, plan } = this.#options;
    this.#upstream = upstream;
    upstream.pipe(socket);
    socket.pipe(upstream);
    // Behind the pipes' own listeners: what the cursors have seen has been written to the other side.
    upstream.on('data', (chunk: Buffer) => this.#passed(this.#toClient, chunk));
    socket.on('data', (chunk: Buffer) => this.#passed(this.#toUpstream, chunk));
    upstream.once('close', () => {
      this.#idle?.stop();
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
    // Bytes in either direction count, pings too.
    this.#idle = deadline(plan.way.clock, idleMs, () => {
      exchange.error = this.#timeoutFault('idle', idleMs ?? 0);
      upstream.destroy();
      socket.destroy();
    });
  }

  #passed(direction: FrameCursor, chunk: Buffer): void {
    this.#idle?.restart();
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
    this.#handshake?.stop();
    this.#idle?.stop();
  }
}

/** The head of a 101. A proxy that is leaving says `connection: close` in other answers; here the header has another meaning. */
function switchingHead(headers: readonly string[]): string {
  const lines = ['HTTP/1.1 101 Switching Protocols'];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] ?? '';
    if (name !== 'connection') lines.push(`${name}: ${headers[index + 1] ?? ''}`);
  }
  return `${[...lines, 'connection: Upgrade', 'upgrade: websocket'].join('\r\n')}\r\n\r\n`;
}

/** Ends one direction with a close frame, where a frame may stand. What still comes from there is read, so that its end is seen. */
function endWith(from: Socket, to: Socket, passed: FrameCursor, frame: (reason: string) => Buffer): void {
  if (to.writableEnded || !passed.isBetweenFrames) return;
  from.unpipe(to);
  from.resume();
  if (passed.isClosed) to.end();
  else to.end(frame(LEAVING));
}
