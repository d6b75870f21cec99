import { Duplex, type DuplexOptions } from 'node:stream';
import { clientError, type LibvirtError } from './errors.js';
import { errorFromRemote, MessageStatus, remoteError, STREAM_CHUNK_BYTES } from './protocol/message.js';
import type { StreamDirection } from './protocol/procedure.js';
import { XdrReader } from './xdr.js';

/** Interface of a stream to its connection. */
interface StreamChannel {
  /** Sends a stream message. `written` is called when the operating system has accepted it. */
  send(status: number, payload: Uint8Array | null, written?: () => void): void;
  /** Stops reading from the connection. */
  pause(): void;
  /** Reads from the connection again. */
  resume(): void;
  /**
   * Sends queued messages and closes the connection. First aborts a stream that is open at libvirtd,
   * and waits for the answer, see `StreamEnd`.
   */
  release(): void;
}

/**
 * A libvirt stream as a Node Duplex with backpressure. `end()` finishes an upload; `finish` comes
 * when libvirtd has confirmed all data. `destroy()` or `abort()` ends the stream on both sides.
 * Errors from libvirtd are `error` events ({@link LibvirtError}). A lost connection is
 * CONNECTION_LOST, one that the caller closed is LINK_CLOSED. The caller must read, end or destroy
 * the stream.
 */
export class LibvirtStream extends Duplex {
  /** True if libvirtd has confirmed the end of the stream. */
  #confirmed = false;
  /** True if libvirtd has ended the stream with an error. */
  #failedByServer = false;
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
      // If the guest side of a console closes, both directions end.
      allowHalfOpen: direction !== 'both',
      // Buffers one message.
      readableHighWaterMark: STREAM_CHUNK_BYTES,
      writableHighWaterMark: STREAM_CHUNK_BYTES,
    };
    super(options);
  }

  /** True until libvirtd has ended the stream: it has then confirmed the end or sent an error. */
  get isOpenAtServer(): boolean {
    return !this.#confirmed && !this.#failedByServer;
  }

  /**
   * Aborts the stream, like `destroy(reason)`. libvirtd discards the data that it can. With a
   * reason, the stream emits `error`.
   */
  abort(reason?: Error): void {
    this.destroy(reason);
  }

  /**
   * Handles a message of this stream. Only the connection calls it. `payload` must remain valid.
   */
  receive(status: number, payload: Buffer): void {
    if (this.destroyed) return;
    if (status === MessageStatus.error) {
      this.#failedByServer = true;
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
    // An empty message is the end of the data. A download ends only after the confirmation, because
    // libvirtd may still report an error.
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
    for (let offset = 0; offset < chunk.length; offset += STREAM_CHUNK_BYTES) {
      const piece = chunk.subarray(offset, offset + STREAM_CHUNK_BYTES);
      const isLast = offset + STREAM_CHUNK_BYTES >= chunk.length;
      this.channel.send(MessageStatus.continue, piece, isLast ? () => done() : undefined);
    }
    // Sends nothing for an empty chunk, because an empty message ends the stream.
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
    this.channel.release();
    done(error);
  }
}
