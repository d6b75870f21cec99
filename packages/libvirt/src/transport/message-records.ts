import type { Transport } from './transport.js';

const LENGTH_BYTES = 4;

/** A message that was not sent yet. */
interface QueuedMessage {
  readonly parts: Uint8Array[];
  written: (() => void) | undefined;
}

/**
 * A TLS transport that starts a new record for each message, as libvirt's client does. libvirtd
 * reads one message when its socket has bytes. If the record has a second message, libvirtd
 * decrypts both messages but reads only the first, and then waits for further bytes of the socket.
 * The second message then gets no reply until the client sends more.
 */
export class MessageRecords implements Transport {
  readonly #queue: QueuedMessage[] = [];
  /** Number of bytes that the last message of the queue lacks. */
  #missing = 0;
  #isSending = false;

  constructor(private readonly transport: Transport) {}

  write(bytes: Uint8Array, written?: () => void): void {
    for (let start = 0; start < bytes.length;) {
      if (this.#missing === 0) {
        this.#missing = lengthOf(bytes.subarray(start));
        this.#queue.push({ parts: [], written: undefined });
      }
      const part = bytes.subarray(start, start + this.#missing);
      this.#queue.at(-1)?.parts.push(part);
      this.#missing -= part.length;
      start += part.length;
    }
    const last = this.#queue.at(-1);
    if (last !== undefined) last.written = written;
    this.#sendNext();
  }

  cork(): void {
    // Does nothing, because this class itself sends the parts of a message together.
  }

  uncork(): void {
    // Does nothing, as `cork`.
  }

  pause(): void {
    this.transport.pause();
  }

  resume(): void {
    this.transport.resume();
  }

  end(): void {
    // At the end of the connection, libvirtd reads everything that it has decrypted. So it also reads
    // messages that share a record.
    for (const message of this.#queue.splice(0)) this.#send(message, message.written);
    this.transport.end();
  }

  destroy(): void {
    this.#queue.length = 0;
    this.transport.destroy();
  }

  #sendNext(): void {
    const [next] = this.#queue;
    const isComplete = this.#queue.length > 1 || this.#missing === 0;
    if (this.#isSending || next === undefined || !isComplete) return;
    this.#queue.shift();
    this.#isSending = true;
    this.#send(next, () => {
      this.#isSending = false;
      next.written?.();
      this.#sendNext();
    });
  }

  #send({ parts }: QueuedMessage, written: (() => void) | undefined): void {
    this.transport.cork();
    parts.forEach((part, index) => this.transport.write(part, index === parts.length - 1 ? written : undefined));
    this.transport.uncork();
  }
}

/** Returns the length word of a message. */
function lengthOf(message: Uint8Array): number {
  return new DataView(message.buffer, message.byteOffset, LENGTH_BYTES).getUint32(0);
}
