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
  /** Whether no client waits for the answer. */
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
  /** Waiting attempts, in total. */
  readonly waiting: number;
  /** Waiting attempts from one address. */
  readonly waitingOfAddress: number;
  /** Maximum number of addresses; also of pairs and of accounts. */
  readonly keys: number;
  /** A key without attempts for this time starts again. */
  readonly forgetAfterMs: number;
}

/** The limits of the daemon. */
export const attemptLimits: AttemptLimits = {
  // Five wrong passwords have no delay; the sixth attempt is the first to wait.
  pair: { free: 4, firstGapMs: 500, maxGapMs: 5000 },
  // An address may be a whole site behind one router.
  address: { free: 20, firstGapMs: 100, maxGapMs: 1000 },
  waitMs: 8000,
  waiting: 4096,
  waitingOfAddress: 1024,
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
  readonly earlyPace: Pace;
  /** Waiting attempts. */
  waiting: number;
  /** Place in the round: the number of its last turn, or of its arrival if it had no turn yet. */
  place: number;
  readonly firstSeen: number;
  /** Verifications in the account lane without success. */
  earlyTries: number;
  usedAt: number;
}

interface Waiting {
  readonly attempt: Attempt;
  readonly address: Party;
  readonly pair: Party;
  readonly account: Party | null;
  readonly until: number;
  /** Whether the account lane has verified it or is verifying it. */
  isEarlyDone: boolean;
  readonly settle: (verdict: Verdict | Promise<never>) => void;
}

/** The result of a search in a lane: the next attempt, or when there may be one. */
interface Pick {
  readonly next: Waiting | undefined;
  readonly soonest: number;
}

const RETRY_MS = 1000;

/** The queue of logins that wait for verification. Needs no close. */
export class AttemptQueue {
  readonly #limits: AttemptLimits;
  readonly #clock: AttemptClock;
  readonly #addresses: RecentMap<string, Party>;
  readonly #pairs: RecentMap<string, Party>;
  readonly #accounts: RecentMap<string, Party>;
  /** In the order of arrival, which is also the order of deadlines. */
  readonly #waiting = new Set<Waiting>();
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
      const waiting: Waiting = {
        attempt,
        address: this.#party(this.#addresses, attempt.address),
        pair: this.#party(this.#pairs, attempt.pair),
        account: attempt.account === null ? null : this.#party(this.#accounts, attempt.account),
        until: this.#clock.now() + this.#limits.waitMs,
        isEarlyDone: false,
        settle: resolve,
      };
      this.#waiting.add(waiting);
      count(waiting, 1);
      this.#makeRoom(waiting);
      this.#next();
    });
  }

  #party(parties: RecentMap<string, Party>, key: string): Party {
    const now = this.#clock.now();
    const known = parties.get(key);
    if (known !== undefined && (known.waiting > 0 || now - known.usedAt <= this.#limits.forgetAfterMs)) {
      known.usedAt = now;
      return known;
    }
    const limits = parties === this.#addresses ? this.#limits.address : this.#limits.pair;
    const place = (this.#order += 1);
    const [pace, earlyPace] = [new Pace(limits), new Pace(limits)];
    const party = { pace, earlyPace, waiting: 0, place, firstSeen: place, earlyTries: 0, usedAt: now };
    parties.set(key, party);
    return party;
  }

  /**
   * Drops attempts above the limits: from the address with the longest queue, or from the busiest
   * pair of an address.
   */
  #makeRoom(arrival: Waiting): void {
    const { waiting, waitingOfAddress } = this.#limits;
    if (arrival.address.waiting > waitingOfAddress)
      this.#dropFrom((other) => (other.address === arrival.address ? other.pair : undefined), arrival.pair);
    if (this.#waiting.size > waiting) this.#dropFrom((other) => other.address, arrival.address);
  }

  /**
   * Drops the newest attempt of the party with the most attempts.
   * @param own the party of the arrival, which loses a tie.
   */
  #dropFrom(partyOf: (waiting: Waiting) => Party | undefined, own: Party): void {
    let longest = own;
    for (const other of this.#waiting) {
      const party = partyOf(other);
      if (party !== undefined && party.waiting > longest.waiting) longest = party;
    }
    const newest = [...this.#waiting].findLast((other) => partyOf(other) === longest);
    if (newest !== undefined) this.#giveUp(newest);
  }

  /** Starts all attempts that can start now, and sets the alarm for the others. */
  #next(): void {
    const now = this.#clock.now();
    for (const waiting of this.#waiting) {
      if (waiting.until > now) break;
      this.#giveUp(waiting);
    }
    if (!this.#isBusy.common) {
      const { next, soonest } = this.#pick(now, readyInTurn, isBeforeInTurn);
      if (next === undefined) this.#wakeAt(soonest);
      else void this.#serve(next);
    }
    if (!this.#isBusy.account) {
      const { next, soonest } = this.#pick(now, readyEarly, isBeforeEarly);
      if (next === undefined) this.#wakeAt(soonest);
      else void this.#serveEarly(next);
    }
    for (const { until } of this.#waiting) {
      this.#wakeAt(until);
      return;
    }
    this.#alarm?.cancel();
    this.#alarm = undefined;
  }

  #pick(
    now: number,
    readyAt: (waiting: Waiting) => number,
    isBefore: (left: Waiting, right: Waiting) => boolean,
  ): Pick {
    let next: Waiting | undefined;
    let soonest = Infinity;
    for (const waiting of this.#waiting) {
      const at = readyAt(waiting);
      if (at > now) soonest = Math.min(soonest, at);
      else if (waiting.attempt.gone()) this.#giveUp(waiting);
      else if (next === undefined || isBefore(waiting, next)) next = waiting;
    }
    return { next, soonest };
  }

  async #serve(waiting: Waiting): Promise<void> {
    const { attempt, address, pair } = waiting;
    this.#isBusy.common = true;
    this.#remove(waiting);
    address.place = pair.place = this.#order += 1;
    const now = this.#clock.now();
    const takeBack = address.pace.take(now);
    pair.pace.take(now);
    try {
      const right = await attempt.verify();
      if (right) {
        takeBack();
        welcome(waiting);
      }
      waiting.settle({ right });
    } catch (error) {
      waiting.settle(Promise.reject(asError(error)));
    }
    this.#isBusy.common = false;
    this.#next();
  }

  async #serveEarly(waiting: Waiting): Promise<void> {
    const { attempt, address, pair, account } = waiting;
    this.#isBusy.account = true;
    waiting.isEarlyDone = true;
    if (account !== null) account.place = this.#order += 1;
    const now = this.#clock.now();
    // The first attempts of a pair are also free for the address, because many users may share an
    // address.
    const takeBack = pair.earlyPace.isFree ? () => undefined : address.earlyPace.take(now);
    pair.earlyPace.take(now);
    pair.earlyTries += 1;
    try {
      if (await attempt.verify()) {
        takeBack();
        this.#remove(waiting);
        welcome(waiting);
        waiting.settle({ right: true });
      }
    } catch {
      // The attempt still waits in the common lane, which reports the error.
    }
    this.#isBusy.account = false;
    this.#next();
  }

  /** Answers an attempt without a result. */
  #giveUp(waiting: Waiting): void {
    this.#remove(waiting);
    waiting.settle({ retryAfterMs: Math.max(RETRY_MS, readyInTurn(waiting) - this.#clock.now()) });
  }

  #remove(waiting: Waiting): void {
    if (this.#waiting.delete(waiting)) count(waiting, -1);
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

function count({ address, pair }: Waiting, change: number): void {
  address.waiting += change;
  pair.waiting += change;
}

/** Resets the counts of a client after a right password. */
function welcome({ pair }: Waiting): void {
  pair.pace.clear();
  pair.earlyPace.clear();
  pair.earlyTries = 0;
}

/** Returns when the common lane may verify an attempt. */
function readyInTurn({ address, pair }: Waiting): number {
  return Math.max(address.pace.nextAt, pair.pace.nextAt);
}

/**
 * Orders the common lane: addresses in turn, then the users of an address in turn, then by arrival.
 */
function isBeforeInTurn(left: Waiting, right: Waiting): boolean {
  if (left.address !== right.address) return left.address.place < right.address.place;
  return left.pair !== right.pair && left.pair.place < right.pair.place;
}

/** Returns when the account lane may verify an attempt. */
function readyEarly({ account, isEarlyDone, address, pair }: Waiting): number {
  if (account === null || isEarlyDone) return Infinity;
  return pair.earlyPace.isFree ? pair.earlyPace.nextAt : Math.max(pair.earlyPace.nextAt, address.earlyPace.nextAt);
}

/**
 * Orders the account lane: accounts in turn. For one account, the pair with the fewest failures,
 * then the newest pair, because a guesser that fills the queue has been there longer than a user
 * who arrives.
 */
function isBeforeEarly(left: Waiting, right: Waiting): boolean {
  if (left.account !== null && right.account !== null && left.account !== right.account)
    return left.account.place < right.account.place;
  if (left.pair === right.pair) return false;
  if (left.pair.earlyTries !== right.pair.earlyTries) return left.pair.earlyTries < right.pair.earlyTries;
  return left.pair.firstSeen > right.pair.firstSeen;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
