import { callBack } from './listeners.js';
import type { LibvirtStream } from './stream.js';

interface Message {
  readonly status: number;
  readonly payload: Buffer;
}

/**
 * The place that a connection keeps for its one stream, from the call that asks for it on. libvirtd starts a stream before it
 * answers that call, and another of its threads sends the data: with libvirtd 9.0 one small download in 12 (nothing else running) to
 * 2,000 has data, or even its end, in front of the answer. What comes early waits here until there is a stream to take it.
 */
export class StreamSlot {
  readonly #early: Message[] = [];
  #stream: LibvirtStream | null = null;

  /** @param serial of the call that asks for the stream. */
  constructor(readonly serial: number) {}

  /** The stream, once libvirtd has agreed to it. */
  get stream(): LibvirtStream | null {
    return this.#stream;
  }

  /** libvirtd has agreed. @returns the stream. */
  open(stream: LibvirtStream): LibvirtStream {
    this.#stream = stream;
    return stream;
  }

  /** A message of the stream has come. `payload` must stay valid. */
  receive(status: number, payload: Buffer): void {
    const stream = this.#stream;
    if (stream === null) this.#early.push({ status, payload });
    // A stream that flows calls its `data` listeners at once.
    else callBack(() => stream.receive(status, payload));
  }

  /** Whether the stream has yet to be given what came before it. */
  get hasEarly(): boolean {
    return this.#stream !== null && this.#early.length > 0;
  }

  /** Gives the stream what came before it, once. */
  deliverEarly(): void {
    if (this.#stream === null) return;
    for (const { status, payload } of this.#early.splice(0)) this.receive(status, payload);
  }
}
