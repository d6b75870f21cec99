/**
 * Limits of virtual keys that several processes apply together. The *authority* (Redis, or the first process of a
 * group of workers) grants each process a share of the limits of a key. The process admits requests from its share
 * without asking again. All shares together stay within the limit. `limit-share.ts` explains the protocol,
 * and docs/decisions/024-shares-of-limits.md explains the reasons.
 */
import { z } from 'zod';
import { withDeadline } from '@rackless/daemon/deadline.js';
import type { Log } from '@rackless/daemon/log/log.js';
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import type { LimitType } from '../errors/access.js';
import type { ProxyError } from '../errors/proxy-error.js';
import type { LimitAuthority } from '../store/store.js';
import { isLimited, limitError, UNLIMITED, type KeyLimits, type Remaining } from './key-limits.js';
import { shareScript } from './limit-scripts.js';
import { LimitShare, NUMBERS_PER_GRANT } from './limit-share.js';
import type { VirtualKey } from './virtual-key.js';

/** A request that has not been admitted yet. */
interface PendingRequest {
  readonly key: VirtualKey;
  readonly done: (refused: ProxyError | undefined) => void;
}

/** A key in use: its share, and the requests that wait for a grant. */
interface KeyInUse {
  readonly digest: string;
  readonly share: LimitShare;
  waiting: PendingRequest[];
}

/** How long requests wait for Redis, in milliseconds. */
const REDIS_TIMEOUT_MS = 500;
/** Keys in one call. More would block Redis for longer. */
const KEYS_AT_ONCE = 200;

/** Creates the limits. While the authority does not answer, each process applies them by itself. */
export function createSharedLimits(authority: LimitAuthority, log: Pick<Log, 'info' | 'warn'>): KeyLimits {
  const limits = new SharedLimits(authority, log);
  authority.onHeartbeat(() => limits.heartbeat());
  return limits;
}

/** Makes Redis the authority. */
export function redisAuthority(shared: SharedStore): LimitAuthority {
  return {
    report: (reports) => shared.run(shareScript, ['limit:', 'replica:'], [shared.replica, ...reports]),
    onHeartbeat: (listener) => shared.onHeartbeat(listener),
    timeoutMs: REDIS_TIMEOUT_MS,
  };
}

class SharedLimits implements KeyLimits {
  readonly #authority: LimitAuthority;
  readonly #log: Pick<Log, 'info' | 'warn'>;
  readonly #keys = new Map<string, KeyInUse>();
  /** The keys of the next reports. */
  readonly #toReport = new Set<KeyInUse>();
  /** Whether a call with reports is scheduled or on its way. */
  #isReporting = false;
  /** Whether the last call failed. Then the process applies the whole limits of keys by itself. */
  #isAlone = false;

  constructor(authority: LimitAuthority, log: Pick<Log, 'info' | 'warn'>) {
    this.#authority = authority;
    this.#log = log;
  }

  admit(key: VirtualKey, done: PendingRequest['done']): void {
    if (!isLimited(key)) done(undefined);
    else this.#admit(this.#keyInUse(key), { key, done });
  }

  use(key: VirtualKey, tokens: number): void {
    this.#count(key, (share) => share.use(tokens));
  }

  release(key: VirtualKey, tokens: number): void {
    this.#count(key, (share) => share.end(tokens));
  }

  #count(key: VirtualKey, count: (share: LimitShare) => void): void {
    if (!isLimited(key)) return;
    const keyInUse = this.#keyInUse(key);
    count(keyInUse.share);
    if (keyInUse.share.mustReport) this.#reportSoon(keyInUse);
  }

  remaining(key: VirtualKey): Remaining {
    if (!isLimited(key)) return UNLIMITED;
    const { share } = this.#keyInUse(key);
    return { requests: share.left('requests'), tokens: share.left('tokens') };
  }

  /** Reports the shares in use, gives unused parts back, and finds out whether the authority answers again. */
  heartbeat(): void {
    const now = performance.now();
    for (const keyInUse of this.#keys.values()) {
      const { digest, share } = keyInUse;
      const next = share.heartbeat(now);
      if (next === 'report') this.#toReport.add(keyInUse);
      else if (next === 'forget' && !share.isReporting && !this.#toReport.has(keyInUse)) this.#keys.delete(digest);
    }
    if (this.#isAlone || this.#toReport.size > 0) this.#schedule();
  }

  #keyInUse({ digest, stored }: VirtualKey): KeyInUse {
    const now = performance.now();
    let keyInUse = this.#keys.get(digest);
    if (keyInUse === undefined) {
      keyInUse = { digest, share: new LimitShare(stored, now), waiting: [] };
      this.#keys.set(digest, keyInUse);
    }
    keyInUse.share.refresh(now);
    return keyInUse;
  }

  /** Admits or rejects a request, or lets it wait for a grant. */
  #admit(keyInUse: KeyInUse, request: PendingRequest): void {
    const { share, waiting } = keyInUse;
    const { stored } = request.key;
    if (share.isReporting) {
      waiting.push(request);
      return;
    }
    const hasChanged = share.stored !== stored;
    share.stored = stored;
    const usedUp = this.#usedUp(share);
    if (usedUp === undefined && !hasChanged) {
      share.begin();
      request.done(undefined);
    } else if (this.#isAlone || (share.refused !== undefined && !hasChanged)) {
      this.#decide(keyInUse, request);
    } else {
      waiting.push(request);
      this.#reportSoon(keyInUse);
    }
  }

  #usedUp(share: LimitShare): LimitType | undefined {
    return share.usedUp(this.#isAlone ? 'key' : 'share');
  }

  /** Admits or rejects a request by the present share; by the whole limits while the authority does not answer. */
  #decide({ share }: KeyInUse, { key, done }: PendingRequest): void {
    const usedUp = this.#usedUp(share);
    if (usedUp === undefined) {
      share.begin();
      done(undefined);
      return;
    }
    // A parallel request may end at any time. So after this limit, the process sends a report for each later request,
    // instead of rejecting it at once.
    if (usedUp !== 'max_parallel_requests') share.refused = usedUp;
    done(limitError(key, usedUp, share.waitMs(performance.now())));
  }

  #reportSoon(keyInUse: KeyInUse): void {
    this.#toReport.add(keyInUse);
    // If the authority does not answer, the next heartbeat reports.
    if (!this.#isAlone) this.#schedule();
  }

  /** Schedules a call with the reports of all keys that need one. There is one call at a time. */
  #schedule(): void {
    if (this.#isReporting) return;
    this.#isReporting = true;
    setImmediate(() => void this.#send());
  }

  async #send(): Promise<void> {
    const keys = [...this.#toReport].slice(0, KEYS_AT_ONCE);
    for (const keyInUse of keys) this.#toReport.delete(keyInUse);
    const sent = keys.map((keyInUse) => ({ keyInUse, requests: keyInUse.waiting.splice(0) }));
    const reports = sent.flatMap(({ keyInUse: { digest, share }, requests }) => share.report(digest, requests.length));
    const answer = await this.#call(reports);
    const now = performance.now();
    for (const [index, { keyInUse, requests }] of sent.entries()) {
      const { share } = keyInUse;
      const grant = answer?.slice(index * NUMBERS_PER_GRANT, (index + 1) * NUMBERS_PER_GRANT);
      if (grant === undefined) share.isReporting = false;
      else share.grant(grant, now);
      for (const request of requests) this.#decide(keyInUse, request);
      // The authority may have received a report that it did not answer. The next report replaces it.
      if (grant === undefined || share.mustReport) this.#toReport.add(keyInUse);
    }
    for (const keyInUse of new Set([...keys, ...this.#toReport]))
      for (const request of keyInUse.waiting.splice(0)) this.#admit(keyInUse, request);
    this.#isReporting = false;
    if (this.#toReport.size > 0 && !this.#isAlone) this.#schedule();
  }

  /** Sends reports. @returns the numbers of the grants; undefined: the call failed. */
  async #call(reports: readonly string[]): Promise<readonly number[] | undefined> {
    try {
      const { timeoutMs } = this.#authority;
      const answer = await withDeadline(this.#authority.report(reports), timeoutMs, () => {
        throw new Error(`Redis, or the first process of the workers, has not answered within ${timeoutMs} ms`);
      });
      const numbers = z.array(z.number()).parse(answer);
      if (this.#isAlone) this.#log.info('limits of keys apply to all processes together again');
      this.#isAlone = false;
      return numbers;
    } catch (error) {
      if (!this.#isAlone) this.#log.warn(`limits of keys apply to each process alone: ${String(error)}`);
      this.#isAlone = true;
      return undefined;
    }
  }
}
