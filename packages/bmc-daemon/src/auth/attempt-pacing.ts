/**
 * Slows down who tries one password after the other. Every attempt that is not yet known to be right counts, so that a hundred
 * at once are slowed like a hundred in a row. Nobody is locked out: an attempt waits for its turn, and only a turn that is too
 * far away is refused.
 */

export interface PacingLimits {
  /** Attempts that are not slowed. */
  readonly free: number;
  /** Gap after the first attempt beyond those, in milliseconds; it doubles with each. */
  readonly firstGapMs: number;
  readonly longestGapMs: number;
  /** An attempt that would have to wait longer is refused. */
  readonly longestWaitMs: number;
  /** After so long without an attempt the count starts anew. */
  readonly forgetAfterMs: number;
  /** Keys that are remembered; beyond, the one unused for longest goes. */
  readonly keys: number;
}

export interface Turn {
  /** How long the attempt has to wait, in milliseconds. */
  readonly waitMs: number;
}

export interface Pacing {
  /** Takes the next turn of a key; `waitMs` beyond {@link PacingLimits.longestWaitMs}: no turn was taken. */
  take(key: string): Turn;
  /** The attempt was right: it does not count. */
  undo(key: string): void;
  /** Forgets the attempts of a key. */
  clear(key: string): void;
}

interface Attempts {
  count: number;
  /** When the next attempt may begin. */
  nextAt: number;
  usedAt: number;
}

/** @param now milliseconds that only go forward. */
export function createPacing(limits: PacingLimits, now: () => number): Pacing {
  // In the order of use: the first is the one unused for longest.
  const byKey = new Map<string, Attempts>();

  return {
    take(key) {
      const time = now();
      const known = byKey.get(key);
      const attempts =
        known === undefined || time - known.usedAt > limits.forgetAfterMs
          ? { count: 0, nextAt: 0, usedAt: time }
          : known;
      const waitMs = Math.max(0, attempts.nextAt - time);
      if (waitMs > limits.longestWaitMs) return { waitMs };
      attempts.count += 1;
      const beyond = attempts.count - limits.free;
      // 2 ** 30 is beyond every gap: no need to count on.
      const gap = beyond <= 0 ? 0 : Math.min(limits.longestGapMs, limits.firstGapMs * 2 ** Math.min(30, beyond - 1));
      attempts.nextAt = time + waitMs + gap;
      attempts.usedAt = time;
      byKey.delete(key);
      byKey.set(key, attempts);
      if (byKey.size > limits.keys) {
        for (const oldest of byKey.keys()) {
          byKey.delete(oldest);
          break;
        }
      }
      return { waitMs };
    },
    undo(key) {
      const attempts = byKey.get(key);
      if (attempts !== undefined) attempts.count = Math.max(0, attempts.count - 1);
    },
    clear(key) {
      byKey.delete(key);
    },
  };
}
