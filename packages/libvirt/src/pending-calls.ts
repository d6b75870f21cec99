import { onAbort } from './abort.js';
import type { Clock, Timer } from './clock.js';
import { clientError, type LibvirtError } from './errors.js';
import type { Procedure } from './protocol/procedure.js';
import type { XdrReader } from './xdr.js';

/** A procedure without its codecs. */
export type ProcedureHead = Pick<Procedure<unknown, unknown>, 'name' | 'program' | 'number' | 'stream'>;

/** A call that was sent. */
export interface SentCall {
  readonly procedure: ProcedureHead;
  /**
   * Decodes the body of the reply and resolves the call.
   * @throws {XdrError} if the body is malformed.
   */
  readonly accept: (body: XdrReader) => void;
  readonly reject: (error: Error) => void;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** Called once when libvirtd has answered the call or the connection has ended. */
  readonly onFinished: (() => void) | undefined;
}

/** A call without a reply whose caller still waits. */
interface WaitingCall {
  readonly call: SentCall;
  /**
   * The deadline. It moves if this process stalls, because the process can then neither send nor
   * read.
   */
  deadline: number;
  /** Further time in milliseconds that stalls can still give to this call. */
  graceMs: number;
  readonly removeAbort: () => void;
}

const MAX_SERIAL = 0xffff_ffff;

/**
 * A timer that is more than this late, in milliseconds, shows that the process stalled: a long
 * computation, other processes, SIGSTOP.
 */
const STALL_MS = 50;

/** Creates the error of a call whose signal aborted. */
export function callAborted(procedure: string, signal: AbortSignal | undefined, mayHaveRun: boolean): LibvirtError {
  const why = `calling ${procedure}: aborted by the caller`;
  return clientError('CALL_ABORTED', why, { procedure, mayHaveRun, cause: signal?.reason });
}

/** Calls of a connection without a reply, by serial number. */
export class PendingCalls {
  readonly #waiting = new Map<number, WaitingCall>();
  /** Calls that timed out or were aborted here, but that libvirtd has not answered. */
  readonly #abandoned = new Map<number, SentCall>();
  #serial = 0;
  #timer: Timer | null = null;
  #wakeAt = Infinity;

  constructor(
    private readonly clock: Clock,
    /** Name of the peer in error messages. */
    private readonly label: string,
  ) {}

  /** Returns a serial number that no unanswered call uses. */
  nextSerial(): number {
    do this.#serial = this.#serial === MAX_SERIAL ? 1 : this.#serial + 1;
    while (this.#waiting.has(this.#serial) || this.#abandoned.has(this.#serial));
    return this.#serial;
  }

  /** Adds a call. It is removed by its reply, its timeout, its signal or {@link failAll}. */
  add(serial: number, call: SentCall): void {
    const deadline = this.clock.now() + call.timeoutMs;
    const { signal } = call;
    const removeAbort = onAbort(signal, () => this.#abandon(serial, callAborted(call.procedure.name, signal, true)));
    this.#waiting.set(serial, { call, deadline, graceMs: call.timeoutMs, removeAbort });
    this.#wakeBy(deadline);
  }

  /**
   * Removes and returns the call that a reply belongs to.
   * @returns null if there is no such call, or if it timed out or was aborted.
   */
  answered(serial: number): SentCall | null {
    const waiting = this.#waiting.get(serial);
    if (waiting === undefined) {
      const abandoned = this.#abandoned.get(serial);
      this.#abandoned.delete(serial);
      abandoned?.onFinished?.();
      return null;
    }
    this.#waiting.delete(serial);
    waiting.removeAbort();
    return waiting.call;
  }

  /** Rejects all calls after the end of the connection. */
  failAll(errorOf: (procedure: string) => LibvirtError): void {
    this.#timer?.cancel();
    this.#timer = null;
    const waiting = [...this.#waiting.values()];
    const abandoned = [...this.#abandoned.values()];
    this.#waiting.clear();
    this.#abandoned.clear();
    for (const { call, removeAbort } of waiting) {
      removeAbort();
      call.reject(errorOf(call.procedure.name));
      call.onFinished?.();
    }
    for (const call of abandoned) call.onFinished?.();
  }

  #abandon(serial: number, error: LibvirtError): void {
    const waiting = this.#waiting.get(serial);
    if (waiting === undefined) return;
    this.#waiting.delete(serial);
    waiting.removeAbort();
    this.#abandoned.set(serial, waiting.call);
    waiting.call.reject(error);
  }

  /** Sets the timer that all calls share. It fires at the earliest deadline. */
  #wakeBy(deadline: number): void {
    if (deadline >= this.#wakeAt) return;
    this.#timer?.cancel();
    this.#wakeAt = deadline;
    // The socket keeps the process alive while a call is running.
    const background = true;
    const wake = (): void => {
      const lateMs = this.clock.now() - deadline;
      if (lateMs > STALL_MS) this.#moveDeadlines(lateMs);
      // Waits one more iteration of the event loop: replies may be in the socket, and Node runs
      // timers before it reads.
      this.#timer = this.clock.after(0, () => this.#expire(), { background });
    };
    this.#timer = this.clock.after(Math.max(0, deadline - this.clock.now()), wake, { background });
  }

  /**
   * Gives all calls further time after a stall of the process, because they may have been sent late.
   * All stalls together give a call at most its timeout again, so that calls time out even if the
   * process always stalls.
   */
  #moveDeadlines(byMs: number): void {
    const now = this.clock.now();
    for (const waiting of this.#waiting.values()) {
      const grace = Math.min(byMs, waiting.graceMs);
      waiting.graceMs -= grace;
      waiting.deadline = Math.max(waiting.deadline, now) + grace;
    }
  }

  #expire(): void {
    const now = this.clock.now();
    this.#wakeAt = Infinity;
    let next = Infinity;
    for (const [serial, { call, deadline }] of this.#waiting) {
      if (deadline > now) {
        next = Math.min(next, deadline);
        continue;
      }
      const { name } = call.procedure;
      const why = `no answer from ${this.label} within ${Math.round(call.timeoutMs)} ms`;
      this.#abandon(
        serial,
        clientError('CALL_TIMEOUT', `calling ${name}: ${why}`, { procedure: name, mayHaveRun: true }),
      );
    }
    if (next !== Infinity) this.#wakeBy(next);
  }
}
