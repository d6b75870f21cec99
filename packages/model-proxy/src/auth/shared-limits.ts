/**
 * Limits of virtual keys that several proxies share. Redis gives each proxy a share of the limits of
 * a key, from which the proxy admits requests without asking again. Shares never add up to more than
 * the limit. See docs/decisions/024-shares-of-limits.md.
 */
import { z } from 'zod';
import { withDeadline } from '@rackless/daemon/deadline.js';
import type { Log } from '@rackless/daemon/log/log.js';
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import type { ProxyError } from '../errors/proxy-error.js';
import { isLimited, limitError, UNLIMITED, type KeyLimits, type Remaining } from './key-limits.js';
import { shareScript } from './limit-scripts.js';
import { LimitShare, NUMBERS_OF_ANSWER } from './limit-share.js';
import type { VirtualKey } from './virtual-key.js';

interface Waiting {
  readonly key: VirtualKey;
  readonly done: (refused: ProxyError | undefined) => void;
}

/** A key in use: its share, and the requests that wait for an answer of Redis. */
interface KeyInUse {
  readonly digest: string;
  readonly share: LimitShare;
  waiting: Waiting[];
}

/** Without an answer for this time, the proxy applies the limits alone. */
const TIMEOUT_MS = 500;
/** Keys in one call. More would block Redis for longer. */
const KEYS_AT_ONCE = 200;

/** Creates the limits. While Redis does not answer, they apply to each proxy alone. */
export function createSharedLimits(shared: SharedStore, log: Pick<Log, 'info' | 'warn'>): KeyLimits {
  const limits = new SharedLimits(shared, log);
  shared.onBeat(() => limits.beat());
  return limits;
}

class SharedLimits implements KeyLimits {
  readonly #shared: SharedStore;
  readonly #log: Pick<Log, 'info' | 'warn'>;
  readonly #keys = new Map<string, KeyInUse>();
  /** The keys of the next statements. */
  readonly #toState = new Set<KeyInUse>();
  #isStating = false;
  /** Whether Redis has not answered the last statement. */
  #isAlone = false;

  constructor(shared: SharedStore, log: Pick<Log, 'info' | 'warn'>) {
    this.#shared = shared;
    this.#log = log;
  }

  admit(key: VirtualKey, done: Waiting['done']): void {
    if (!isLimited(key)) done(undefined);
    else this.#admit(this.#keyInUse(key), { key, done });
  }

  release(key: VirtualKey, tokens: number): void {
    if (!isLimited(key)) return;
    const used = this.#keyInUse(key);
    used.share.end(tokens);
    if (used.share.isUrgent) this.#state(used);
  }

  remaining(key: VirtualKey): Remaining {
    if (!isLimited(key)) return UNLIMITED;
    const { share } = this.#keyInUse(key);
    return { requests: share.left('requests'), tokens: share.left('tokens') };
  }

  /** States the shares in use, returns what was not used, and finds out whether Redis answers again. */
  beat(): void {
    const now = performance.now();
    for (const used of this.#keys.values()) {
      const use = used.share.beat(now);
      if (use === 'busy') this.#toState.add(used);
      else if (use === 'idle' && !used.share.isStated && !this.#toState.has(used)) this.#keys.delete(used.digest);
    }
    if (this.#isAlone || this.#toState.size > 0) this.#schedule();
  }

  #keyInUse({ digest, stored }: VirtualKey): KeyInUse {
    const now = performance.now();
    let used = this.#keys.get(digest);
    if (used === undefined) {
      used = { digest, share: new LimitShare(stored, now), waiting: [] };
      this.#keys.set(digest, used);
    }
    used.share.refresh(now);
    return used;
  }

  #admit(used: KeyInUse, request: Waiting): void {
    const { share, waiting } = used;
    const { stored } = request.key;
    if (share.isStated) {
      waiting.push(request);
      return;
    }
    const isOther = share.stored !== stored;
    share.stored = stored;
    const full = share.full(this.#isAlone);
    if (full === undefined && !isOther) {
      share.begin();
      request.done(undefined);
    } else if (this.#isAlone || (share.reached !== undefined && !isOther)) {
      this.#decide(used, request);
    } else {
      waiting.push(request);
      this.#state(used);
    }
  }

  /** Admits or rejects a request by the present share. */
  #decide({ share }: KeyInUse, { key, done }: Waiting): void {
    const full = share.full(this.#isAlone);
    if (full === undefined) {
      share.begin();
      done(undefined);
      return;
    }
    // A parallel request may end at any time.
    if (full !== 'max_parallel_requests') share.reached = full;
    done(limitError(key, full, share.waitMs(performance.now())));
  }

  #state(used: KeyInUse): void {
    this.#toState.add(used);
    // The next beat finds out whether Redis answers again.
    if (!this.#isAlone) this.#schedule();
  }

  /** Sends a statement soon. There is one at a time: it has all keys of the time before. */
  #schedule(): void {
    if (this.#isStating) return;
    this.#isStating = true;
    setImmediate(() => void this.#send());
  }

  async #send(): Promise<void> {
    const keys = [...this.#toState].slice(0, KEYS_AT_ONCE);
    for (const used of keys) this.#toState.delete(used);
    const asked = keys.map((used) => ({ used, requests: used.waiting.splice(0) }));
    const words = asked.flatMap(({ used: { digest, share }, requests }) => share.statement(digest, requests.length));
    const answer = await this.#answerTo([this.#shared.replica, ...words]);
    const now = performance.now();
    for (const [index, { used, requests }] of asked.entries()) {
      const numbers = answer?.slice(index * NUMBERS_OF_ANSWER, (index + 1) * NUMBERS_OF_ANSWER);
      if (numbers === undefined) used.share.isStated = false;
      else used.share.grant(numbers, now);
      for (const request of requests) this.#decide(used, request);
      // Redis may have received a statement without an answer. The next one replaces it.
      if (numbers === undefined || used.share.isUrgent) this.#toState.add(used);
    }
    for (const used of new Set([...keys, ...this.#toState]))
      for (const request of used.waiting.splice(0)) this.#admit(used, request);
    this.#isStating = false;
    if (this.#toState.size > 0 && !this.#isAlone) this.#schedule();
  }

  /** Returns undefined if Redis does not answer. */
  async #answerTo(words: readonly string[]): Promise<readonly number[] | undefined> {
    try {
      const answer = await withDeadline(
        this.#shared.run(shareScript, ['limit:', 'replica:'], words),
        TIMEOUT_MS,
        () => {
          throw new Error(`the shared store has not answered within ${TIMEOUT_MS} ms`);
        },
      );
      const numbers = z.array(z.number()).parse(answer);
      if (this.#isAlone) this.#log.info('limits of keys apply to all proxies together again');
      this.#isAlone = false;
      return numbers;
    } catch (error) {
      if (!this.#isAlone) this.#log.warn(`limits of keys apply to each proxy alone: ${String(error)}`);
      this.#isAlone = true;
      return undefined;
    }
  }
}
