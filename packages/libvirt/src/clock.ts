/** A running timer. */
export interface Timer {
  /** Stops the timer. Does nothing if it has already fired. */
  cancel(): void;
}

/** Source of time and timers. Tests use a fake clock. */
export interface Clock {
  /** Returns milliseconds of a monotonic clock. */
  now(): number;
  /** Calls `action` once, after `delayMs`. A `background` timer does not keep the process alive. */
  after(delayMs: number, action: () => void, options?: { readonly background?: boolean }): Timer;
}

// setTimeout fires immediately for longer delays. This clock shortens them to 24.8 days.
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** Monotonic clock of the operating system. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after: (delayMs, action, options) => {
    const timeout = setTimeout(action, Math.min(delayMs, MAX_TIMEOUT_MS));
    if (options?.background === true) timeout.unref();
    return { cancel: () => clearTimeout(timeout) };
  },
};
