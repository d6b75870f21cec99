/** A timer that can be given up. */
export interface Timer {
  /** Does nothing when it has already fired. */
  cancel(): void;
}

/** Time as the connection uses it; tests put their own in its place. */
export interface Clock {
  /** Milliseconds since some fixed moment; never goes back. */
  now(): number;
  /** Calls `action` once, `delayMs` from now. `background`: the timer alone does not keep the process alive. */
  after(delayMs: number, action: () => void, options?: { readonly background?: boolean }): Timer;
}

// setTimeout fires at once when it is asked for more.
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** The machine's monotonic clock. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after: (delayMs, action, options) => {
    const timeout = setTimeout(action, Math.min(delayMs, LONGEST_TIMEOUT_MS));
    if (options?.background === true) timeout.unref();
    return { cancel: () => clearTimeout(timeout) };
  },
};
