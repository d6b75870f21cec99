/** One open WebSocket, with the limits of its client. */
import type { RawData, WebSocket } from 'ws';
import type { Privilege } from '../privileges.js';
import type { WebSocketClient, WebSocketHandler } from '../web-socket.js';
import type { WebSocketLimits } from './limits.js';

/**
 * Maximum length of the reason of a close frame, in bytes. The protocol allows 123 (RFC 6455 §5.5).
 * A character that the limit cuts becomes U+FFFD, which has 3 bytes, so the reason may grow a little.
 */
const MAX_REASON_BYTES = 120;

/** The connection of one client. */
export class OpenWebSocket implements WebSocketClient {
  privileges: ReadonlySet<Privilege>;
  /** The number of received and sent bytes, without the frames' headers. */
  readonly bytes = { in: 0, out: 0 };
  /**
   * The code and the reason for the log. The client receives the code only after `close`. If it reads too slowly (4429)
   * or does not answer a ping (1006), the service terminates the connection without a code. After an error (1006), the
   * library may have sent another code. Undefined: the connection is open, or the client ended it.
   */
  end: { readonly code: number; readonly reason: string } | undefined;
  readonly #socket: WebSocket;
  readonly #limits: WebSocketLimits;
  #handler: WebSocketHandler | undefined;
  #isPausedByHandler = false;
  #isOverRate = false;
  #isFull = false;
  #messages = 0;
  #receivedBytes = 0;
  #ticksSincePing = 0;
  #isPongMissing = false;

  constructor(socket: WebSocket, privileges: ReadonlySet<Privilege>, limits: WebSocketLimits) {
    this.#socket = socket;
    this.#limits = limits;
    this.privileges = privileges;
    socket.on('pong', () => (this.#isPongMissing = false));
    socket.on('message', (data, isBinary) => this.#receive(toBuffer(data), isBinary));
    // If the client has violated the protocol, the library has already sent a close code.
    socket.on('error', ({ message }) => {
      this.end ??= { code: 1006, reason: message };
      this.#terminateLater();
    });
  }

  /** Passes the messages to the handler, and calls its `closed` at the end. */
  start(handler: WebSocketHandler): void {
    this.#handler = handler;
    this.#socket.once('close', () => handler.closed());
  }

  send(message: string | Uint8Array): boolean {
    if (this.#socket.readyState !== this.#socket.OPEN) return true;
    this.bytes.out += Buffer.byteLength(message);
    this.#socket.send(message, () => this.#drain());
    const queued = this.#socket.bufferedAmount;
    if (queued > this.#limits.queuedBytes) this.#terminate(4429, 'The client reads too slowly.');
    else this.#isFull ||= queued > this.#limits.busyBytes;
    return !this.#isFull;
  }

  pause(): void {
    this.#isPausedByHandler = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#isPausedByHandler = false;
    if (!this.#isOverRate) this.#socket.resume();
  }

  close(code: number, reason: string): void {
    if (this.end !== undefined) return;
    this.end = { code, reason };
    // A paused socket would not receive the client's close frame.
    this.#socket.resume();
    this.#socket.close(code, cut(reason));
    this.#terminateLater();
  }

  /** Called every `tickMs`: accepts messages again, and detects clients that have disappeared. */
  tick(): void {
    this.#messages = 0;
    this.#receivedBytes = 0;
    if (this.#isOverRate) {
      this.#isOverRate = false;
      if (!this.#isPausedByHandler) this.#socket.resume();
    }
    this.#ticksSincePing += 1;
    if (this.#ticksSincePing < this.#limits.ticksPerPing) return;
    this.#ticksSincePing = 0;
    if (this.#isPongMissing) this.#terminate(1006, 'The client did not answer a ping.');
    // A paused socket would not receive the pong, so it gets no ping.
    else if (!this.#isPausedByHandler) {
      this.#isPongMissing = true;
      this.#socket.ping();
    }
  }

  #receive(data: Buffer, isBinary: boolean): void {
    this.bytes.in += data.length;
    this.#messages += 1;
    this.#receivedBytes += data.length;
    const { messagesPerTick, bytesPerTick } = this.#limits;
    if (!this.#isOverRate && (this.#messages > messagesPerTick || this.#receivedBytes > bytesPerTick)) {
      this.#isOverRate = true;
      this.#socket.pause();
    }
    if (this.end === undefined) this.#handler?.message(data, isBinary);
  }

  #drain(): void {
    if (!this.#isFull || this.#socket.bufferedAmount > this.#limits.busyBytes / 2) return;
    this.#isFull = false;
    this.#handler?.drained?.();
  }

  /**
   * Terminates the connection after `closeMs`: a client that reads nothing never answers the close
   * frame.
   */
  #terminateLater(): void {
    setTimeout(() => this.#socket.terminate(), this.#limits.closeMs).unref();
  }

  #terminate(code: number, reason: string): void {
    this.end ??= { code, reason };
    this.#socket.terminate();
  }
}

/** Cuts a text at a number of bytes of UTF-8. */
function cut(text: string): string {
  return Buffer.from(text).subarray(0, MAX_REASON_BYTES).toString();
}

/** Returns a message as one buffer. With the default `binaryType`, each message already is one. */
function toBuffer(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}
