/**
 * Speaks HTTP/1.1 over a socket to an upstream: sends a single request at a time, and reports the
 * answer while it arrives.
 */
import type { Socket } from 'node:net';
import { AnswerFault } from './answer-fault.js';
import type { AnswerHead } from './answer-head.js';
import { AnswerReader, type AnswerSink } from './answer-reader.js';
import { BodyStream } from '../body-stream.js';
import type { WireRequest } from './wire-request.js';
import { writeUpload } from './write-upload.js';

/** Receives the progress and the answer of a request. No call follows the end or an error. */
export interface AnswerListener {
  /** The connection begins to write the request. */
  onWriting(): void;
  /** The socket has accepted a part of the body. */
  onBodySent(): void;
  /** The socket has accepted the whole request. */
  onRequestSent(): void;
  /** The first byte of an answer has arrived. */
  onAnswerBegun(): void;
  /** @returns false if the connection must pause. */
  onHead(head: AnswerHead): boolean;
  /** @returns false if the connection must pause. */
  onData(bytes: Buffer): boolean;
  /**
   * @param isReusable whether another request may follow on the connection. The caller must still wait until
   *   {@link Connection.hasWrittenAll}.
   */
  onAnswerEnd(isReusable: boolean): void;
  onError(error: Error): void;
}

/**
 * A paused connection reads up to this number of bytes. If it read nothing, Node would not report
 * the end of the connection.
 */
const MAX_HELD_BYTES = 65_536;
/** A body up to this number of bytes is sent in a single write with the head. */
const JOINED_BYTES = 65_536;

/**
 * A connection, which owns its socket. It ends with {@link destroy}, or when the upstream closes
 * it.
 */
export class Connection implements AnswerSink {
  readonly #socket: Socket;
  readonly #onClosed: () => void;
  readonly #reader = new AnswerReader(this);
  #listener: AnswerListener | null = null;
  #head: AnswerHead | null = null;
  /** Chunks of a large body that are not written yet. */
  #unwritten: readonly Buffer[] = [];
  #upload: BodyStream | null = null;
  #isWritten = true;
  #isPaused = false;
  /** Bytes that were read while paused. */
  #held: Buffer | null = null;
  /** The socket has ended: no more bytes arrive. */
  #hasEnded = false;
  /** The error that ended the socket; null: the upstream closed it without an error. */
  #fault: Error | null = null;

  /** @param onClosed called when the connection ends without a request in flight. */
  constructor(socket: Socket, onClosed: () => void) {
    this.#socket = socket;
    this.#onClosed = onClosed;
    // An idle connection must not keep the process alive.
    socket.unref();
    socket.on('error', (error) => this.#end(error));
    socket.on('end', () => this.#end(null));
    socket.on('close', () => this.#end(new AnswerFault('closed', 'the connection closed')));
    socket.on('drain', () => this.#writeMore());
  }

  /** Returns whether the kernel has all written bytes, so that their buffers are free. */
  get hasWrittenAll(): boolean {
    return this.#isWritten && this.#socket.writableLength === 0;
  }

  /** Returns whether the socket is closed. */
  get isClosed(): boolean {
    return this.#socket.destroyed;
  }

  /** The idle time that the upstream announced, in milliseconds; null: none. */
  get keepAliveMs(): number | null {
    return this.#head?.keepAliveMs ?? null;
  }

  /** Writes a request. The previous answer must have ended. */
  send({ head, isHead, body }: WireRequest, listener: AnswerListener): void {
    this.#listener = listener;
    this.#isWritten = false;
    this.#reader.expect(isHead);
    listener.onWriting();
    if (!(body instanceof BodyStream)) {
      this.#writeBody(head, body);
      return;
    }
    this.#upload = body;
    writeUpload(this.#socket, head, body, {
      isCurrent: () => this.#upload === body,
      onWritten: () => this.#listener?.onBodySent(),
      onEnd: () => {
        this.#upload = null;
        this.#allWritten();
      },
      onError: (error) => this.#break(error),
    });
  }

  /** Continues after a pause. Must not be called from a callback of the listener. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    const heldBytes = this.#held;
    this.#held = null;
    if (heldBytes !== null) this.received(heldBytes);
    // If bytes are still held, the listener has paused again.
    if (this.#hasHeld) return;
    if (this.#socket.isPaused()) this.#socket.resume();
    if (this.#hasEnded) this.#finish();
  }

  /** Closes the connection at once, without a callback. */
  destroy(): void {
    this.#listener = null;
    this.#reader.stop();
    this.#held = null;
    this.#upload = null;
    this.#unwritten = [];
    this.#socket.destroy();
  }

  /**
   * Takes bytes that the opener of the socket has read from it. Stores them while paused. Closes the connection if they
   * belong to no request.
   */
  received(bytes: Buffer): void {
    if (this.#isPaused) {
      this.#hold(bytes);
      return;
    }
    // The upstream sent bytes without a request.
    if (this.#listener === null) {
      this.#close();
      return;
    }
    const readBytes = this.#read(bytes);
    if (readBytes < bytes.length && this.#isBusy) this.#hold(bytes.subarray(readBytes));
  }

  // Callbacks of the reader.

  onAnswerBegun(): void {
    this.#listener?.onAnswerBegun();
  }

  onHead(head: AnswerHead): boolean {
    this.#head = head;
    this.#isPaused = this.#listener?.onHead(head) === false;
    return !this.#isPaused;
  }

  onData(bytes: Buffer): boolean {
    this.#isPaused = this.#listener?.onData(bytes) === false;
    return !this.#isPaused;
  }

  onAnswerEnd(isFollowed: boolean): void {
    const listener = this.#listener;
    this.#listener = null;
    this.#isPaused = false;
    const isClean = !isFollowed && this.#held === null && !this.#hasEnded;
    // An upstream that answers before it has the whole request may ignore later requests.
    listener?.onAnswerEnd(isClean && this.#head?.keepsAlive === true && this.#isWritten);
  }

  /**
   * Gives bytes to the reader.
   * @returns the number of bytes that it read; after a fault all of them.
   */
  #read(bytes: Buffer): number {
    try {
      return this.#reader.read(bytes);
    } catch (error) {
      this.#break(error instanceof Error ? error : new Error(String(error)));
      return bytes.length;
    }
  }

  get #isBusy(): boolean {
    return this.#listener !== null;
  }

  get #hasHeld(): boolean {
    return this.#held !== null;
  }

  #hold(bytes: Buffer): void {
    this.#held = this.#held === null ? bytes : Buffer.concat([this.#held, bytes]);
    if (this.#held.length >= MAX_HELD_BYTES) this.#socket.pause();
  }

  #writeBody(head: string, body: readonly Buffer[]): void {
    let length = 0;
    for (const piece of body) length += piece.length;
    if (length > JOINED_BYTES) {
      this.#unwritten = body;
      // A single write for all bytes that the socket accepts at once.
      this.#socket.cork();
      this.#socket.write(head, 'latin1');
      this.#writeMore();
      this.#socket.uncork();
      return;
    }
    // Joins head and body here, because Node joins two buffers more slowly.
    const bytes = Buffer.allocUnsafe(head.length + length);
    let offset = bytes.write(head, 'latin1');
    for (const piece of body) offset += piece.copy(bytes, offset);
    this.#socket.write(bytes);
    this.#allWritten();
  }

  /** Writes as much of a large body as the socket accepts. */
  #writeMore(): void {
    if (this.#unwritten.length === 0) return;
    let taken = 0;
    this.#socket.cork();
    for (const piece of this.#unwritten) {
      taken += 1;
      if (piece.length > 0 && !this.#socket.write(piece)) break;
    }
    this.#socket.uncork();
    this.#unwritten = this.#unwritten.slice(taken);
    this.#listener?.onBodySent();
    if (this.#unwritten.length === 0) this.#allWritten();
  }

  /** Notes that the socket has accepted the whole request. */
  #allWritten(): void {
    this.#isWritten = true;
    this.#listener?.onRequestSent();
  }

  /**
   * Ends the request in flight, or closes the connection, at the first end of the socket. Ignores further ends.
   * After a fault, first reports the held bytes, which may be the rest of the answer.
   */
  #end(fault: Error | null): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#fault = fault;
    // Reports a fault also to a paused listener, after the bytes that were read before.
    while (fault !== null && this.#held !== null) {
      const heldBytes = this.#held;
      this.#held = null;
      this.#isPaused = false;
      this.received(heldBytes);
    }
    if (this.#held === null) this.#finish();
  }

  /** Ends the answer after all bytes have been reported. */
  #finish(): void {
    if (this.#listener === null) {
      this.#close();
      return;
    }
    if (this.#fault !== null) {
      this.#break(this.#fault);
      return;
    }
    try {
      this.#reader.finish();
    } catch (error) {
      this.#break(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Closes the connection after a fault. Reports the fault to the request in flight, if there is one. */
  #break(error: Error): void {
    const listener = this.#listener;
    this.destroy();
    if (listener === null) this.#onClosed();
    else listener.onError(error);
  }

  /** Closes the connection, which has no request in flight. */
  #close(): void {
    this.destroy();
    this.#onClosed();
  }
}
