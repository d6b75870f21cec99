import type { Clock, Timer } from './clock.js';
import { type Header, MessageStatus, MessageType } from './protocol/message.js';

/**
 * Maximum time in milliseconds for libvirtd's answer to the abort of a stream. If a connection
 * closes before this answer, libvirtd 11.3 can hang: its main thread then waits for the lock of the
 * stream.
 */
const STREAM_END_TIMEOUT_MS = 3_000;

/** The stream that ends, and how to use its connection. */
interface StreamEndOptions {
  /** Serial number of the call that opened the stream. */
  readonly serial: number;
  /** Whether libvirtd has confirmed that the stream is open. If not, its reply is awaited first. */
  readonly isOpen: boolean;
  readonly clock: Clock;
  sendAbort(): void;
  /** Called once: when libvirtd has ended the stream, at the time limit, or at {@link StreamEnd.cancel}. */
  finished(): void;
}

/** Aborts the stream of a connection and waits for libvirtd's answer, at most {@link STREAM_END_TIMEOUT_MS}. */
export class StreamEnd {
  readonly #options: StreamEndOptions;
  readonly #timer: Timer;
  #isFinished = false;

  constructor(options: StreamEndOptions) {
    this.#options = options;
    this.#timer = options.clock.after(STREAM_END_TIMEOUT_MS, () => this.#finish());
    if (options.isOpen) options.sendAbort();
  }

  /** Handles a message of the connection. */
  receive({ serial, status, type }: Header): void {
    if (serial !== this.#options.serial) return;
    // A late reply to the call that opens the stream.
    if (type === MessageType.reply && status === MessageStatus.ok) this.#options.sendAbort();
    // Ignores data. Without an error, libvirtd answers an abort with `ok`.
    else if (status !== MessageStatus.continue) this.#finish();
  }

  /** Stops waiting, because the connection has ended. */
  cancel(): void {
    this.#finish();
  }

  #finish(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#timer.cancel();
    this.#options.finished();
  }
}
