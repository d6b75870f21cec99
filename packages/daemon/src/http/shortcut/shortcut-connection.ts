/** A connection whose plain requests take the shortcut, until a request needs Node's HTTP server. */
import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { readPlainHead } from './plain-head.js';
import { PlainRequest } from './plain-request.js';
import { PlainResponse } from './plain-response.js';

/** Settings of {@link ShortcutConnection}. */
export interface ShortcutSettings {
  /** Returns whether a POST to this path may take the shortcut. */
  readonly isEligible: (url: string) => boolean;
  /** Handles the requests. */
  readonly handle: RequestListener;
  /** Gives the socket to Node's HTTP server, as a new connection. */
  readonly serve: (socket: Socket) => void;
  /** How long the server waits for the next request, in seconds. */
  readonly idleSeconds: number;
}

/**
 * Maximum number of bytes that wait for the end of a response. The connection continues to read up to this number: a
 * server that does not read does not notice that the client has disconnected.
 */
const MAX_HELD_BYTES = 65_536;
/** Size of the first buffer for waiting bytes. */
const FIRST_HELD_BYTES = 1024;

/** A connection. It ends when the socket closes, or when Node's server gets the socket. */
export class ShortcutConnection {
  readonly #socket: Socket;
  readonly #settings: ShortcutSettings;
  readonly #onEnd: (connection: ShortcutConnection) => void;
  #response: PlainResponse | null = null;
  /** The request whose body is arriving; null: none, or its response has been sent. */
  #request: PlainRequest | null = null;
  /** Number of bytes of the body that are still expected. */
  #left = 0;
  /** A buffer that begins with the bytes that arrived before the end of the response. */
  #held = Buffer.alloc(0);
  #heldBytes = 0;
  /** The last time when the connection did something, in milliseconds of `performance.now()`. */
  #activeAt = performance.now();
  #isUsed = false;

  /** @param onEnd called once, when the connection ends. */
  constructor(socket: Socket, settings: ShortcutSettings, onEnd: (connection: ShortcutConnection) => void) {
    this.#socket = socket;
    this.#settings = settings;
    this.#onEnd = onEnd;
    socket.on('data', this.#onData);
    socket.on('end', this.#onSocketEnd);
    socket.on('error', this.#onError);
    socket.on('close', this.#onClose);
    socket.on('drain', this.#onDrain);
  }

  get socket(): Socket {
    return this.#socket;
  }

  /** Whether a byte has arrived. */
  get isUsed(): boolean {
    return this.#isUsed;
  }

  /** Whether no request runs. */
  get isIdle(): boolean {
    return this.#response === null && this.#left === 0;
  }

  /** Returns whether no response is due, and nothing has happened since a time. */
  isInactiveSince(time: number): boolean {
    return this.#response === null && this.#activeAt < time;
  }

  readonly #onData = (bytes: Buffer): void => {
    // The connection is about to close, so a request could get no answer.
    if (!this.#socket.writable) return;
    const rest = this.#left > 0 ? this.#takeBody(bytes) : bytes;
    if (rest.length === 0) return;
    if (this.#response !== null) this.#hold(rest);
    else if (!this.#begin(rest)) this.#leave(rest);
  };

  /** Runs a plain request. @returns false if Node must read it. */
  #begin(bytes: Buffer): boolean {
    this.#isUsed = true;
    const head = readPlainHead(bytes);
    if (head === null || !this.#settings.isEligible(head.url)) return false;
    const arrived = bytes.length - head.byteLength;
    // Pipelined requests go to Node's server, whose listeners limit their number.
    if (arrived > head.bodyLength) return false;
    const body = bytes.subarray(head.byteLength);
    const request = new PlainRequest(this.#socket, head, arrived === head.bodyLength ? body : null);
    const response = new PlainResponse(request, {
      socket: this.#socket,
      keepsAlive: head.keepsAlive,
      idleSeconds: this.#settings.idleSeconds,
      onSent: this.#onSent,
    });
    this.#response = response;
    if (arrived < head.bodyLength) {
      this.#request = request;
      this.#left = head.bodyLength;
    }
    this.#settings.handle(request, response);
    if (this.#left > 0 && arrived > 0) this.#takeBody(body);
    return true;
  }

  /** Passes bytes of the body to the request. @returns the bytes after the body. */
  #takeBody(bytes: Buffer): Buffer {
    const length = Math.min(this.#left, bytes.length);
    this.#left -= length;
    this.#activeAt = performance.now();
    const request = this.#request;
    if (request !== null && !request.push(bytes.subarray(0, length))) this.#socket.pause();
    if (this.#left === 0 && request !== null) {
      this.#request = null;
      request.complete = true;
      request.push(null);
      this.#socket.resume();
    }
    return bytes.subarray(length);
  }

  /** Copies the bytes, because a chunk of one byte can belong to a buffer of 64 KB. */
  #hold(bytes: Buffer): void {
    const size = this.#heldBytes + bytes.length;
    if (size > this.#held.length) {
      const larger = Buffer.allocUnsafe(Math.max(size, 2 * this.#held.length, FIRST_HELD_BYTES));
      this.#held.copy(larger, 0, 0, this.#heldBytes);
      this.#held = larger;
    }
    bytes.copy(this.#held, this.#heldBytes);
    this.#heldBytes = size;
    if (size >= MAX_HELD_BYTES) this.#socket.pause();
  }

  readonly #onSent = (): void => {
    const keepsAlive = this.#response?.shouldKeepAlive === true;
    this.#response = null;
    // The connection reads and discards the rest of the body, as Node does.
    this.#request = null;
    this.#activeAt = performance.now();
    if (!keepsAlive) this.#socket.destroySoon();
    else if (this.#heldBytes > 0) this.#leave(this.#held.subarray(0, this.#heldBytes));
    else if (this.#left > 0) this.#socket.resume();
  };

  /** Gives the socket to Node's server. @param bytes not read yet. */
  #leave(bytes: Buffer): void {
    const socket = this.#socket;
    socket.off('data', this.#onData);
    socket.off('end', this.#onSocketEnd);
    socket.off('error', this.#onError);
    socket.off('close', this.#onClose);
    socket.off('drain', this.#onDrain);
    this.#onEnd(this);
    // Without this pause, the bytes would be lost before the server listens.
    socket.pause();
    socket.unshift(bytes);
    this.#settings.serve(socket);
    socket.resume();
  }

  /** Closes the connection after the client has, as Node's server does. */
  readonly #onSocketEnd = (): void => void this.#socket.end();

  /** The socket closes after an error. Without a listener, an error would end the process. */
  readonly #onError = (): void => void this.#socket.destroy();

  readonly #onClose = (): void => {
    this.#onEnd(this);
    this.#request?.destroy(new Error('aborted'));
    this.#response?.socketClosed();
  };

  readonly #onDrain = (): void => this.#response?.drained();
}
