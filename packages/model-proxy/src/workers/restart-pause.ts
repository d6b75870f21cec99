/** How long the group waits before it replaces a worker that has ended. */

/** The first pause, in milliseconds. It doubles with each further end. */
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 30_000;
/** After a process that ran longer than this, in milliseconds, the pauses begin again with the first. */
const STABLE_MS = 60_000;

/** The pauses between the processes that replace each other. */
export class RestartPause {
  #startedAt = performance.now();
  /** Number of processes that have ended since the last stable one. The stable one counts, too. */
  #ends = 0;

  /** Notes the start of a process. */
  begin(): void {
    this.#startedAt = performance.now();
  }

  /** Notes the end of a process. @returns the milliseconds until the next process starts. */
  next(): number {
    this.#ends = performance.now() - this.#startedAt > STABLE_MS ? 1 : this.#ends + 1;
    return Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (this.#ends - 1));
  }
}
