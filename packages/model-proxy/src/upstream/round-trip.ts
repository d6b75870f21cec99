/**
 * Sends a request to an upstream, and reports the answer or a timeout. If the upstream closed the
 * connection before it received the request, sends the request once more on another connection.
 */
import type { ProxyError } from '../errors/proxy-error.js';
import type { Timeouts } from '../providers/deployment.js';
import type { AnswerHead } from './connection/answer-head.js';
import type { BodyStream } from './body-stream.js';
import {
  connectionFault,
  isConnectionEnd,
  timeoutFault,
  unknownCodingFault,
  type TimeoutName,
} from './connection-faults.js';
import type { AnswerListener } from './connection/connection.js';
import type { ConnectionPool, PooledConnection } from './connection/connection-pool.js';
import { decoderOf, takeContentEncoding, type DecodedSink, type Decoder } from './content-coding.js';
import type { Peer } from './peer.js';
import type { WithDeadlines, DeadlineClock } from './deadlines.js';
import type { SentCall, UpstreamHandler, UpstreamRequest } from './upstream.js';
import type { WireRequest } from './connection/wire-request.js';

/** Dependencies of {@link RoundTrip}. */
interface RoundTripContext {
  readonly pool: ConnectionPool;
  readonly clock: DeadlineClock;
  readonly peer: Peer;
  readonly request: Pick<UpstreamRequest, 'timeouts' | 'waitedMs' | 'finalTimeouts' | 'isRaw'>;
  /** The request's body if it is still arriving, otherwise null. */
  readonly upload: BodyStream | null;
}

/**
 * If a reused connection ends within this many milliseconds (far more than a network round trip) after the write,
 * the upstream had closed it before the request arrived. If it ends later, the upstream may have begun to work.
 */
const STALE_WITHIN_MS = 1000;

type Phase = 'connecting' | 'sending' | 'waiting' | 'receiving' | 'over';

/** A request in flight. It ends with the last callback or with {@link abort}. */
export class RoundTrip implements SentCall, WithDeadlines, AnswerListener {
  inFlightIndex = -1;
  readonly #context: RoundTripContext;
  readonly #wire: WireRequest;
  readonly #handler: UpstreamHandler;
  #timeouts: Timeouts;
  /** The clock's time when the timeouts began, plus the time in which the upstream waited for the client. */
  #startedAt: number;
  #checkedAt: number; // the clock's time of the last check of the upload
  /** The connection of this request; null: before the start and after the end. */
  #connection: PooledConnection | null = null;
  #phase: Phase = 'connecting';
  /**
   * The clock's time when the phase began, or when the last byte moved. From the beginning of the write until a byte
   * has moved, it is earlier by `waitedMs`.
   */
  #markedAt: number;
  /** The clock's time when the connection began to write the request. */
  #writtenAt = 0;
  #reused = false; // whether the connection carried another request before
  #repeated = false; // whether the request was sent a second time
  #answerBegun = false;
  #paused = false; // the client does not read, so the connection must not read either
  #isBodyFree = false;
  #decoder: Decoder | null = null;

  constructor(context: RoundTripContext, wire: WireRequest, handler: UpstreamHandler) {
    this.#context = context;
    this.#wire = wire;
    this.#handler = handler;
    context.clock.add(this);
    this.#timeouts = context.request.timeouts;
    this.#checkedAt = this.#markedAt = context.clock.now;
    this.#startedAt = context.clock.now - (context.request.waitedMs ?? 0);
  }

  /** Sends the request. Does not call the handler synchronously. */
  start(): void {
    const { pool, upload } = this.#context;
    // A stream cannot be repeated, so it gets a new connection.
    this.#dispatch(upload === null ? pool.take() : pool.takeNew());
  }

  get isBodyFree(): boolean {
    return this.#isBodyFree;
  }

  abort(): void {
    if (this.#phase === 'over') return;
    this.#release();
    this.#dropConnection();
  }

  pause(): void {
    this.#paused = true;
    this.#decoder?.pause();
  }

  resume(): void {
    if (!this.#paused || this.#phase === 'over') return;
    this.#paused = false;
    this.#markedAt = this.#context.clock.now;
    this.#decoder?.resume();
    this.#read();
  }

  check(now: number): void {
    if (this.#context.upload !== null) this.#adjustTimeouts(this.#context.upload);
    const { connectMs, firstByteMs, idleMs, totalMs } = this.#timeouts;
    if (totalMs !== null && now - this.#startedAt >= totalMs) {
      this.#timeOut('total', totalMs);
      return;
    }
    const quietMs = now - this.#markedAt;
    switch (this.#phase) {
      case 'connecting':
        if (connectMs !== null && quietMs >= connectMs) this.#timeOut('connect', connectMs);
        return;
      case 'sending':
        if (firstByteMs !== null && quietMs >= firstByteMs) this.#timeOut('send', firstByteMs);
        return;
      case 'waiting':
        if (firstByteMs !== null && quietMs >= firstByteMs) this.#timeOut('firstByte', firstByteMs);
        return;
      case 'receiving':
        // While the client does not read, the upstream cannot send.
        if (idleMs !== null && !this.#paused && quietMs >= idleMs) this.#timeOut('idle', idleMs);
        return;
      case 'over':
        return;
    }
  }

  // Callbacks of the connection.

  onWriting(): void {
    this.#reused = this.#connection?.isReused === true;
    this.#phase = 'sending';
    this.#writtenAt = this.#context.clock.now;
    this.#markedAt = this.#writtenAt - (this.#context.request.waitedMs ?? 0);
  }

  onBodySent(): void {
    // The socket accepts the first part at once, so that is no progress of the upstream.
    if (this.#context.clock.now > this.#writtenAt) this.#markedAt = this.#context.clock.now;
  }

  onRequestSent(): void {
    if (this.#phase === 'sending') this.#phase = 'waiting';
  }

  onAnswerBegun(): void {
    this.#answerBegun = true;
  }

  onHead({ status, headers }: AnswerHead): boolean {
    const isRaw = this.#context.request.isRaw === true;
    if (isRaw) {
      this.#phase = 'receiving';
      this.#markedAt = this.#context.clock.now;
    }
    const coding = isRaw ? null : takeContentEncoding(headers);
    if (coding !== null) {
      const decoder = decoderOf(coding, this.#decodedSink());
      if (decoder === 'unknown') {
        this.#fail(unknownCodingFault(coding, this.#context.peer));
        return true;
      }
      this.#decoder = decoder;
    }
    this.#handler.onHead(status, headers);
    return !this.#paused;
  }

  onData(chunk: Buffer): boolean {
    this.#phase = 'receiving';
    this.#markedAt = this.#context.clock.now;
    if (this.#decoder !== null) return this.#decoder.write(chunk) && !this.#paused;
    this.#handler.onData(chunk);
    return !this.#paused;
  }

  onAnswerEnd(isReusable: boolean): void {
    // Returns the connection before it reports the end, so that the handler's next request can use it.
    const { pool } = this.#context;
    if (this.#connection !== null) {
      // An upstream may answer before it has read the request. After a retry, the first socket may still use the body.
      this.#isBodyFree = !this.#repeated && this.#connection.hasWrittenAll;
      if (isReusable) pool.giveBack(this.#connection);
      else pool.drop(this.#connection);
    }
    this.#connection = null;
    if (this.#decoder === null) this.#end();
    else this.#decoder.end();
  }

  onError(error: Error): void {
    if (this.#mayRepeat(error)) this.#repeat();
    else this.#fail(this.#faultOf(error));
  }

  /** Makes the sink for a decoder. Few answers are compressed, so most requests need none. */
  #decodedSink(): DecodedSink {
    return {
      onData: (chunk) => {
        if (this.#phase !== 'over') this.#handler.onData(chunk);
      },
      onDrain: () => this.#read(),
      onEnd: () => {
        if (this.#phase !== 'over') this.#end();
      },
      onError: (error) => {
        if (this.#phase !== 'over') this.#fail(this.#faultOf(error));
      },
    };
  }

  #dispatch(connection: PooledConnection): void {
    this.#connection = connection;
    this.#phase = 'connecting';
    connection.send(this.#wire, this);
  }

  /** Excludes the time in which the client sends its body from the upstream's time. */
  #adjustTimeouts(upload: BodyStream): void {
    const { now } = this.#context.clock;
    if (upload.waitsForClient && this.#phase !== 'connecting') {
      this.#startedAt += now - this.#checkedAt;
      this.#markedAt = now;
    }
    this.#checkedAt = now;
    if (upload.isComplete) this.#timeouts = this.#context.request.finalTimeouts?.() ?? this.#timeouts;
  }

  /** Continues to read in a microtask, because `resume` may be called from a callback. */
  #read(): void {
    queueMicrotask(() => {
      if (!this.#paused) this.#connection?.resume();
    });
  }

  /**
   * Returns whether the request can be repeated. RFC 9110 §9.2.2 allows that only if the upstream did not process the
   * request. The proxy assumes this in two cases: the connection ends before the request is written, or a reused
   * connection ends within {@link STALE_WITHIN_MS} and without a byte. The second case is the most common failure: the
   * upstream has usually closed the idle connection. The assumption may be wrong, and the request may have crashed the
   * server, so the proxy repeats it only once. A stream cannot be repeated.
   */
  #mayRepeat(error: Error): boolean {
    if (this.#context.upload !== null || this.#repeated || this.#answerBegun || !isConnectionEnd(error)) return false;
    if (this.#phase === 'connecting') return true;
    return this.#reused && this.#context.clock.now - this.#writtenAt <= STALE_WITHIN_MS;
  }

  #repeat(): void {
    const { pool, clock } = this.#context;
    this.#repeated = true;
    // Must come before `#dropConnection`: a retired pool closes with its last connection.
    const connection = pool.takeNew();
    this.#dropConnection();
    this.#markedAt = clock.now;
    this.#dispatch(connection);
  }

  #timeOut(name: TimeoutName, limitMs: number): void {
    const takenMs = this.#context.clock.now - this.#startedAt;
    this.#fail(timeoutFault(name, limitMs, takenMs, this.#context.peer));
  }

  #faultOf(error: Error): ProxyError {
    return connectionFault(error, { answerBegun: this.#answerBegun, reused: this.#reused }, this.#context.peer);
  }

  #fail(error: ProxyError): void {
    this.#release();
    this.#dropConnection();
    this.#handler.onError(error);
  }

  #end(): void {
    this.#release();
    this.#handler.onEnd();
  }

  /** Ends the deadlines, the decoder and the upload. */
  #release(): void {
    this.#phase = 'over';
    this.#context.clock.remove(this);
    this.#decoder?.destroy();
    this.#context.upload?.destroy();
  }

  #dropConnection(): void {
    const connection = this.#connection;
    this.#connection = null;
    if (connection !== null) this.#context.pool.drop(connection);
  }
}
