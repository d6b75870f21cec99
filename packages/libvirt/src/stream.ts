import { Duplex, type DuplexOptions } from 'node:stream';
import { clientError, type LibvirtError } from './errors.js';
import { errorFromRemote, MessageStatus, remoteError, STREAM_CHUNK_BYTES } from './protocol/message.js';
import type { StreamDirection } from './protocol/procedure.js';
import { XdrReader } from './xdr.js';

/** What a stream needs from the connection that it has for itself. */
export interface StreamChannel {
  /** Sends one stream message; `written` is called when the operating system has it. */
  send(status: number, payload: Uint8Array | null, written?: () => void): void;
  /** Stops and starts reading from the connection. */
  pause(): void;
  resume(): void;
  /** The stream is over: sends what is queued and closes the connection. */
  release(): void;
}

const NO_PAYLOAD = Buffer.alloc(0);

/**
 * One libvirt stream as a Duplex. Writing sends data, as fast as libvirtd takes it; `end()` finishes, and `finish` comes when
 * libvirtd has confirmed that everything arrived; reading receives, and the socket is not read while nobody reads the stream.
 * `destroy()` or `abort()` gives up on both sides. What libvirtd reports on the stream comes as `error` ({@link LibvirtError}),
 * a lost connection as CONNECTION_LOST. Whoever opened the stream reads or ends or destroys it.
 */
export class LibvirtStream extends Duplex {
  /** libvirtd confirmed the end: there is nothing more to tell it. */
  #confirmed = false;
  /** libvirtd ended the stream with an error: it has already forgotten it. */
  #refused = false;
  #onConfirmed: (() => void) | null = null;

  constructor(
    /** Name of the procedure that opened the stream. */
    readonly procedure: string,
    readonly direction: StreamDirection,
    private readonly channel: StreamChannel,
  ) {
    const options: DuplexOptions & { readable: boolean; writable: boolean } = {
      readable: direction !== 'upload',
      writable: direction !== 'download',
      // A console that the guest's end closes is over in both directions.
      allowHalfOpen: direction !== 'both',
      // One message may wait while the next one is being cut.
      readableHighWaterMark: STREAM_CHUNK_BYTES,
      writableHighWaterMark: STREAM_CHUNK_BYTES,
    };
    super(options);
  }

  /**
   * Tells libvirtd to throw away what was sent so far as far as it can, and destroys the stream; `error` comes when a reason
   * is given. The same as `destroy(reason)`, under libvirt's name.
   */
  abort(reason?: Error): void {
    this.destroy(reason);
  }

  /** For the connection: a message of this stream has come. `payload` must stay valid. */
  receive(status: number, payload: Buffer): void {
    if (this.destroyed) return;
    if (status === MessageStatus.error) {
      this.#refused = true;
      this.destroy(this.#remoteFailure(payload));
      return;
    }
    if (status === MessageStatus.ok) {
      this.#confirm();
      return;
    }
    if (payload.length > 0) {
      if (!this.push(payload)) this.channel.pause();
      return;
    }
    // Empty data is the end of what libvirtd sends. A download is confirmed before its reader is told: libvirtd may still
    // have an error to report.
    if (this.direction === 'download') this.channel.send(MessageStatus.ok, null);
    else this.push(null);
  }

  #confirm(): void {
    this.#confirmed = true;
    if (this.direction !== 'upload') this.push(null);
    this.#onConfirmed?.();
    this.#onConfirmed = null;
  }

  #remoteFailure(payload: Buffer): LibvirtError {
    try {
      return errorFromRemote(remoteError.decode(new XdrReader(payload)), this.procedure);
    } catch (cause) {
      return clientError('PROTOCOL', `reading the error of the stream of ${this.procedure}: malformed message`, {
        procedure: this.procedure,
        mayHaveRun: true,
        cause,
      });
    }
  }

  override _read(): void {
    this.channel.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#confirmed) {
      done(clientError('CONNECTION_LOST', `writing to the stream of ${this.procedure}: libvirtd has ended it`));
      return;
    }
    for (let at = 0; at < chunk.length; at += STREAM_CHUNK_BYTES) {
      const piece = chunk.subarray(at, at + STREAM_CHUNK_BYTES);
      const isLast = at + STREAM_CHUNK_BYTES >= chunk.length;
      this.channel.send(MessageStatus.continue, piece, isLast ? () => done() : undefined);
    }
    // An empty data message would end the stream.
    if (chunk.length === 0) done();
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.#confirmed) {
      done();
      return;
    }
    this.#onConfirmed = done;
    this.channel.send(MessageStatus.ok, null);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.#confirmed && !this.#refused) this.channel.send(MessageStatus.error, NO_PAYLOAD);
    this.channel.release();
    done(error);
  }
}
