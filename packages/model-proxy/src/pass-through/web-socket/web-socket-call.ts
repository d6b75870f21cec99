/**
 * Forwards a WebSocket between a client and an upstream. Checks the handshake, then copies bytes in both directions.
 * Finds the ends of frames, and reads the upstream's text messages to count tokens.
 */
import type { Agent, ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import type { Exchange } from '../../exchange/exchange.js';
import { refuse } from '../../exchange/answer/refusal.js';
import { toProxyError, type ProxyError } from '../../errors/proxy-error.js';
import type { Timeouts } from '../../providers/deployment.js';
import type { TracedCall } from '../../trace.js';
import { AnswerFault } from '../../upstream/connection/answer-fault.js';
import { connectionFault, timeoutFault, type TimeoutName } from '../../upstream/connection-faults.js';
import { deadline, type Deadline } from '../../upstream/deadlines.js';
import type { UpstreamCall } from '../../upstream/upstream.js';
import { ConnectTimeoutError } from '../agents.js';
import type { CreateProxyMiddleware } from '../proxy-middleware.js';
import { answerHead, passAnswer, reportEveryEnd, statusFault } from '../raw-answer.js';
import type { CloseReason } from './frames.js';
import { SocketPair } from './socket-pair.js';
import { WebSocketUsage } from './web-socket-usage.js';
import { asAnswerFault, proxyOptions, switchingHead, UpgradeRequest, type UpgradePlan } from './upgrade-request.js';

/** Status code 1008: policy violation (RFC 6455 §7.4.1). */
const REVOKED: CloseReason = { code: 1008, reason: 'the client may no longer use the proxy' };
/** Milliseconds between the close frame {@link REVOKED} and the end of both connections. */
const CLOSE_FRAME_MS = 1000;

/** Options of {@link WebSocketCall}. */
interface WebSocketOptions {
  readonly exchange: Exchange;
  /** The client's socket. It carries the exchange's response until the handshake ends. */
  readonly socket: Socket;
  /** Bytes that arrived after the client's head. */
  readonly head: Buffer;
  readonly createProxy: CreateProxyMiddleware;
  readonly agent: Agent;
  readonly plan: UpgradePlan;
  readonly timeouts: Timeouts;
  readonly traced: TracedCall | null;
}

/** A WebSocket in flight. The constructor starts the handshake. */
export class WebSocketCall implements UpstreamCall {
  readonly #options: WebSocketOptions;
  readonly #startedAt = performance.now();
  readonly #handshake: Deadline | undefined;
  /** Runs while both sides are open, and while a rejection arrives. */
  #idle: Deadline | undefined;
  #outgoing: ClientRequest | undefined;
  /** The two sockets, after the handshake. */
  #pair: SocketPair | undefined;
  /** The content of the close frame that both sides get; null: they get none. */
  #end: CloseReason | null = null;
  #over = false;

  constructor(options: WebSocketOptions) {
    this.#options = options;
    const { exchange, timeouts, plan, agent, createProxy, socket, head } = options;
    exchange.call = this;
    exchange.receivedAt = exchange.sentAt = this.#startedAt;
    const limitMs = timeouts.firstByteMs ?? timeouts.totalMs;
    this.#handshake = deadline(plan.connector.clock, limitMs, () => this.#timeOut('firstByte', limitMs ?? 0));
    socket.on('readable', this.#onReadable);
    socket.on('end', this.#onEnd);
    // Puts the bytes back before the first read. http-proxy would do this too late.
    if (head.length > 0) socket.unshift(head);

    // http-proxy gets this object instead of the client's request, and reads its `upgrade` header.
    const upgradeRequest = new UpgradeRequest(plan);
    const proxy = createProxy({
      ...proxyOptions(plan, agent),
      plugins: [
        (server) => {
          server.on('proxyReqWs', (outgoing: ClientRequest) => this.#begin(outgoing));
          server.on('error', (error: Error) => this.#connectionFailed(error));
        },
      ],
    });
    proxy.upgrade(upgradeRequest.asMessage, socket, Buffer.alloc(0));
  }

  /** Ends the handshake after the client closed its connection. */
  abort(): void {
    if (this.#over) return;
    this.#finish();
    this.#outgoing?.destroy();
  }

  pause(): void {
    // Does nothing: after the handshake, the pipes of the sockets handle backpressure.
  }

  resume(): void {
    // Does nothing, as `pause`.
  }

  /**
   * Sends both sides a close frame as soon as a frame can follow, and forwards nothing after it. If the handshake still
   * runs, does so after the handshake.
   */
  close(end: CloseReason): void {
    this.#end = end;
    this.#pair?.close(end);
  }

  /**
   * Ends the WebSocket of a client that may no longer use the proxy. A side gets a close frame if a frame can follow
   * within {@link CLOSE_FRAME_MS}. A client that still waits for its handshake gets the error.
   */
  revoke(error: ProxyError): void {
    const pair = this.#pair;
    if (this.#over) return;
    if (pair === undefined) {
      this.#fail(error);
      return;
    }
    this.#options.exchange.error = error;
    this.close(REVOKED);
    const limit = setTimeout(() => pair.destroy(), CLOSE_FRAME_MS);
    this.#options.socket.once('close', () => clearTimeout(limit));
  }

  /**
   * Reads the client's socket, because Node reports a closed connection only to readers. The
   * client's first frames stay in the socket.
   */
  readonly #onReadable = (): void => {
    const { socket } = this.#options;
    if (socket.readableLength === 0) socket.read(0);
  };

  readonly #onEnd = (): void => {
    this.#options.socket.destroy();
  };

  #begin(outgoing: ClientRequest): void {
    this.#outgoing = outgoing;
    // http-proxy begins asynchronously. The exchange may have ended before.
    if (this.#over) outgoing.destroy();
    reportEveryEnd(outgoing, (error) => {
      if (this.#options.exchange.firstByteAt === 0) this.#connectionFailed(error);
    });
    // Replaces the listeners that http-proxy adds next. Those listeners write every answer of the upstream
    // to the client's socket: a rejection without chunk sizes, although its head announces chunks.
    queueMicrotask(() => {
      outgoing.removeAllListeners('response').removeAllListeners('upgrade');
      outgoing.on('response', (answer: IncomingMessage) => this.#try(() => this.#declined(answer)));
      outgoing.on('upgrade', (answer: IncomingMessage, upstream: Socket, head: Buffer) => {
        upstream.on('error', (error) => this.#connectionFailed(error));
        this.#try(() => this.#accepted(answer, upstream, head));
      });
    });
  }

  /** Runs a callback of Node's client, where an exception would end the process. */
  #try(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#fail(toProxyError(error));
    }
  }

  /** Forwards the answer of an upstream that rejects the WebSocket. */
  #declined(answer: IncomingMessage): void {
    answer.on('error', () => undefined);
    if (this.#over) {
      answer.destroy();
      return;
    }
    const fault = statusFault(answer);
    if (fault !== null) {
      this.#connectionFailed(fault);
      return;
    }
    const { exchange, traced } = this.#options;
    exchange.firstByteAt = performance.now();
    const restartIdle = this.#limitRejection();
    passAnswer(exchange, answer, traced, {
      onProgress: restartIdle,
      onPaused: () => this.#idle?.stop(),
      onEnd: () => {
        this.#finish();
        traced?.end();
        exchange.response.end();
      },
      onBroken: (error) => this.#connectionFailed(error),
    });
  }

  /**
   * Limits a rejection with the idle timeout, as other answers: an upstream could otherwise send a
   * head and nothing more.
   * @returns a function to call for each chunk.
   */
  #limitRejection(): () => void {
    const { timeouts, plan } = this.#options;
    const { idleMs } = timeouts;
    this.#handshake?.stop();
    const restartIdle = () => {
      this.#idle?.stop();
      if (!this.#over) this.#idle = deadline(plan.connector.clock, idleMs, () => this.#timeOut('idle', idleMs ?? 0));
    };
    restartIdle();
    return restartIdle;
  }

  /** @param rest bytes that arrived after the head of the answer. */
  #accepted(answer: IncomingMessage, upstream: Socket, rest: Buffer): void {
    const { exchange, socket, traced, timeouts, plan } = this.#options;
    if (this.#over || socket.destroyed) {
      upstream.destroy();
      return;
    }
    // RFC 6455 §4.1. The client itself checks the other headers of the handshake.
    if (answer.headers.upgrade?.toLowerCase() !== 'websocket') {
      upstream.destroy();
      this.#connectionFailed(new AnswerFault('http', 'an upgrade to another protocol'));
      return;
    }
    this.#handshake?.stop();
    socket.removeListener('readable', this.#onReadable);
    socket.removeListener('end', this.#onEnd);
    exchange.firstByteAt = performance.now();
    const headers = answerHead(exchange, answer.rawHeaders);
    traced?.head(answer.statusCode ?? 0, headers);
    exchange.upgraded = true;
    socket.write(switchingHead(headers), 'latin1');
    if (rest.length > 0) upstream.unshift(rest);
    upstream.setTimeout(0).setNoDelay(true).setKeepAlive(true);
    const { idleMs } = timeouts;
    // All bytes in both directions count, also pings.
    const idle = deadline(plan.connector.clock, idleMs, () => {
      exchange.error = this.#timeoutFault('idle', idleMs ?? 0);
      upstream.destroy();
      socket.destroy();
    });
    this.#idle = idle;
    this.#pair = new SocketPair(socket, upstream, {
      onBytes: () => idle?.restart(),
      onUpstreamClosed: () => idle?.stop(),
      onClientClosed: () => this.#finish(),
      texts: new WebSocketUsage(exchange),
    });
    if (this.#end !== null) this.#pair.close(this.#end);
  }

  /** Translates an error of the connection to the upstream, and ends the WebSocket with it. */
  #connectionFailed(error: Error): void {
    const { exchange, plan } = this.#options;
    if (this.#over) return;
    if (error instanceof ConnectTimeoutError) {
      this.#timeOut('connect', error.limitMs);
      return;
    }
    const progress = { answerBegun: exchange.firstByteAt !== 0, reused: false };
    this.#fail(connectionFault(asAnswerFault(error), progress, plan.connector.peer));
  }

  #timeOut(name: TimeoutName, limitMs: number): void {
    this.#fail(this.#timeoutFault(name, limitMs));
  }

  #timeoutFault(name: TimeoutName, limitMs: number): ProxyError {
    return timeoutFault(name, limitMs, performance.now() - this.#startedAt, this.#options.plan.connector.peer);
  }

  /** Ends the WebSocket with an error for the client. After the head of the answer, only closes the connection. */
  #fail(error: ProxyError): void {
    const { exchange, traced, socket } = this.#options;
    this.#finish();
    traced?.fail(error);
    this.#outgoing?.destroy();
    if (exchange.upgraded || exchange.response.headersSent) {
      exchange.error = error;
      // Writes the upstream's last bytes first.
      socket.destroySoon();
      return;
    }
    refuse(exchange, error);
  }

  /** Stops the deadlines. Later events change nothing. */
  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    this.#options.exchange.answeredAt = performance.now();
    this.#handshake?.stop();
    this.#idle?.stop();
  }
}
