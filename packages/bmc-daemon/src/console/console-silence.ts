/**
 * Decides when a silent console stream must be checked. libvirtd 9.0 can lose a stream without a
 * message, if another client takes the port by force while libvirtd sends output. Nova's proxy can lose
 * its connection to the compute host. Such a stream looks like that of a silent guest.
 */

/** When a silent stream is checked. All values are in milliseconds. */
export interface SilencePace {
  /** The silence before the first check. The pause doubles with each further check. */
  readonly firstMs: number;
  /** Maximum of the pause. */
  readonly maxMs: number;
  /** The pause after input without output. */
  readonly afterInputMs: number;
  /** The pause after a start, restart, move or stop of the machine that did not end the stream. */
  readonly afterChangeMs: number;
  /**
   * The daemon notices a start, restart, move or stop of the machine within this time. A stream that is younger when
   * the daemon notices the change may belong to the new run, so the change does not make the stream suspect.
   */
  readonly noticeMs: number;
}

/** The default pace. */
export const silencePace: SilencePace = {
  firstMs: 30_000,
  maxMs: 600_000,
  afterInputMs: 5_000,
  afterChangeMs: 1_000,
  noticeMs: 0,
};

/** The pace of a stream that only a change of its machine makes suspect, because no check is possible. */
export const uncheckedPace: SilencePace = {
  firstMs: Infinity,
  maxMs: Infinity,
  afterInputMs: Infinity,
  afterChangeMs: 10_000,
  // Nova sends no events, so the driver polls, and may notice a change only after this time.
  noticeMs: 30_000,
};

/** Measures the silence of one stream. */
export class SilenceWatch {
  readonly #pace: SilencePace;
  readonly #onDue: (isUrgent: boolean) => void;
  #timer: NodeJS.Timeout | undefined;
  #isRunning = false;
  /** Times are those of `performance.now()`. */
  #dueAt = Infinity;
  #lastOutputAt = -Infinity;
  #startedAt = -Infinity;
  #checkedAt = -Infinity;
  #pauseMs: number;
  #isUrgent = false;

  /**
   * @param onDue called once when a check is due; urgent after input, or a change of the machine.
   */
  constructor(pace: SilencePace, onDue: (isUrgent: boolean) => void) {
    this.#pace = pace;
    this.#onDue = onDue;
    this.#pauseMs = this.#pace.firstMs;
  }

  /** Whether a check is due now: false if output has arrived since the call of `onDue`. */
  get isDue(): boolean {
    return performance.now() >= this.#dueAt;
  }

  /** The time of the last output, in milliseconds of `performance.now()`; before any output, the time of the start. */
  get lastOutputAt(): number {
    return this.#lastOutputAt;
  }

  /**
   * Begins with a new stream. Before its first output, only input and changes of the machine cause
   * checks, because libvirtd loses streams only while it sends output.
   */
  start(): void {
    this.stop();
    this.#startedAt = performance.now();
    this.#lastOutputAt = this.#startedAt;
    this.#isRunning = true;
    this.#checkedAt = -Infinity;
    this.#pauseMs = this.#pace.firstMs;
  }

  /** Ends the watch until the next `start`. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isRunning = false;
    this.#dueAt = Infinity;
  }

  /**
   * Call this when output arrives. It must be fast, because a guest may print without pause. So it
   * does not change a running timer. When the timer fires too early, it starts again for the rest of the time.
   */
  onOutput(): void {
    this.#lastOutputAt = performance.now();
    this.#pauseMs = this.#pace.firstMs;
    this.#dueAt = this.#lastOutputAt + this.#pauseMs;
    this.#isUrgent = false;
    if (this.#timer === undefined) this.#setTimer();
  }

  /**
   * Call this when input was sent. A guest may ignore input, so input causes at most one check in
   * `firstMs`.
   */
  onInput(): void {
    // Without a check, the times below are infinite, and their sum is not a number.
    if (this.#pace.afterInputMs === Infinity) return;
    this.#scheduleBy(Math.max(performance.now() + this.#pace.afterInputMs, this.#checkedAt + this.#pace.firstMs));
  }

  /** Call this when the machine has started, restarted, moved or stopped, which may end the stream. */
  onMachineChange(): void {
    const now = performance.now();
    if (now - this.#startedAt >= this.#pace.noticeMs) this.#scheduleBy(now + this.#pace.afterChangeMs);
  }

  /** Call this when a check has found that the stream still works. */
  onCheckPassed(): void {
    this.#checkedAt = performance.now();
    this.#pauseMs = Math.min(this.#pace.maxMs, this.#pauseMs * 2);
    this.#dueAt = this.#checkedAt + this.#pauseMs;
    this.#isUrgent = false;
    this.#setTimer();
  }

  /** Waits again after output ended the silence before its check began. */
  resume(): void {
    this.#setTimer();
  }

  #scheduleBy(at: number): void {
    if (at >= this.#dueAt) return;
    this.#dueAt = at;
    this.#isUrgent = true;
    this.#setTimer();
  }

  #setTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.#isRunning || this.#dueAt === Infinity) return;
    const waitMs = Math.ceil(Math.max(0, this.#dueAt - performance.now()));
    this.#timer = setTimeout(() => {
      if (this.isDue) this.#onDue(this.#isUrgent);
      else this.#setTimer();
    }, waitMs).unref();
  }
}
