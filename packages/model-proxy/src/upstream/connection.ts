/** HTTP/1.1 over one socket to an upstream: one request at a time, its answer told as it comes. */
import type { Socket } from 'node:net';
import { AnswerFault } from './answer-fault.js';
import type { AnswerHead } from './answer-head.js';
import { AnswerReader, type AnswerSink } from './answer-reader.js';
import { BodyStream } from './body-stream.js';
import type { WireRequest } from './wire-request.js';

/** Whoever sent a request. Nothing follows the end or the error. */
export interface AnswerListener {
  /** The request is being written. */
  onWriting(): void;
  /** Some of its body was taken. */
  onBodySent(): void;
  /** All of it was. */
  onRequestSent(): void;
  /** The first byte of an answer. */
  onAnswerBegun(): void;
  /** @returns false: no more for now. */
  onHead(head: AnswerHead): boolean;
  /** @returns false: no more for now. */
  onData(bytes: Buffer): boolean;
  /** @param isReusable whether another request may follow on the connection, once everything of this one is with the system. */
  onAnswerEnd(isReusable: boolean): void;
  onError(error: Error): void;
}

/** What comes for somebody who wants no more is read up to here, so that the end of the connection is noticed; in bytes. */
const HELD_BYTES = 65_536;
/** A request up to here is one write with its head; in bytes. */
const JOINED_BYTES = 65_536;

/** Owns its socket. Ends by {@link destroy}, or by the upstream. */
export class Connection implements AnswerSink {
  readonly #socket: Socket;
  readonly #onClosed: () => void;
  readonly #reader = new AnswerReader(this);
  #listener: AnswerListener | null = null;
  #head: AnswerHead | null = null;
  /** Pieces of a large body that are not written yet. */
  #unwritten: readonly Buffer[] = [];
  #upload: BodyStream | null = null;
  #isWritten = true;
  #isPaused = false;
  /** Read, and not wanted yet. */
  #held: Buffer | null = null;
  /** No more comes. */
  #hasEnded = false;
  /** Why not; null: the upstream has sent its last byte. */
  #fault: Error | null = null;

  /** @param onClosed it has ended while no request was on it: there is nobody else to be told. */
  constructor(socket: Socket, onClosed: () => void) {
    this.#socket = socket;
    this.#onClosed = onClosed;
    // Whoever waits for an answer keeps the process alive; a connection that nobody uses does not.
    socket.unref();
    socket.on('error', (error) => this.#end(error));
    socket.on('end', () => this.#end(null));
    socket.on('close', () => this.#end(new AnswerFault('closed', 'closed')));
    socket.on('drain', () => this.#writeOn());
  }

  /** Whether everything that was written is with the system, so that nobody reads the buffers any more. */
  get hasWrittenAll(): boolean {
    return this.#isWritten && this.#socket.writableLength === 0;
  }

  get isClosed(): boolean {
    return this.#socket.destroyed;
  }

  /** How long it may lie idle, as the upstream says; in milliseconds, null: it does not say. */
  get keepAliveMs(): number | null {
    return this.#head?.keepAliveMs ?? null;
  }

  /** Writes a request. Only when the answer to the one before has ended. */
  send({ head, body }: WireRequest, listener: AnswerListener): void {
    this.#listener = listener;
    this.#isWritten = false;
    this.#reader.expect();
    listener.onWriting();
    if (body instanceof BodyStream) this.#writeUpload(head, body);
    else this.#writeBody(head, body);
  }

  /** More may be told again. Not from within a callback. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    const held = this.#held;
    this.#held = null;
    if (held !== null) this.received(held);
    // Held again, or given up: by whoever was told.
    if (this.#hasHeld) return;
    if (this.#socket.isPaused()) this.#socket.resume();
    if (this.#hasEnded) this.#finish();
  }

  /** Ends it at once. Nobody is told. */
  destroy(): void {
    this.#listener = null;
    this.#reader.stop();
    this.#held = null;
    this.#upload = null;
    this.#unwritten = [];
    this.#socket.destroy();
  }

  /** Bytes of the socket's. */
  received(bytes: Buffer): void {
    if (this.#isPaused) {
      this.#hold(bytes);
      return;
    }
    // Nobody asked for anything.
    if (this.#listener === null) {
      this.#close();
      return;
    }
    const read = this.#read(bytes);
    if (read < bytes.length && this.#isBusy) this.#hold(bytes.subarray(read));
  }

  // What the reader calls.

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
    // Whoever answers before it has the whole request reads no other behind it.
    listener?.onAnswerEnd(isClean && this.#head?.keepsAlive === true && this.#isWritten);
  }

  /** @returns how many bytes were read; after a fault all of them. */
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
    if (this.#held.length >= HELD_BYTES) this.#socket.pause();
  }

  #writeBody(head: string, body: readonly Buffer[]): void {
    let length = 0;
    for (const piece of body) length += piece.length;
    if (length > JOINED_BYTES) {
      this.#unwritten = body;
      // All that the socket takes at a time becomes one write.
      this.#socket.cork();
      this.#socket.write(head, 'latin1');
      this.#writeOn();
      this.#socket.uncork();
      return;
    }
    // One buffer instead of two that are joined by a slower way.
    const bytes = Buffer.allocUnsafe(head.length + length);
    let at = bytes.write(head, 'latin1');
    for (const piece of body) at += piece.copy(bytes, at);
    this.#socket.write(bytes);
    this.#sent();
  }

  /** As much of a large body as the socket takes. */
  #writeOn(): void {
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
    if (this.#unwritten.length === 0) this.#sent();
  }

  #writeUpload(head: string, upload: BodyStream): void {
    const socket = this.#socket;
    const { byteLength } = upload;
    let written = 0;
    this.#upload = upload;
    socket.write(head, 'latin1');
    upload.on('data', (piece: Buffer) => {
      // A chunk of nothing would be the last one.
      if (this.#upload !== upload || piece.length === 0) return;
      written += piece.length;
      // What is more than announced would be the beginning of another request.
      if (byteLength !== null && written > byteLength) {
        this.#break(wrongLength(written, byteLength));
        return;
      }
      if (byteLength === null) {
        socket.cork();
        socket.write(`${piece.length.toString(16)}\r\n`, 'latin1');
        socket.write(piece);
      }
      const hasRoom = byteLength === null ? socket.write('\r\n', 'latin1') : socket.write(piece);
      if (byteLength === null) socket.uncork();
      this.#listener?.onBodySent();
      if (hasRoom) return;
      upload.pause();
      socket.once('drain', () => upload.resume());
    });
    upload.on('end', () => {
      if (this.#upload !== upload) return;
      this.#upload = null;
      if (byteLength !== null && written !== byteLength) {
        this.#break(wrongLength(written, byteLength));
        return;
      }
      if (byteLength === null) socket.write('0\r\n\r\n', 'latin1');
      this.#sent();
    });
    upload.on('close', () => {
      if (this.#upload === upload) this.#break(new Error('the body broke off'));
    });
  }

  #sent(): void {
    this.#isWritten = true;
    this.#listener?.onRequestSent();
  }

  /** The first that is heard of an end counts. What had been read before is told before: it may be the rest of the answer. */
  #end(fault: Error | null): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#fault = fault;
    // A fault is told to one who wants no more, too, and with it what had been read.
    while (fault !== null && this.#held !== null) {
      const held = this.#held;
      this.#held = null;
      this.#isPaused = false;
      this.received(held);
    }
    if (this.#held === null) this.#finish();
  }

  /** Everything is told that had been read. */
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

  #break(error: Error): void {
    const listener = this.#listener;
    this.destroy();
    if (listener === null) this.#onClosed();
    else listener.onError(error);
  }

  #close(): void {
    this.destroy();
    this.#onClosed();
  }
}

const wrongLength = (written: number, announced: number) =>
  new Error(`a body of ${written} bytes, announced as ${announced}`);
