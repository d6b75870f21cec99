import type { CallOptions, Caller } from './caller.js';
import type { Clock } from './clock.js';
import { clientError, type ClientErrorCode, type LibvirtError, toError } from './errors.js';
import { Keepalive, type KeepaliveOptions } from './keepalive.js';
import { Outbox } from './outbox.js';
import { callAborted, PendingCalls, type ProcedureHead, type SentCall } from './pending-calls.js';
import {
  errorFromRemote,
  type Header,
  KeepaliveProcedure,
  MessageStatus,
  MessageType,
  readHeader,
  remoteError,
} from './protocol/message.js';
import { MessageSplitter } from './protocol/message-splitter.js';
import { type Procedure, PROGRAM } from './protocol/procedure.js';
import { LibvirtStream } from './stream.js';
import { StreamSlot } from './stream-slot.js';
import type { OpenTransport, Transport } from './transport/transport.js';
import { decodeWholly, XdrReader } from './xdr.js';

/** A call that also wants to know when libvirtd is done with it. */
export interface SubmitOptions extends CallOptions {
  /**
   * Called once when libvirtd holds the call no longer: it answered, be it after the time-out, or the connection is gone, or
   * the call was never sent. libvirtd admits five unanswered calls per client.
   */
  readonly onReleased?: () => void;
}

/** What a connection is made of. */
export interface ConnectionOptions {
  /** What the errors call it, e.g. `qemu:///system`. */
  readonly label: string;
  readonly open: OpenTransport;
  readonly clock: Clock;
  /** Time-out of a call that names none, in milliseconds. */
  readonly callTimeoutMs: number;
  readonly keepalive: KeepaliveOptions;
  /** An event's message, after its header; called in the order of the wire, replies to calls included. */
  readonly onEvent?: (header: Header, body: XdrReader) => void;
  /** The connection is of no more use, once; `error` says why. Every call and stream has been rejected. */
  readonly onClosed?: (error: LibvirtError) => void;
}

/**
 * One connection to one libvirtd: calls by serial number, their time-outs, keepalive, events, at most one stream. It fails as
 * a whole and once; making a new one is the link's business.
 */
export class Connection implements Caller {
  readonly #options: ConnectionOptions;
  readonly #splitter = new MessageSplitter((buffer, start, end, owned) => this.#take(buffer, start, end, owned));
  readonly #outbox = new Outbox();
  readonly #keepalive: Keepalive;
  readonly #pending: PendingCalls;
  #transport: Transport | null = null;
  #failure: LibvirtError | null = null;
  /** A reply of this turn has been handed out, its caller has not run yet. */
  #replied = false;
  /** Bytes that wait for that caller: see `#take`. */
  #backlog: Buffer[] | null = null;
  #slot: StreamSlot | null = null;

  /** Makes a connection; nothing is sent before `connect`. */
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

  /** Connects the transport; the daemon is not spoken to yet. @throws what the transport throws. */
  async connect(signal: AbortSignal): Promise<void> {
    const transport = await this.#options.open(
      {
        data: (chunk) => this.#receive(chunk),
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

  /** Why it is of no more use; null while it is. */
  get failure(): LibvirtError | null {
    return this.#failure;
  }

  call<A, R>(procedure: Procedure<A, R>, args: A, options: SubmitOptions = {}): Promise<R> {
    // Not an async function: one promise per call instead of three.
    return new Promise<R>((resolve, reject) => {
      this.#submit(procedure, args, options, reject, (body) => {
        resolve(decodeWholly(procedure.result, body));
      });
    });
  }

  /**
   * Makes a call that opens a stream; the connection then belongs to the stream and closes with it.
   * @throws {LibvirtError} as `call`.
   */
  openStream<A, R>(procedure: Procedure<A, R>, args: A, options: CallOptions = {}): Promise<LibvirtStream> {
    return new Promise<LibvirtStream>((resolve, reject) => {
      const serial = this.#submit(procedure, args, options, reject, (body) => {
        decodeWholly(procedure.result, body);
        resolve(slot.open(this.#makeStream(procedure, slot.serial)));
      });
      if (serial === null) return;
      const slot = new StreamSlot(serial);
      this.#slot = slot;
    });
  }

  /**
   * Ends the connection, at once and for good: every call and stream is rejected with `code`, and the reason in its message.
   * Idempotent; the first reason stays.
   */
  close(code: ClientErrorCode, why: string, cause?: unknown): void {
    if (this.#failure !== null) return;
    const failure = clientError(code, `connection to ${this.#options.label}: ${why}`, { cause });
    this.#failure = failure;
    this.#release();
    this.#transport?.destroy();
    this.#pending.failAll((procedure) => this.#failureOf(procedure, true) ?? failure);
    const stream = this.#slot?.stream;
    this.#slot = null;
    stream?.destroy(this.#failureOf(stream.procedure, true) ?? failure);
    this.#options.onClosed?.(failure);
  }

  /** @returns its serial number; null when it was refused. */
  #submit<A, R>(
    procedure: Procedure<A, R>,
    args: A,
    options: SubmitOptions,
    reject: (error: Error) => void,
    accept: SentCall['accept'],
  ): number | null {
    const { signal, onReleased } = options;
    const { name } = procedure;
    const refusal =
      this.#failureOf(name, false) ?? (signal?.aborted === true ? callAborted(name, signal, false) : null);
    if (refusal !== null) {
      reject(refusal);
      onReleased?.();
      return null;
    }
    const serial = this.#pending.nextSerial();
    try {
      this.#outbox.call(procedure, args, serial);
    } catch (cause) {
      reject(clientError('PROTOCOL', `calling ${name}: ${toError(cause).message}`, { procedure: name, cause }));
      onReleased?.();
      return null;
    }
    const timeoutMs = options.timeoutMs ?? this.#options.callTimeoutMs;
    this.#pending.add(serial, { procedure, accept, reject, timeoutMs, signal, onReleased });
    return serial;
  }

  /** The error of something that the connection's end cut short; null while it stands. */
  #failureOf(procedure: string, mayHaveRun: boolean): LibvirtError | null {
    const failure = this.#failure;
    if (failure === null) return null;
    // A closed connection only fails with codes of the client.
    const code = failure.code as ClientErrorCode;
    return clientError(code, `calling ${procedure}: ${failure.message}`, { procedure, mayHaveRun, cause: failure });
  }

  /** Stops what would go on by itself. */
  #release(): void {
    this.#keepalive.stop();
    this.#backlog = null;
    this.#outbox.transport = null;
  }

  #receive(chunk: Buffer): void {
    this.#keepalive.heard();
    if (this.#backlog === null) this.#process(chunk);
    else this.#backlog.push(Buffer.from(chunk));
  }

  #process(chunk: Buffer): void {
    this.#replied = false;
    let rest: Buffer | null;
    try {
      rest = this.#splitter.push(chunk);
    } catch (cause) {
      this.close('PROTOCOL', toError(cause).message, cause);
      return;
    }
    if (this.#failure !== null || (rest === null && this.#slot?.hasEarly !== true)) return;
    this.#backlog = rest === null ? [] : [Buffer.from(rest)];
    // The tick that a promise callback asks for runs when no promise callback is left.
    queueMicrotask(() => process.nextTick(() => this.#processBacklog()));
  }

  #processBacklog(): void {
    const bytes = Buffer.concat(this.#backlog ?? []);
    this.#backlog = null;
    this.#slot?.deliverEarly();
    this.#process(bytes);
  }

  /**
   * One message. Whoever waits for a reply runs only after this turn, in a promise callback. An event or stream data that came
   * behind the reply must not overtake it (the caller has not recorded its registration, or put its listeners on the stream),
   * so it is refused until then; one that came before a reply is delivered before, data of a stream as soon as there is one.
   */
  #take(buffer: Buffer, start: number, end: number, owned: boolean): boolean {
    if (this.#failure !== null) return true;
    const reader = new XdrReader(buffer, start, end);
    const header = readHeader(reader);
    switch (header.type) {
      case MessageType.reply:
        this.#replied = true;
        this.#takeReply(header, reader);
        return true;
      case MessageType.event:
        if (header.program === PROGRAM.keepalive) {
          if (header.procedure === KeepaliveProcedure.ping) this.#outbox.keepalive(KeepaliveProcedure.pong);
          return true;
        }
        if (this.#replied) return false;
        this.#options.onEvent?.(header, reader);
        return true;
      case MessageType.stream:
        if (this.#replied) return false;
        // Data behind the end of a stream is legal: it was under way when the stream was ended.
        if (header.serial === this.#slot?.serial) {
          const body = reader.rest();
          this.#slot.receive(header.status, owned ? body : Buffer.from(body));
        }
        return true;
      default:
        // Nothing else is for a client; newer kinds are only sent to who asked for them.
        return true;
    }
  }

  #takeReply(header: Header, body: XdrReader): void {
    const call = this.#pending.answered(header.serial);
    if (call === null) return;
    const { name, program, number } = call.procedure;
    try {
      if (header.program !== program || header.procedure !== number) {
        throw new Error(`the answer is one to procedure ${header.procedure} of program ${header.program}`);
      }
      if (header.status === MessageStatus.ok) call.accept(body);
      else call.reject(errorFromRemote(decodeWholly(remoteError, body), name));
    } catch (cause) {
      const message = `calling ${name}: reading the answer: ${toError(cause).message}`;
      call.reject(clientError('PROTOCOL', message, { procedure: name, mayHaveRun: true, cause }));
    }
    call.onReleased?.();
  }

  #makeStream(procedure: ProcedureHead, serial: number): LibvirtStream {
    let paused = false;
    return new LibvirtStream(procedure.name, procedure.stream ?? 'both', {
      send: (status, payload, written) => this.#outbox.stream(procedure, serial, status, payload, written),
      pause: () => {
        paused = true;
        // No PONG can come in while nothing is read; libvirtd was not asked for PINGs of its own.
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
        this.#failure = clientError('LINK_CLOSED', `connection to ${this.#options.label}: its stream is over`);
        this.#slot = null;
        this.#release();
        this.#transport?.end();
        this.#options.onClosed?.(this.#failure);
      },
    });
  }
}
