/**
 * Decides which login is verified next. bcrypt is so slow that guessers can always demand more than
 * the host can do. So the order decides whether other clients can log in. There are two lanes, each
 * with one thread (docs/guides/accounts.md):
 * - The common lane serves addresses in turn. It does not know which accounts exist, and only this
 *   lane reports a wrong password. So an unknown user name waits and costs as much as a wrong
 *   password.
 * - The account lane serves existing accounts in turn, so unknown names cannot fill it. It only
 *   shortens the wait of a right password. A wrong password stays in the common lane until its
 *   turn.
 */
import { Pace, type PaceLimits } from './attempt-pace.js';
import { RecentMap } from './recent-map.js';

/** A login that waits for its turn. */
export interface Attempt {
  /** The client: an IP address, or the result of `clientNetwork`. */
  readonly address: string;
  /** Key of the user name and the address. */
  readonly pair: string;
  /** The account's name; null if no account exists that could log in. */
  readonly account: string | null;
  /** Verifies the password. Occupies a thread; may be called twice. */
  verify(): Promise<boolean>;
  /** Whether the client has disconnected. */
  gone(): boolean;
}

/** `retryAfterMs`: the attempt was not verified, or its result must not be reported yet. */
export type Verdict = { readonly right: boolean } | { readonly retryAfterMs: number };

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
  /** Maximum number of addresses; also of pairs and of accounts. */
  readonly keys: number;
  /** The queue forgets the counts of a key without attempts for this time, in milliseconds. */
  readonly forgetAfterMs: number;
}

/** The limits of the daemon. */
export const attemptLimits: AttemptLimits = {
  // Five wrong passwords have no delay: the fifth starts the first gap, so the sixth attempt waits.
  pair: { free: 4, firstGapMs: 500, maxGapMs: 5000 },
  // An address may be a whole site behind one router.
  address: { free: 20, firstGapMs: 100, maxGapMs: 1000 },
  waitMs: 8000,
  maxWaiting: 4096,
  maxWaitingOfAddress: 1024,
  keys: 10_000,
  forgetAfterMs: 900_000,
};

/** Clocks of a queue. */
export interface AttemptClock {
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /**
   * Calls once after a delay, without keeping the process alive.
   * @returns a function that cancels the call.
   */
  readonly after: (ms: number, call: () => void) => () => void;
}

/** An address, a pair or an account. */
interface Party {
  /** Pace in the common lane. */
  readonly pace: Pace;
  /** Pace in the account lane. */
  readonly accountPace: Pace;
  /** Number of waiting attempts. */
  waitingCount: number;
  /** Place in the round: the number of its last turn, or of its arrival if it had no turn yet. */
  place: number;
  readonly firstSeen: number;
  /** Verifications in the account lane without success. */
  accountLaneTries: number;
  usedAt: number;
}

/** An attempt in the queue. */
interface QueuedAttempt {
  readonly attempt: Attempt;
  readonly address: Party;
  readonly pair: Party;
  readonly account: Party | null;
  readonly until: number;
  /** Whether the account lane has verified it or is verifying it. */
  triedInAccountLane: boolean;
  readonly settle: (verdict: Verdict | Promise<never>) => void;
}

/** The result of a search in a lane: the next attempt, or when there may be one. */
interface NextAttempt {
  readonly next: QueuedAttempt | undefined;
  readonly soonest: number;
}

const MIN_RETRY_MS = 1000;

/** The queue of logins that wait for verification. Needs no close. */
export class AttemptQueue {
  readonly #limits: AttemptLimits;
  readonly #clock: AttemptClock;
  readonly #addresses: RecentMap<string, Party>;
  readonly #pairs: RecentMap<string, Party>;
  readonly #accounts: RecentMap<string, Party>;
  /** In the order of arrival, which is also the order of deadlines. */
  readonly #queue = new Set<QueuedAttempt>();
  readonly #isBusy = { common: false, account: false };
  #order = 0;
  #alarm: { readonly at: number; readonly cancel: () => void } | undefined;

  constructor(limits: AttemptLimits, clock: AttemptClock) {
    this.#limits = limits;
    this.#clock = clock;
    this.#addresses = new RecentMap(limits.keys);
    this.#pairs = new RecentMap(limits.keys);
    this.#accounts = new RecentMap(limits.keys);
  }

  /** Waits for a turn and verifies the attempt. Rejects only if `verify` does. */
  ask(attempt: Attempt): Promise<Verdict> {
    return new Promise((resolve) => {
      const queued: QueuedAttempt = {
        attempt,
        address: this.#party(this.#addresses, attempt.address),
        pair: this.#party(this.#pairs, attempt.pair),
        account: attempt.account === null ? null : this.#party(this.#accounts, attempt.account),
        until: this.#clock.now() + this.#limits.waitMs,
        triedInAccountLane: false,
        settle: resolve,
      };
      this.#queue.add(queued);
      count(queued, 1);
      this.#makeRoom(queued);
      this.#next();
    });
  }

  #party(parties: RecentMap<string, Party>, key: string): Party {
    const now = this.#clock.now();
    const known = parties.get(key);
    if (known !== undefined && (known.waitingCount > 0 || now - known.usedAt <= this.#limits.forgetAfterMs)) {
      known.usedAt = now;
      return known;
    }
    const limits = parties === this.#addresses ? this.#limits.address : this.#limits.pair;
    const place = (this.#order += 1);
    const [pace, accountPace] = [new Pace(limits), new Pace(limits)];
    const party = { pace, accountPace, waitingCount: 0, place, firstSeen: place, accountLaneTries: 0, usedAt: now };
    parties.set(key, party);
    return party;
  }

  /**
   * Drops attempts above the limits: from the address with the longest queue, or from the busiest
   * pair of an address.
   */
  #makeRoom(arrival: QueuedAttempt): void {
    const { maxWaiting, maxWaitingOfAddress } = this.#limits;
    if (arrival.address.waitingCount > maxWaitingOfAddress)
      this.#dropFrom((other) => (other.address === arrival.address ? other.pair : undefined), arrival.pair);
    if (this.#queue.size > maxWaiting) this.#dropFrom((other) => other.address, arrival.address);
  }

  /**
   * Drops the newest attempt of the party with the most attempts.
   * @param own the party of the arrival, which loses a tie.
   */
  #dropFrom(partyOf: (queued: QueuedAttempt) => Party | undefined, own: Party): void {
    let longest = own;
    for (const other of this.#queue) {
      const party = partyOf(other);
      if (party !== undefined && party.waitingCount > longest.waitingCount) longest = party;
    }
    const newest = [...this.#queue].findLast((other) => partyOf(other) === longest);
    if (newest !== undefined) this.#endWithoutResult(newest);
  }

  /** Starts all attempts that can start now, and sets the alarm for the others. */
  #next(): void {
    const now = this.#clock.now();
    for (const queued of this.#queue) {
      if (queued.until > now) break;
      this.#endWithoutResult(queued);
    }
    if (!this.#isBusy.common) {
      const { next, soonest } = this.#pick(now, readyInCommonLane, isBeforeInCommonLane);
      if (next === undefined) this.#wakeAt(soonest);
      else void this.#serveCommonLane(next);
    }
    if (!this.#isBusy.account) {
      const { next, soonest } = this.#pick(now, readyInAccountLane, isBeforeInAccountLane);
      if (next === undefined) this.#wakeAt(soonest);
      else void this.#serveAccountLane(next);
    }
    for (const { until } of this.#queue) {
      this.#wakeAt(until);
      return;
    }
    this.#alarm?.cancel();
    this.#alarm = undefined;
  }

  #pick(
    now: number,
    readyAt: (queued: QueuedAttempt) => number,
    isBefore: (left: QueuedAttempt, right: QueuedAttempt) => boolean,
  ): NextAttempt {
    let next: QueuedAttempt | undefined;
    let soonest = Infinity;
    for (const queued of this.#queue) {
      const at = readyAt(queued);
      if (at > now) soonest = Math.min(soonest, at);
      else if (queued.attempt.gone()) this.#endWithoutResult(queued);
      else if (next === undefined || isBefore(queued, next)) next = queued;
    }
    return { next, soonest };
  }

  async #serveCommonLane(queued: QueuedAttempt): Promise<void> {
    const { attempt, address, pair } = queued;
    this.#isBusy.common = true;
    this.#remove(queued);
    address.place = pair.place = this.#order += 1;
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
    this.#next();
  }

  async #serveAccountLane(queued: QueuedAttempt): Promise<void> {
    const { attempt, address, pair, account } = queued;
    this.#isBusy.account = true;
    queued.triedInAccountLane = true;
    if (account !== null) account.place = this.#order += 1;
    const now = this.#clock.now();
    // The first attempts of a pair are also free for the address, because many users may share an
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
    this.#next();
  }

  /** Ends an attempt; its client may retry later. */
  #endWithoutResult(queued: QueuedAttempt): void {
    this.#remove(queued);
    queued.settle({ retryAfterMs: Math.max(MIN_RETRY_MS, readyInCommonLane(queued) - this.#clock.now()) });
  }

  #remove(queued: QueuedAttempt): void {
    if (this.#queue.delete(queued)) count(queued, -1);
  }

  #wakeAt(at: number): void {
    if (at === Infinity || (this.#alarm !== undefined && this.#alarm.at <= at)) return;
    this.#alarm?.cancel();
    const cancel = this.#clock.after(Math.max(0, at - this.#clock.now()), () => {
      this.#alarm = undefined;
      this.#next();
    });
    this.#alarm = { at, cancel };
  }
}

function count({ address, pair }: QueuedAttempt, change: number): void {
  address.waitingCount += change;
  pair.waitingCount += change;
}

/** Resets the counts of a client after a right password. */
function resetCounts({ pair }: QueuedAttempt): void {
  pair.pace.clear();
  pair.accountPace.clear();
  pair.accountLaneTries = 0;
}

/** Returns when the common lane may verify an attempt. */
function readyInCommonLane({ address, pair }: QueuedAttempt): number {
  return Math.max(address.pace.nextAt, pair.pace.nextAt);
}

/**
 * Orders the common lane: addresses in turn, then the users of an address in turn, then by arrival.
 */
function isBeforeInCommonLane(left: QueuedAttempt, right: QueuedAttempt): boolean {
  if (left.address !== right.address) return left.address.place < right.address.place;
  return left.pair !== right.pair && left.pair.place < right.pair.place;
}

/** Returns when the account lane may verify an attempt. */
function readyInAccountLane({ account, triedInAccountLane, address, pair }: QueuedAttempt): number {
  if (account === null || triedInAccountLane) return Infinity;
  return pair.accountPace.isFree
    ? pair.accountPace.nextAt
    : Math.max(pair.accountPace.nextAt, address.accountPace.nextAt);
}

/**
 * Orders the account lane: accounts in turn. For one account, the pair with the fewest failures,
 * then the newest pair, because a guesser that fills the queue has been there longer than a user
 * who arrives.
 */
function isBeforeInAccountLane(left: QueuedAttempt, right: QueuedAttempt): boolean {
  if (left.account !== null && right.account !== null && left.account !== right.account)
    return left.account.place < right.account.place;
  if (left.pair === right.pair) return false;
  if (left.pair.accountLaneTries !== right.pair.accountLaneTries)
    return left.pair.accountLaneTries < right.pair.accountLaneTries;
  return left.pair.firstSeen > right.pair.firstSeen;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
