/**
 * Divides the limits of keys among the workers of a group, by the rules of `shareScript` (limit-scripts.ts). The
 * first process of the group has the book in memory, in place of Redis.
 */
import { performance } from 'node:perf_hooks';
import { limitTypes, WINDOW_MS } from './key-limits.js';

/** The shares of a key: for requests, tokens and parallel requests the share of each worker. */
interface KeyShares {
  /** The end of the present minute, on the clock of the book. Reports name it to identify the minute. */
  ends: number;
  readonly shares: readonly Map<number, number>[];
}

/** Number of words in a report: digest, minute, then four for each limit. */
const WORDS = 14;
/** The reserve of a worker is at most 1/8 of what is left, as in Redis. */
const RESERVE_DIVISOR = 8;
/** Number of new keys after which the book removes unused keys. */
const SWEEP_STEP = 10_000;

/** The shares of all workers. */
export class ShareBook {
  readonly #now: () => number;
  readonly #keys = new Map<string, KeyShares>();
  #sweepAt = SWEEP_STEP;

  /** @param now a clock that never goes back, in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Counts what a worker reports, and grants its shares. @returns the numbers that `shareScript` would return. */
  report(worker: number, words: readonly string[]): number[] {
    const answer: number[] = [];
    for (let at = 0; at + WORDS <= words.length; at += WORDS) {
      const [digest = '', minute = '', ...numbers] = words.slice(at, at + WORDS);
      this.#grant(worker, digest, minute, numbers, answer);
    }
    return answer;
  }

  /**
   * Frees the parallel requests of a worker that has ended. Its requests and tokens stay counted until the end
   * of the minute, because it may have used its whole share.
   */
  remove(worker: number): void {
    for (const { shares } of this.#keys.values()) shares[2]?.delete(worker);
  }

  #grant(worker: number, digest: string, minute: string, numbers: readonly string[], answer: number[]): void {
    const time = Math.floor(this.#now());
    const key = this.#keyAt(digest, time);
    const isThisMinute = minute === '' || Number(minute) === key.ends;
    answer.push(key.ends, key.ends - time);
    for (const [index, type] of limitTypes.entries()) {
      const [limit = '', used = '', needed = '', reserve = ''] = numbers.slice(index * 4, index * 4 + 4);
      const shares = key.shares[index];
      if (limit === '' || shares === undefined) {
        answer.push(0, 0);
        continue;
      }
      let others = 0;
      for (const [other, share] of shares) if (other !== worker) others += share;
      const inUse = type !== 'max_parallel_requests' && !isThisMinute ? 0 : Number(used);
      const left = Math.max(0, Number(limit) - others - inUse);
      const given = Math.min(Number(needed), left);
      const share = inUse + given + Math.min(Number(reserve), Math.floor((left - given) / RESERVE_DIVISOR));
      if (share === 0) shares.delete(worker);
      else shares.set(worker, share);
      answer.push(share, others);
    }
  }

  /** Returns the shares of a key in its present minute. */
  #keyAt(digest: string, time: number): KeyShares {
    let key = this.#keys.get(digest);
    if (key === undefined) {
      if (this.#keys.size >= this.#sweepAt) this.#sweep(time);
      key = { ends: 0, shares: limitTypes.map(() => new Map<number, number>()) };
      this.#keys.set(digest, key);
    }
    if (time >= key.ends) {
      key.ends = time + WINDOW_MS;
      for (const index of [0, 1]) key.shares[index]?.clear();
    }
    return key;
  }

  #sweep(time: number): void {
    for (const [digest, { ends, shares }] of this.#keys)
      if (time >= ends && shares[2]?.size === 0) this.#keys.delete(digest);
    this.#sweepAt = this.#keys.size + SWEEP_STEP;
  }
}
