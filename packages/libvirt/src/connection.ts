import type { CallOptions, Caller } from './caller.js';
import type { ConnectionOptions, SubmitOptions } from './connection-options.js';
import { clientError, type ClientErrorCode, type LibvirtError, toError } from './errors.js';
import { Keepalive } from './keepalive.js';
import { Outbox } from './outbox.js';
import { callAborted, PendingCalls, type SentCall } from './pending-calls.js';
import { Inbox } from './protocol/inbox.js';
import {
  errorFromRemote,
  type Header,
  KeepaliveProcedure,
  MessageStatus,
  MessageType,
  readHeader,
  remoteError,
} from './protocol/message.js';
import { type Procedure, PROGRAM } from './protocol/procedure.js';
import { LibvirtStream } from './stream.js';
import { StreamEnd } from './stream-end.js';
import { StreamSlot } from './stream-slot.js';
import type { Transport } from './transport/transport.js';
import { XdrReader } from './xdr.js';
import { decodeExactly } from './codec.js';

/**
 * One connection to libvirtd. It matches replies to calls by serial number, applies timeouts and keepalive, forwards
 * events, and has at most one stream. A lost transport, a silent libvirtd or a message that cannot be split closes the
 * connection; the link then opens a new one. An error reply, or arguments or a result that cannot be converted, reject
 * only their call.
 */
export class Connection implements Caller {
  readonly #options: ConnectionOptions;
  readonly #inbox = new Inbox({
    handle: (buffer, start, end, owned) => this.#handle(buffer, start, end, owned),
    hasBuffered: () => this.#slot?.hasBuffered === true,
    deliverBuffered: () => this.#slot?.deliverBuffered(),
    malformed: (cause) => this.close('PROTOCOL', toError(cause).message, cause),
  });
  readonly #outbox = new Outbox();
  readonly #keepalive: Keepalive;
  readonly #pending: PendingCalls;
  #transport: Transport | null = null;
  #failure: LibvirtError | null = null;
  /** Holds the only stream, from the call that opens it until its end; otherwise null. */
  #slot: StreamSlot | null = null;
  /** Aborts an open stream when the connection closes, and waits for libvirtd's answer; otherwise null. */
  #streamEnd: StreamEnd | null = null;
  #resolveEnded: () => void = () => undefined;
  /** Resolves when the transport is closed. Never rejects. */
  readonly ended = new Promise<void>((resolve) => (this.#resolveEnded = resolve));

  /** Creates a connection. Call `connect` to open it. */
  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#pending = new PendingCalls(options.clock, options.label);
    this.#keepalive = new Keepalive(
      options.clock,
      options.keepalive,
      () => this.#outbox.keepalive(KeepaliveProcedure.ping),
      (silentMs) => this.close('CONNECTION_LOST', `libvirtd has been silent for ${silentMs / 1000} s`),
    );
  }

  /**
   * Opens the transport. Sends nothing yet.
   * @throws the error of the transport; the {@link LibvirtError} of `close`, if that was called meanwhile.
   */
  async connect(signal: AbortSignal): Promise<void> {
    const transport = await this.#options.open(
      {
        data: (chunk) => {
          this.#keepalive.onReceive();
          this.#inbox.receive(chunk);
        },
        closed: (error) =>
          this.close('CONNECTION_LOST', error === null ? 'closed by libvirtd' : error.message, error ?? undefined),
      },
      signal,
    );
    if (this.#failure !== null) {
      transport.destroy();
      throw this.#failure;
    }
    this.#transport = transport;
    this.#outbox.transport = transport;
    this.#keepalive.start();
  }

  /** Reason why the connection ended; null while it is open. */
  get failure(): LibvirtError | null {
    return this.#failure;
  }

  call<A, R>(procedure: Procedure<A, R>, args: A, options: SubmitOptions = {}): Promise<R> {
    // This is not an async function, so a call needs one promise instead of three.
    return new Promise<R>((resolve, reject) => {
      this.#submit(procedure, args, options, reject, (body) => {
        resolve(decodeExactly(procedure.result, body));
      });
    });
  }

  /**
   * Sends a call that opens a stream. From then on the connection closes when the stream closes.
   * @throws {LibvirtError} as `call`.
   */
  openStream<A, R>(procedure: Procedure<A, R>, args: A, options: CallOptions = {}): Promise<LibvirtStream> {
    return new Promise<LibvirtStream>((resolve, reject) => {
      const serial = this.#submit(procedure, args, options, reject, (body) => {
        decodeExactly(procedure.result, body);
        resolve(slot.open(this.#makeStream(slot)));
      });
      if (serial === null) return;
      const slot = new StreamSlot(procedure, serial);
      this.#slot = slot;
    });
  }

  /**
   * Rejects every call and stream with `code` and the reason, and closes the transport. With `LINK_CLOSED`, first
   * aborts an open stream and waits for libvirtd's answer: see `StreamEnd`. A second call closes the transport at once.
   */
  close(code: ClientErrorCode, why: string, cause?: unknown): void {
    if (this.#failure !== null) {
      this.#destroy();
      return;
    }
    const failure = clientError(code, `connection to ${this.#options.label}: ${why}`, { cause });
    this.#failure = failure;
    const slot = this.#slot;
    if (code !== 'LINK_CLOSED' || !this.#endStream()) this.#destroy();
    this.#pending.failAll((procedure) => this.#failureOf(procedure, true) ?? failure);
    slot?.stream?.destroy(this.#failureOf(slot.stream.procedure, true) ?? failure);
    this.#options.onClosed?.(failure);
  }

  /** Sends a call and returns its serial number, or rejects it and returns null. */
  #submit<A, R>(
    procedure: Procedure<A, R>,
    args: A,
    options: SubmitOptions,
    reject: (error: Error) => void,
    accept: SentCall['accept'],
  ): number | null {
    const { signal, onFinished } = options;
    const { name } = procedure;
    const refusal =
      this.#failureOf(name, false) ?? (signal?.aborted === true ? callAborted(name, signal, false) : null);
    if (refusal !== null) {
      reject(refusal);
      onFinished?.();
      return null;
    }
    const serial = this.#pending.nextSerial();
    try {
      this.#outbox.call(procedure, args, serial);
    } catch (cause) {
      reject(clientError('PROTOCOL', `calling ${name}: ${toError(cause).message}`, { procedure: name, cause }));
      onFinished?.();
      return null;
    }
    const timeoutMs = options.timeoutMs ?? this.#options.callTimeoutMs;
    this.#pending.add(serial, { procedure, accept, reject, timeoutMs, signal, onFinished });
    return serial;
  }

  /** Returns the error for a call that ends with the connection; null while the connection is open. */
  #failureOf(procedure: string, mayHaveRun: boolean): LibvirtError | null {
    const failure = this.#failure;
    if (failure === null) return null;
    // `close` and the `release` of a stream store only errors with client error codes.
    const code = failure.code as ClientErrorCode;
    return clientError(code, `calling ${procedure}: ${failure.message}`, { procedure, mayHaveRun, cause: failure });
  }

  /** Drops received and queued messages, and destroys the transport. */
  #destroy(): void {
    this.#streamEnd?.cancel();
    this.#close((transport) => transport.destroy());
  }

  #close(closeTransport: (transport: Transport) => void): void {
    this.#keepalive.stop();
    this.#inbox.stop();
    this.#outbox.transport = null;
    this.#slot = null;
    if (this.#transport !== null) closeTransport(this.#transport);
    this.#resolveEnded();
  }

  /**
   * Aborts the stream if libvirtd may have it open. Closes the transport after libvirtd's answer, or after 3 s.
   * @returns false if there is no such stream.
   */
  #endStream(): boolean {
    const slot = this.#slot;
    if (this.#transport === null || slot?.isOpenAtServer !== true) return false;
    this.#keepalive.stop();
    this.#transport.resume();
    this.#streamEnd = new StreamEnd({
      serial: slot.serial,
      isOpen: slot.stream !== null,
      clock: this.#options.clock,
      sendAbort: () => this.#outbox.stream(slot.procedure, slot.serial, MessageStatus.error, null, undefined),
      finished: () => this.#destroy(),
    });
    return true;
  }

  /**
   * Handles one message. Returns false to defer it and all later messages.
   *
   * A caller that waits for a reply runs later, in a promise callback. It may then store an event registration or add
   * listeners to a stream. An event or stream message that follows the reply must therefore wait for the caller. A
   * message that precedes the reply is delivered first; stream data is delivered as soon as the stream exists.
   */
  #handle(buffer: Buffer, start: number, end: number, owned: boolean): boolean {
    const reader = new XdrReader(buffer, start, end);
    const header = readHeader(reader);
    if (this.#failure !== null) {
      this.#streamEnd?.receive(header);
      return true;
    }
    switch (header.type) {
      case MessageType.reply:
        this.#inbox.replied = true;
        this.#handleReply(header, reader);
        return true;
      case MessageType.event:
        if (header.program === PROGRAM.keepalive) {
          if (header.procedure === KeepaliveProcedure.ping) this.#outbox.keepalive(KeepaliveProcedure.pong);
          return true;
        }
        if (this.#inbox.replied) return false;
        this.#options.onEvent?.(header, reader);
        return true;
      case MessageType.stream:
        if (this.#inbox.replied) return false;
        // Ignores data after the end of a stream. libvirtd may have sent it before it received the end.
        if (header.serial === this.#slot?.serial) {
          const body = reader.rest();
          this.#slot.receive(header.status, owned ? body : Buffer.from(body));
        }
        return true;
      default:
        // Clients receive no other types. libvirtd sends newer types only to clients that request them.
        return true;
    }
  }

  #handleReply(header: Header, body: XdrReader): void {
    const call = this.#pending.answered(header.serial);
    if (call === null) return;
    const { name, program, number } = call.procedure;
    try {
      if (header.program !== program || header.procedure !== number) {
        throw new Error(`the reply is for procedure ${header.procedure} of program ${header.program}`);
      }
      if (header.status === MessageStatus.ok) call.accept(body);
      else call.reject(errorFromRemote(decodeExactly(remoteError, body), name));
    } catch (cause) {
      const message = `calling ${name}: reading the reply: ${toError(cause).message}`;
      call.reject(clientError('PROTOCOL', message, { procedure: name, mayHaveRun: true, cause }));
    }
    call.onFinished?.();
    // libvirtd has rejected the call that opens the stream.
    if (header.serial === this.#slot?.serial && this.#slot.stream === null) this.#slot = null;
  }

  #makeStream({ procedure, serial }: StreamSlot): LibvirtStream {
    let paused = false;
    return new LibvirtStream(procedure.name, procedure.stream ?? 'both', {
      send: (status, payload, written) => this.#outbox.stream(procedure, serial, status, payload, written),
      pause: () => {
        paused = true;
        // While the transport is paused, the client reads no PONG, so keepalive would close the connection. libvirtd
        // sends no PINGs on stream connections, so the client need not answer any.
        this.#keepalive.stop();
        this.#transport?.pause();
      },
      resume: () => {
        if (!paused || this.#failure !== null) return;
        paused = false;
        this.#keepalive.start();
        this.#transport?.resume();
      },
      release: () => {
        if (this.#failure !== null) return;
        this.#failure = clientError('LINK_CLOSED', `connection to ${this.#options.label}: its stream has ended`);
        if (!this.#endStream()) this.#close((transport) => transport.end());
        this.#options.onClosed?.(this.#failure);
      },
    });
  }
}
