import { MessageStatus, MessageType, openMessage } from './protocol/message.js';
import { type Procedure, PROGRAM } from './protocol/procedure.js';
import type { Transport } from './transport/transport.js';
import { XdrWriter } from './xdr.js';

/** Size of the write buffer. When it is full, the messages are sent immediately. */
const WRITE_SLAB_BYTES = 16_384;

/**
 * Encodes and sends the messages of a connection. Joins the calls of one event loop iteration into
 * one write.
 */
export class Outbox {
  readonly #writer = new XdrWriter(WRITE_SLAB_BYTES);
  #transport: Transport | null = null;
  #flushScheduled = false;

  /** Destination of the messages. null: sends no queued and no later messages. */
  set transport(transport: Transport | null) {
    this.#transport = transport;
  }

  /**
   * Queues a call.
   * @throws {XdrError} or {RangeError} if the arguments cannot be encoded; nothing is sent then.
   */
  call<A>(procedure: Procedure<A, unknown>, args: A, serial: number): void {
    const { program, number } = procedure;
    try {
      openMessage(this.#writer, {
        program,
        procedure: number,
        type: MessageType.call,
        serial,
        status: MessageStatus.ok,
      });
      procedure.args.encode(this.#writer, args);
    } catch (error) {
      this.#writer.cancelFrame();
      throw error;
    }
    this.#writer.closeFrame();
    this.#flushSoon();
  }

  /** Queues a keepalive message. @param number one of `KeepaliveProcedure`. */
  keepalive(number: number): void {
    openMessage(this.#writer, {
      program: PROGRAM.keepalive,
      procedure: number,
      type: MessageType.event,
      serial: 0,
      status: MessageStatus.ok,
    });
    this.#writer.closeFrame();
    this.#flushSoon();
  }

  /**
   * Sends a stream message. Without a transport, drops the message and does not call `written`.
   * @param serial serial number of the call that opened the stream.
   * @param payload must not change before `written` is called.
   * @param written called when the operating system has accepted the message.
   */
  stream(
    { program, number }: Pick<Procedure<unknown, unknown>, 'program' | 'number'>,
    serial: number,
    status: number,
    payload: Uint8Array | null,
    written: (() => void) | undefined,
  ): void {
    const transport = this.#transport;
    if (transport === null) return;
    openMessage(this.#writer, { program, procedure: number, type: MessageType.stream, serial, status });
    this.#writer.closeFrame(payload?.length ?? 0);
    // Sends the payload after the header, without a copy.
    transport.cork();
    const header = this.#writer.finish();
    if (payload === null || payload.length === 0) transport.write(header, written);
    else {
      transport.write(header);
      transport.write(payload, written);
    }
    transport.uncork();
  }

  #flushSoon(): void {
    if (this.#writer.length >= WRITE_SLAB_BYTES) this.#flush();
    if (this.#flushScheduled) return;
    this.#flushScheduled = true;
    // Sends after the promise callbacks of this iteration: a caller that gets a reply often makes the
    // next call in such a callback.
    process.nextTick(() => {
      this.#flushScheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#writer.length > 0) this.#transport?.write(this.#writer.finish());
  }
}
