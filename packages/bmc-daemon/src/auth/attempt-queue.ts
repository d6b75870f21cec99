/**
 * The queue of logins that wait for verification. Its two lanes (attempt-lanes.ts) work in
 * parallel. Each lane verifies one password at a time. Meanwhile, it occupies one of libuv's
 * threads.
 */
import {
  accountLane,
  commonLane,
  countWaiting,
  resetCounts,
  type Attempt,
  type Lane,
  type AttemptCounts,
  type QueuedAttempt,
  type Verdict,
} from './attempt-lanes.js';
import { AttemptPace, type PaceLimits } from './attempt-pace.js';
import { RecentMap } from './recent-map.js';

/** Limits on the rate of logins; times in milliseconds. */
export interface AttemptLimits {
  /** One user name from one address. */
  readonly pair: PaceLimits;
  /** All user names from one address. */
  readonly address: PaceLimits;
  /** How long an attempt may wait, in milliseconds. */
  readonly waitMs: number;
  /** Maximum number of waiting attempts in total. */
  readonly maxWaiting: number;
  /** Maximum number of waiting attempts from one address. */
  readonly maxWaitingOfAddress: number;
  /** Maximum number of addresses in memory; the same maximum for pairs and for accounts. */
  readonly maxKeys: number;
  /**
   * After this time without attempts, the queue resets the counts of an address, pair or account;
   * milliseconds.
   */
  readonly forgetAfterMs: number;
}

/** The limits of the daemon. */
export const attemptLimits: AttemptLimits = {
  // Five wrong passwords have no delay. The fifth one starts the first gap, so the sixth attempt
  // waits.
  pair: { free: 4, firstGapMs: 500, maxGapMs: 5000 },
  // An address may be a whole site behind one router, so it has higher limits.
  address: { free: 20, firstGapMs: 100, maxGapMs: 1000 },
  waitMs: 8000,
  maxWaiting: 4096,
  maxWaitingOfAddress: 1024,
  maxKeys: 10_000,
  forgetAfterMs: 900_000,
};

/** The clock and the timer of a queue. */
export interface AttemptClock {
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /**
   * Calls `call` once after a delay in milliseconds, without keeping the process alive.
   * @returns a function that cancels the call.
   */
  readonly after: (ms: number, call: () => void) => () => void;
}

/** The result of a search in a lane. */
interface NextAttempt {
  /** The attempt that the lane may verify now. */
  readonly next: QueuedAttempt | undefined;
  /** Earliest time at which the lane may verify an attempt that must still wait; Infinity: none. */
  readonly soonest: number;
}

/** Minimum value of `retryAfterMs` for a client without a result. */
const MIN_RETRY_MS = 1000;

/** The queue of logins that wait for verification. Needs no close. */
export class AttemptQueue {
  readonly #limits: AttemptLimits;
  readonly #clock: AttemptClock;
  readonly #addresses: RecentMap<string, AttemptCounts>;
  readonly #pairs: RecentMap<string, AttemptCounts>;
  readonly #accounts: RecentMap<string, AttemptCounts>;
  /** In the order of arrival, which is also the order of deadlines. */
  readonly #queue = new Set<QueuedAttempt>();
  readonly #isBusy = { common: false, account: false };
  /** The last assigned number. Each new key and each turn gets the next number. */
  #order = 0;
  #alarm: { readonly at: number; readonly cancel: () => void } | undefined;

  constructor(limits: AttemptLimits, clock: AttemptClock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#addresses = new RecentMap(limits.maxKeys);
    this.#pairs = new RecentMap(limits.maxKeys);
    this.#accounts = new RecentMap(limits.maxKeys);
  }

  /**
   * Waits for a turn and verifies the attempt. Resolves with `retryAfterMs` if the attempt gets no turn in time, if
   * too many attempts wait, or if its client has disconnected. Rejects only if `verify` does.
   */
  verifyInTurn(attempt: Attempt): Promise<Verdict> {
    return new Promise((resolve) => {
      const queued: QueuedAttempt = {
        attempt,
        address: this.#countsOf(this.#addresses, attempt.address),
        pair: this.#countsOf(this.#pairs, attempt.pair),
        account: attempt.account === null ? null : this.#countsOf(this.#accounts, attempt.account),
        until: this.#clock.now() + this.#limits.waitMs,
        triedInAccountLane: false,
        settle: resolve,
      };
      this.#queue.add(queued);
      countWaiting(queued, 1);
      this.#makeRoom(queued);
      this.#startReady();
    });
  }

  /** Returns the counts of a key. Creates them if there are none, or if they are too old. */
  #countsOf(map: RecentMap<string, AttemptCounts>, key: string): AttemptCounts {
    const now = this.#clock.now();
    const known = map.get(key);
    if (known !== undefined && (known.waitingCount > 0 || now - known.usedAt <= this.#limits.forgetAfterMs)) {
      known.usedAt = now;
      return known;
    }
    const limits = map === this.#addresses ? this.#limits.address : this.#limits.pair;
    const order = (this.#order += 1);
    const [pace, accountPace] = [new AttemptPace(limits), new AttemptPace(limits)];
    const counts = { pace, accountPace, waitingCount: 0, order, firstSeen: order, accountLaneTries: 0, usedAt: now };
    map.set(key, counts);
    return counts;
  }

  /**
   * Drops attempts above the limits. If an address has too many waiting attempts, drops the newest
   * one of its busiest pair. If the queue is full, drops the newest one of the busiest address.
   */
  #makeRoom(arrival: QueuedAttempt): void {
    const { maxWaiting, maxWaitingOfAddress } = this.#limits;
    if (arrival.address.waitingCount > maxWaitingOfAddress)
      this.#dropFrom((other) => (other.address === arrival.address ? other.pair : undefined), arrival.pair);
    if (this.#queue.size > maxWaiting) this.#dropFrom((other) => other.address, arrival.address);
  }

  /**
   * Drops the newest attempt of the address or pair with the most waiting attempts.
   * @param countsOf returns the counts to compare; undefined for an attempt that must stay.
   * @param own the counts of the new attempt. If other counts are equally high, the address or pair
   *   of the new attempt loses an attempt.
   */
  #dropFrom(countsOf: (queued: QueuedAttempt) => AttemptCounts | undefined, own: AttemptCounts): void {
    let busiest = own;
    for (const other of this.#queue) {
      const counts = countsOf(other);
      if (counts !== undefined && counts.waitingCount > busiest.waitingCount) busiest = counts;
    }
    const newest = [...this.#queue].findLast((other) => countsOf(other) === busiest);
    if (newest !== undefined) this.#endWithoutResult(newest);
  }

  /**
   * Ends attempts that have waited too long, starts the next attempt of each idle lane, and sets
   * the alarm for the others.
   */
  #startReady(): void {
    const now = this.#clock.now();
    for (const queued of this.#queue) {
      if (queued.until > now) break;
      this.#endWithoutResult(queued);
    }
    if (!this.#isBusy.common) {
      const { next, soonest } = this.#findNext(now, commonLane);
      if (next === undefined) this.#wakeAt(soonest);
      else void this.#serveCommonLane(next);
    }
    if (!this.#isBusy.account) {
      const { next, soonest } = this.#findNext(now, accountLane);
      if (next === undefined) this.#wakeAt(soonest);
      else void this.#serveAccountLane(next);
    }
    const oldest = this.#queue.values().next().value;
    if (oldest !== undefined) {
      this.#wakeAt(oldest.until);
      return;
    }
    this.#alarm?.cancel();
    this.#alarm = undefined;
  }

  /** Finds the attempt that a lane verifies next. Ends attempts whose clients have disconnected. */
  #findNext(now: number, lane: Lane): NextAttempt {
    let next: QueuedAttempt | undefined;
    let soonest = Infinity;
    for (const queued of this.#queue) {
      const at = lane.readyAt(queued);
      if (at > now) soonest = Math.min(soonest, at);
      else if (queued.attempt.isGone()) this.#endWithoutResult(queued);
      else if (next === undefined || lane.isBefore(queued, next)) next = queued;
    }
    return { next, soonest };
  }

  async #serveCommonLane(queued: QueuedAttempt): Promise<void> {
    const { attempt, address, pair } = queued;
    this.#isBusy.common = true;
    this.#remove(queued);
    address.order = pair.order = this.#order += 1;
    const now = this.#clock.now();
    const takeBack = address.pace.take(now);
    pair.pace.take(now);
    try {
      const right = await attempt.verify();
      if (right) {
        takeBack();
        resetCounts(queued);
      }
      queued.settle({ right });
    } catch (error) {
      queued.settle(Promise.reject(asError(error)));
    }
    this.#isBusy.common = false;
    this.#startReady();
  }

  async #serveAccountLane(queued: QueuedAttempt): Promise<void> {
    const { attempt, address, pair, account } = queued;
    this.#isBusy.account = true;
    queued.triedInAccountLane = true;
    if (account !== null) account.order = this.#order += 1;
    const now = this.#clock.now();
    // The first attempts of a pair do not count for the address, because many users may share the
    // address.
    const takeBack = pair.accountPace.isFree ? () => undefined : address.accountPace.take(now);
    pair.accountPace.take(now);
    pair.accountLaneTries += 1;
    try {
      if (await attempt.verify()) {
        takeBack();
        this.#remove(queued);
        resetCounts(queued);
        queued.settle({ right: true });
      }
    } catch {
      // The attempt still waits in the common lane, which reports the error.
    }
    this.#isBusy.account = false;
    this.#startReady();
  }

  /** Ends an attempt; its client may retry later. */
  #endWithoutResult(queued: QueuedAttempt): void {
    this.#remove(queued);
    queued.settle({ retryAfterMs: Math.max(MIN_RETRY_MS, commonLane.readyAt(queued) - this.#clock.now()) });
  }

  #remove(queued: QueuedAttempt): void {
    if (this.#queue.delete(queued)) countWaiting(queued, -1);
  }

  #wakeAt(at: number): void {
    if (at === Infinity || (this.#alarm !== undefined && this.#alarm.at <= at)) return;
    this.#alarm?.cancel();
    const cancel = this.#clock.after(Math.max(0, at - this.#clock.now()), () => {
      this.#alarm = undefined;
      this.#startReady();
    });
    this.#alarm = { at, cancel };
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
