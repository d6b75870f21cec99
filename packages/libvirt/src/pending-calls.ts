import { onAbort } from './abort.js';
import type { Clock, Timer } from './clock.js';
import { clientError, type LibvirtError } from './errors.js';
import type { Procedure } from './protocol/procedure.js';
import type { XdrReader } from './xdr.js';

/** What is kept of a procedure that was called; its codecs are bound elsewhere. */
export type ProcedureHead = Pick<Procedure<unknown, unknown>, 'name' | 'program' | 'number' | 'stream'>;

/** A call that was sent. */
export interface SentCall {
  readonly procedure: ProcedureHead;
  /** Takes the body of the reply and settles the promise. @throws XdrError when the body is malformed. */
  readonly accept: (body: XdrReader) => void;
  readonly reject: (error: Error) => void;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** Called once when libvirtd holds the call no longer. */
  readonly onReleased: (() => void) | undefined;
}

interface Waiting {
  readonly call: SentCall;
  /** Moved when this process was held up: it could neither send nor read. */
  deadline: number;
  /** Milliseconds by which the deadline may still move. */
  graceMs: number;
  readonly removeAbort: () => void;
}

const LARGEST_SERIAL = 0xffff_ffff;

/** A timer that fires later than this tells that the process was held up: by a long computation, by others, by SIGSTOP. */
const HELD_UP_MS = 50;

/** The error of a call whose signal fired. */
export function callAborted(procedure: string, signal: AbortSignal | undefined, mayHaveRun: boolean): LibvirtError {
  const why = `calling ${procedure}: given up by the caller`;
  return clientError('CALL_ABORTED', why, { procedure, mayHaveRun, cause: signal?.reason });
}

/** The calls of one connection that libvirtd has not answered, by serial number. */
export class PendingCalls {
  readonly #waiting = new Map<number, Waiting>();
  /** Given up here, but libvirtd still works on them. */
  readonly #abandoned = new Map<number, SentCall>();
  #serial = 0;
  #timer: Timer | null = null;
  #wakeAt = Infinity;

  constructor(
    private readonly clock: Clock,
    /** What the errors call the other side. */
    private readonly label: string,
  ) {}

  /** A serial number that no unanswered call has. */
  nextSerial(): number {
    do this.#serial = this.#serial === LARGEST_SERIAL ? 1 : this.#serial + 1;
    while (this.#waiting.has(this.#serial) || this.#abandoned.has(this.#serial));
    return this.#serial;
  }

  /** Watches over a call until it is answered, times out or is given up. */
  add(serial: number, call: SentCall): void {
    const deadline = this.clock.now() + call.timeoutMs;
    const { signal } = call;
    const removeAbort = onAbort(signal, () => this.#abandon(serial, callAborted(call.procedure.name, signal, true)));
    this.#waiting.set(serial, { call, deadline, graceMs: call.timeoutMs, removeAbort });
    this.#wakeBy(deadline);
  }

  /**
   * An answer has come: the call is watched no longer.
   * @returns null when nobody waits for it, be it because the call was given up or because there was none.
   */
  answered(serial: number): SentCall | null {
    const waiting = this.#waiting.get(serial);
    if (waiting === undefined) {
      const late = this.#abandoned.get(serial);
      this.#abandoned.delete(serial);
      late?.onReleased?.();
      return null;
    }
    this.#waiting.delete(serial);
    waiting.removeAbort();
    return waiting.call;
  }

  /** The connection is gone: every call fails with what `errorOf` makes for it. */
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
      call.onReleased?.();
    }
    for (const call of abandoned) call.onReleased?.();
  }

  #abandon(serial: number, error: LibvirtError): void {
    const waiting = this.#waiting.get(serial);
    if (waiting === undefined) return;
    this.#waiting.delete(serial);
    waiting.removeAbort();
    this.#abandoned.set(serial, waiting.call);
    waiting.call.reject(error);
  }

  /** One timer for all calls: it wakes at the earliest deadline and looks again. */
  #wakeBy(deadline: number): void {
    if (deadline >= this.#wakeAt) return;
    this.#timer?.cancel();
    this.#wakeAt = deadline;
    // The socket keeps the process alive while a call is under way.
    const background = true;
    const wake = (): void => {
      const lateMs = this.clock.now() - deadline;
      if (lateMs > HELD_UP_MS) this.#moveDeadlines(lateMs);
      // One more turn of the event loop: the answers may be in the socket already, and timers come before it.
      this.#timer = this.clock.after(0, () => this.#expire(), { background });
    };
    this.#timer = this.clock.after(Math.max(0, deadline - this.clock.now()), wake, { background });
  }

  /**
   * The process was held up for so long: libvirtd gets that time from now on, as calls may have left late. In all a call waits at
   * most its time-out longer, or a process that is always late would never give up.
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
