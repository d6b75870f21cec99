import { runCallback } from './listeners.js';
import { MessageStatus } from './protocol/message.js';
import type { ProcedureHead } from './pending-calls.js';
import type { LibvirtStream } from './stream.js';

interface Message {
  readonly status: number;
  readonly payload: Buffer;
}

/**
 * Holds the stream of a connection and buffers messages that arrive before the stream is open.
 * libvirtd starts the stream before it replies to the call, and another thread sends the data.
 * Data, or even the end of the stream, may therefore precede the reply. With libvirtd 9.0, this
 * happens in 1 of 12 to 1 of 2,000 small downloads, depending on the load.
 */
export class StreamSlot {
  readonly #buffered: Message[] = [];
  #stream: LibvirtStream | null = null;

  /** @param serial serial number of the call that opens the stream. */
  constructor(
    /** Procedure that opens the stream. */
    readonly procedure: ProcedureHead,
    readonly serial: number,
  ) {}

  /** The stream; null until libvirtd has replied. */
  get stream(): LibvirtStream | null {
    return this.#stream;
  }

  /** True if libvirtd may have an open stream: its end has not arrived. */
  get isOpenAtServer(): boolean {
    if (this.#buffered.some(({ status }) => status !== MessageStatus.continue)) return false;
    return this.#stream?.isOpenAtServer ?? true;
  }

  /** Sets the stream after the reply, and returns it. */
  open(stream: LibvirtStream): LibvirtStream {
    this.#stream = stream;
    return stream;
  }

  /** Passes a message to the stream, or buffers it. `payload` must remain valid. */
  receive(status: number, payload: Buffer): void {
    const stream = this.#stream;
    if (stream === null) this.#buffered.push({ status, payload });
    // A flowing stream calls its `data` listeners synchronously.
    else runCallback(() => stream.receive(status, payload));
  }

  /** True if the stream is open and buffered messages wait. */
  get hasBuffered(): boolean {
    return this.#stream !== null && this.#buffered.length > 0;
  }

  /** Passes the buffered messages to the stream. */
  deliverBuffered(): void {
    if (this.#stream === null) return;
    for (const { status, payload } of this.#buffered.splice(0)) this.receive(status, payload);
  }
}
