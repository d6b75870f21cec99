/**
 * The two lanes of logins that wait for verification (docs/guides/accounts.md). bcrypt is so slow
 * that guessers can always demand more than the host can do. So the order decides whether other
 * clients can log in.
 * - The common lane does not know which accounts exist, and only this lane reports a wrong
 *   password. So an unknown user name waits and costs as much as a wrong password.
 * - The account lane serves only existing accounts, so unknown names cannot fill it. It only
 *   shortens the wait for a right password. A wrong password stays in the common lane until its
 *   turn.
 */
import type { AttemptPace } from './attempt-pace.js';

/** A login that waits for its turn. */
export interface Attempt {
  /** The client: an IP address, or the result of `clientNetwork`. */
  readonly address: string;
  /** Key of the pair: the user name together with the address. */
  readonly pair: string;
  /** The account's name; null if no account exists that could log in. */
  readonly account: string | null;
  /** Verifies the password. Occupies a thread; may be called twice. */
  verify(): Promise<boolean>;
  /** Returns whether the client has disconnected. */
  isGone(): boolean;
}

/**
 * The result has `retryAfterMs` if the attempt was not verified, or if its result must not be
 * reported yet.
 */
export type Verdict = { readonly right: boolean } | { readonly retryAfterMs: number };

/** The counts of the queue for one address, one pair of address and user, or one account. */
export interface AttemptCounts {
  /** Rate limit in the common lane. */
  readonly pace: AttemptPace;
  /** Rate limit in the account lane. */
  readonly accountPace: AttemptPace;
  /** Number of waiting attempts. */
  waitingCount: number;
  /**
   * Position in the order of turns; the lowest number is next. First it is {@link firstSeen}. Each
   * turn sets it to a new, higher number.
   */
  order: number;
  /** The first value of `order`. Addresses, pairs and accounts that arrive later have higher values. */
  readonly firstSeen: number;
  /** Number of verifications that the account lane has begun since the last right password. */
  accountLaneTries: number;
  /** When the latest attempt arrived, on the clock of the queue. */
  usedAt: number;
}

/** An attempt in the queue. */
export interface QueuedAttempt {
  readonly attempt: Attempt;
  readonly address: AttemptCounts;
  readonly pair: AttemptCounts;
  readonly account: AttemptCounts | null;
  /** Deadline on the clock of the queue. */
  readonly until: number;
  /** Whether the account lane has verified this attempt or is verifying it. */
  triedInAccountLane: boolean;
  readonly settle: (verdict: Verdict | Promise<never>) => void;
}

/** A lane: which attempts it may verify, and in which order. */
export interface Lane {
  /** Returns when the lane may verify an attempt; Infinity: never. */
  readyAt(queued: QueuedAttempt): number;
  /** Returns whether the lane verifies `left` before `right`. */
  isBefore(left: QueuedAttempt, right: QueuedAttempt): boolean;
}

/** Serves addresses in turn, then the users of an address in turn, then by arrival. */
export const commonLane: Lane = {
  readyAt: ({ address, pair }) => Math.max(address.pace.nextAt, pair.pace.nextAt),
  isBefore(left, right) {
    if (left.address !== right.address) return left.address.order < right.address.order;
    return left.pair !== right.pair && left.pair.order < right.pair.order;
  },
};

/**
 * Serves accounts in turn. Within an account, the pair with the fewest verifications
 * ({@link AttemptCounts.accountLaneTries}) comes first. Of equal pairs, the newest comes first, because a guesser
 * that fills the queue arrived before the real user.
 */
export const accountLane: Lane = {
  readyAt({ account, triedInAccountLane, address, pair }) {
    if (account === null || triedInAccountLane) return Infinity;
    return pair.accountPace.isFree
      ? pair.accountPace.nextAt
      : Math.max(pair.accountPace.nextAt, address.accountPace.nextAt);
  },
  isBefore(left, right) {
    if (left.account !== null && right.account !== null && left.account !== right.account)
      return left.account.order < right.account.order;
    if (left.pair === right.pair) return false;
    if (left.pair.accountLaneTries !== right.pair.accountLaneTries)
      return left.pair.accountLaneTries < right.pair.accountLaneTries;
    return left.pair.firstSeen > right.pair.firstSeen;
  },
};

/** Adds `change` to the number of waiting attempts of the address, and to that of the pair. */
export function countWaiting({ address, pair }: QueuedAttempt, change: number): void {
  address.waitingCount += change;
  pair.waitingCount += change;
}

/** Resets the counts of a pair after a right password. */
export function resetCounts({ pair }: QueuedAttempt): void {
  pair.pace.clear();
  pair.accountPace.clear();
  pair.accountLaneTries = 0;
}
