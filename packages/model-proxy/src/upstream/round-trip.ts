/** One request to an upstream and its answer, over one connection or, where that had been closed, a second one; and the bounds that hold for it. */
import type { ProxyError } from '../errors.js';
import type { Timeouts } from '../providers/deployment.js';
import { AnswerFault } from './answer-fault.js';
import type { AnswerHead } from './answer-head.js';
import type { BodyStream } from './body-stream.js';
import {
  codeOf,
  connectionFault,
  timeoutFault,
  unknownCodingFault,
  type Bound,
  type Peer,
} from './connection-faults.js';
import type { AnswerListener } from './connection.js';
import type { ConnectionPool, Link } from './connection-pool.js';
import { decoderOf, type DecodedSink, type Decoder } from './content-coding.js';
import type { Bounded, BoundsClock } from './time-bounds.js';
import type { SentCall, UpstreamHandler, UpstreamRequest } from './upstream.js';
import type { WireRequest } from './wire-request.js';

/** Everything that a round trip needs and does not own. */
export interface RoundTripContext {
  readonly pool: ConnectionPool;
  readonly clock: BoundsClock;
  readonly peer: Peer;
  readonly request: Pick<UpstreamRequest, 'timeouts' | 'timeoutsOfWhole'>;
  /** The request's body where it is still being received. */
  readonly upload: BodyStream | null;
}

/**
 * How soon after a request was written the end of a used connection still means that the upstream had closed it when we wrote; in
 * milliseconds. Far more than a round trip. What breaks later broke while the request was worked on, and is not repeated.
 */
const STALE_WITHIN_MS = 1000;

type Phase = 'connecting' | 'sending' | 'waiting' | 'receiving' | 'over';

/** Begins when it is constructed, ends with the last callback or with {@link abort}. */
export class RoundTrip implements SentCall, Bounded, AnswerListener {
  inFlightIndex = -1;
  readonly #context: RoundTripContext;
  readonly #wire: WireRequest;
  readonly #handler: UpstreamHandler;
  #timeouts: Timeouts;
  /** The clock at the start; later by what the client took to send its body since. */
  #startedAt: number;
  #checkedAt: number;
  /** null: given back, the answer has come whole. */
  #link: Link | null = null;
  #phase: Phase = 'connecting';
  /** The clock when the phase began, or when a byte last moved in it. */
  #markedAt: number;
  #writtenAt = 0;
  #reused = false;
  #repeated = false;
  #answerBegun = false;
  #paused = false;
  #hasLeftBody = false;
  #decoder: Decoder | null = null;

  constructor(context: RoundTripContext, wire: WireRequest, handler: UpstreamHandler) {
    this.#context = context;
    this.#wire = wire;
    this.#handler = handler;
    context.clock.add(this);
    this.#timeouts = context.request.timeouts;
    this.#startedAt = this.#checkedAt = this.#markedAt = context.clock.now;
  }

  /** Begins. No callback of the handler comes before it has returned. */
  start(): void {
    const { pool, upload } = this.#context;
    // What could not be repeated does not go where it may have to be.
    this.#dispatch(upload === null ? pool.take() : pool.takeNew());
  }

  get hasLeftBody(): boolean {
    return this.#hasLeftBody;
  }

  abort(): void {
    if (this.#phase === 'over') return;
    this.#leave();
    this.#dropLink();
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
    if (this.#context.upload !== null) this.#checkUpload(this.#context.upload);
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
        // A client that does not read is no fault of the upstream.
        if (idleMs !== null && !this.#paused && quietMs >= idleMs) this.#timeOut('idle', idleMs);
        return;
      case 'over':
        return;
    }
  }

  // What the connection calls.

  onWriting(): void {
    this.#reused = this.#link?.isUsed === true;
    this.#phase = 'sending';
    this.#writtenAt = this.#markedAt = this.#context.clock.now;
  }

  onBodySent(): void {
    this.#markedAt = this.#context.clock.now;
  }

  onRequestSent(): void {
    if (this.#phase === 'sending') this.#phase = 'waiting';
  }

  onAnswerBegun(): void {
    this.#answerBegun = true;
  }

  onHead({ status, headers }: AnswerHead): boolean {
    const coding = takeContentEncoding(headers);
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
    // The connection is free before the end is told: whoever asks next from there gets it.
    const { pool } = this.#context;
    if (this.#link !== null) {
      // An upstream may answer before it has read all. Of a connection that broke nobody knows.
      this.#hasLeftBody = !this.#repeated && this.#link.hasWrittenAll;
      if (isReusable) pool.giveBack(this.#link);
      else pool.drop(this.#link);
    }
    this.#link = null;
    if (this.#decoder === null) this.#end();
    else this.#decoder.end();
  }

  onError(error: Error): void {
    if (this.#isStale(error)) this.#repeat();
    else this.#fail(this.#faultOf(error));
  }

  /** Made only where something is to be decoded: few answers come compressed. */
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

  #dispatch(link: Link): void {
    this.#link = link;
    this.#phase = 'connecting';
    link.send(this.#wire, this);
  }

  /** The time that a client takes to send its body is not the upstream's. */
  #checkUpload(upload: BodyStream): void {
    const { now } = this.#context.clock;
    if (upload.waitsForClient && this.#phase !== 'connecting') {
      this.#startedAt += now - this.#checkedAt;
      this.#markedAt = now;
    }
    this.#checkedAt = now;
    if (upload.isWhole) this.#timeouts = this.#context.request.timeoutsOfWhole?.() ?? this.#timeouts;
  }

  /** Later: who resumes may be in a callback. */
  #read(): void {
    queueMicrotask(() => {
      if (!this.#paused) this.#link?.resume();
    });
  }

  /**
   * RFC 9110 §9.2.2 lets a request that is not idempotent be repeated where one can tell that it was never applied. Not written:
   * certainly. Written to a connection that had lain idle, which ends at once and without a byte: the upstream closed it
   * before the request arrived, the commonest spurious failure in front of servers that close idle connections. Once, and
   * only at once: a server that falls while it works on the request must not be felled again. A stream has been read by then.
   */
  #isStale(error: Error): boolean {
    if (this.#context.upload !== null || this.#repeated || this.#answerBegun || !isConnectionEnd(error)) return false;
    if (this.#phase === 'connecting') return true;
    return this.#reused && this.#context.clock.now - this.#writtenAt <= STALE_WITHIN_MS;
  }

  #repeat(): void {
    const { pool, clock } = this.#context;
    this.#repeated = true;
    // Before the old one goes: a pool that is to end does so with its last connection.
    const link = pool.takeNew();
    this.#dropLink();
    this.#markedAt = clock.now;
    this.#dispatch(link);
  }

  #timeOut(bound: Bound, limitMs: number): void {
    const takenMs = this.#context.clock.now - this.#startedAt;
    this.#fail(timeoutFault(bound, limitMs, takenMs, this.#context.peer));
  }

  #faultOf(error: Error): ProxyError {
    return connectionFault(error, { answerBegun: this.#answerBegun, reused: this.#reused }, this.#context.peer);
  }

  #fail(error: ProxyError): void {
    this.#leave();
    this.#dropLink();
    this.#handler.onError(error);
  }

  #end(): void {
    this.#leave();
    this.#handler.onEnd();
  }

  #leave(): void {
    this.#phase = 'over';
    this.#context.clock.remove(this);
    this.#decoder?.destroy();
    this.#context.upload?.destroy();
  }

  #dropLink(): void {
    const link = this.#link;
    this.#link = null;
    if (link !== null) this.#context.pool.drop(link);
  }
}

/** @returns null when there is none. Otherwise it is removed, and Content-Length with it: both are untrue once it is decoded. */
function takeContentEncoding(headers: string[]): string | null {
  let coding: string | null = null;
  for (let at = 0; at < headers.length; at += 2) {
    if (headers[at] === 'content-encoding')
      coding = coding === null ? (headers[at + 1] ?? '') : `${coding}, ${headers[at + 1] ?? ''}`;
  }
  if (coding === null) return null;
  for (let at = headers.length - 2; at >= 0; at -= 2) {
    if (headers[at] === 'content-encoding' || headers[at] === 'content-length') headers.splice(at, 2);
  }
  return coding;
}

function isConnectionEnd(error: Error): boolean {
  if (error instanceof AnswerFault) return error.kind === 'closed';
  const code = codeOf(error);
  return code === 'ECONNRESET' || code === 'EPIPE';
}
