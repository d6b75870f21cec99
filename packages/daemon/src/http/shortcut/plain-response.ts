/**
 * The response to a request that the shortcut (shortcut.ts) has read. It sends the same bytes as Node's
 * `ServerResponse`, in fewer writes: an answer that is complete at once, with a small body, is a single write.
 */
import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { RenderedHeaders } from './rendered-headers.js';
import { renderHead } from './response-head.js';

/** Bodies up to this size are joined with the head to one latin1 text. Node writes such a text without a buffer. */
const JOINED_BYTES = 16_384;
const LAST_CHUNK = '0\r\n\r\n';

type Done = (error?: Error | null) => void;

/** Options of {@link PlainResponse}. */
interface PlainResponseOptions {
  readonly socket: Socket;
  /** Whether the client wants to send another request on the connection. */
  readonly keepsAlive: boolean;
  /** How long the server waits for that request, in seconds. */
  readonly idleSeconds: number;
  /** Called when the whole response has been sent. */
  readonly onSent: () => void;
}

/**
 * A response. Its head must come from `writeHead` with rendered headers, or with a list of names and values.
 * `setHeader`, trailers and interim answers do not work. `write` has no callback: use the event `drain`.
 */
export class PlainResponse extends ServerResponse {
  declare socket: Socket | null;
  readonly #idleSeconds: number;
  readonly #onSent: () => void;
  /** The head while it is not written; empty before `writeHead` and after its write. */
  #head = '';
  #isBegun = false;
  #isEnded = false;
  #isSent = false;
  #isClosed = false;
  #hasBody = true;
  /** Whether the socket is corked until the end of the turn. */
  #isCorked = false;
  /** Writes that the socket has not completed. */
  #pendingWrites = 0;
  /** Whether bytes were lost, because the socket could not be written. */
  #isCut = false;
  /** Whether a write has filled the socket's buffer. */
  #needsDrain = false;

  constructor(request: IncomingMessage, { socket, keepsAlive, idleSeconds, onSent }: PlainResponseOptions) {
    super(request);
    this.socket = socket;
    this.shouldKeepAlive = keepsAlive;
    this.#idleSeconds = idleSeconds;
    this.#onSent = onSent;
  }

  static {
    // Node computes these properties from fields that this class does not use.
    const getters: Readonly<Record<string, (this: PlainResponse) => unknown>> = {
      closed() {
        return this.#isClosed;
      },
      headersSent() {
        return this.#isBegun;
      },
      writableEnded() {
        return this.#isEnded;
      },
      writableFinished() {
        return this.#isSent;
      },
      writableLength() {
        return this.#head.length + (this.socket?.writableLength ?? 0);
      },
    };
    for (const [name, get] of Object.entries(getters)) Object.defineProperty(this.prototype, name, { get });
  }

  override writeHead(status: number, headers?: unknown): this {
    if (this.#isBegun) throw new Error('the head of the response has been sent');
    if (!Array.isArray(headers) && !(headers instanceof RenderedHeaders))
      throw new TypeError('the shortcut needs rendered headers, or a list of names and values');
    const connection = { keepsAlive: this.shouldKeepAlive, idleSeconds: this.#idleSeconds };
    const { text, hasBody, isChunked, keepsAlive } = renderHead(status, headers, connection);
    this.#isBegun = true;
    this.#head = text;
    this.#hasBody = hasBody;
    this.statusCode = status;
    this.chunkedEncoding = isChunked;
    this.shouldKeepAlive = keepsAlive;
    return this;
  }

  override flushHeaders(): void {
    this.#writeText('');
  }

  /**
   * @returns false: wait for `drain`, or for `close` if the response has ended or the socket is closed.
   * @throws {TypeError} if the caller passes a callback, which would never be called.
   */
  override write(chunk: unknown, encoding?: unknown, done?: unknown): boolean {
    if (typeof encoding === 'function' || typeof done === 'function')
      throw new TypeError('the shortcut calls no callback after a write');
    if (this.#isEnded) return false;
    const bytes = bytesOf(chunk, encoding);
    if (!this.#hasBody || bytes.length === 0) return true;
    if (typeof bytes === 'string') return this.#writeText(this.#framed(bytes));
    if (this.chunkedEncoding) {
      if (bytes.length <= JOINED_BYTES) return this.#writeText(this.#framed(bytes.toString('latin1')));
      this.#writeText(`${bytes.length.toString(16)}\r\n`);
      this.#writeBytes(bytes);
      return this.#writeText('\r\n');
    }
    if (this.#head !== '') this.#writeText('');
    return this.#writeBytes(bytes);
  }

  override end(chunk?: unknown, encoding?: unknown, done?: unknown): this {
    const callback = [chunk, encoding, done].find((argument) => typeof argument === 'function');
    if (typeof callback === 'function') this.once('finish', () => void Reflect.apply(callback, this, []));
    if (this.#isEnded) return this;
    if (this.destroyed) {
      this.#isEnded = true;
      return this;
    }
    if (!this.#isBegun) throw new Error('the shortcut needs the head before the end of the response');
    const bytes = typeof chunk === 'function' || !this.#hasBody ? '' : bytesOf(chunk, encoding);
    const isJoined = typeof bytes === 'string' || bytes.length <= JOINED_BYTES;
    if (!isJoined) this.write(bytes);
    const text = isJoined ? this.#framed(typeof bytes === 'string' ? bytes : bytes.toString('latin1')) : '';
    this.#isEnded = true;
    const end = this.chunkedEncoding ? LAST_CHUNK : '';
    if (this.#head !== '' || text !== '' || end !== '') this.#writeText(text + end);
    this.#uncork();
    if (this.#pendingWrites === 0) process.nextTick(() => this.#sendEnd());
    return this;
  }

  override destroy(error?: Error): this {
    if (this.destroyed) return this;
    this.destroyed = true;
    this.socket?.destroy(error);
    return this;
  }

  /** Reports that the socket's buffer has room again. */
  drained(): void {
    if (!this.#needsDrain || this.#isEnded) return;
    this.#needsDrain = false;
    this.emit('drain');
  }

  /** Closes the response because the socket has closed. The client may have none or a part of it. */
  socketClosed(): void {
    if (!this.#isClosed) this.#close();
  }

  /** Returns a text as a chunk, if the body has chunks. */
  #framed(text: string): string {
    return this.chunkedEncoding && text !== '' ? `${text.length.toString(16)}\r\n${text}\r\n` : text;
  }

  /** Writes the head, if it is not written yet, and a text. @param text latin1. */
  #writeText(text: string): boolean {
    const all = this.#head + text;
    this.#head = '';
    return this.#written((socket, done) => socket.write(all, 'latin1', done));
  }

  /** Writes bytes. All writes in the rest of this turn of the event loop are a single write to the kernel. */
  #writeBytes(bytes: Buffer): boolean {
    const { socket } = this;
    if (socket !== null && !this.#isCorked) {
      this.#isCorked = true;
      socket.cork();
      process.nextTick(() => this.#uncork());
    }
    return this.#written((open, done) => open.write(bytes, done));
  }

  #uncork(): void {
    if (!this.#isCorked) return;
    this.#isCorked = false;
    this.socket?.uncork();
  }

  /**
   * Calls a function that writes, unless the socket cannot be written.
   * @returns whether the socket's buffer has room.
   */
  #written(write: (socket: Socket, done: Done) => boolean): boolean {
    const { socket } = this;
    if (socket === null || this.destroyed || !socket.writable) {
      this.#isCut = true;
      return false;
    }
    this.#pendingWrites += 1;
    const hasRoom = write(socket, this.#onWritten);
    this.#needsDrain ||= !hasRoom;
    return hasRoom;
  }

  readonly #onWritten = (error?: Error | null): void => {
    this.#pendingWrites -= 1;
    // After an error, the socket closes.
    if (this.#isEnded && this.#pendingWrites === 0 && (error === null || error === undefined)) this.#sendEnd();
  };

  #sendEnd(): void {
    if (this.#isClosed || this.destroyed) return;
    if (this.#isCut) {
      this.destroy();
      return;
    }
    this.#isSent = true;
    this.emit('finish');
    this.#close();
    this.#onSent();
  }

  #close(): void {
    this.socket = null;
    this.destroyed = true;
    this.#isClosed = true;
    this.emit('close');
  }
}

/** Returns a text in latin1 as it is, other texts and `Uint8Array` as bytes, and an empty text for other values. */
function bytesOf(chunk: unknown, encoding: unknown): Buffer | string {
  if (typeof chunk === 'string') return encoding === 'latin1' ? chunk : Buffer.from(chunk, 'utf8');
  if (chunk instanceof Uint8Array) return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return '';
}
