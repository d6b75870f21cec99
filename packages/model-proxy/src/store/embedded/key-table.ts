/** The keys in memory, with their changes and what they have spent. */
import { z } from 'zod';
import { periodAt, UNSPENT, type Period } from '../budget-periods.js';
import { storedKey, type StoredKey } from '../keys.js';
import type { KeyChanges, KeysInChange } from '../store.js';
import type { Entry } from './journal-lines.js';

const KEY = 'key';
const SPEND = 'spend';
const storedPeriod = z.object({ spend: z.number(), resetAt: z.number().nullable() });

/** A waiting change. */
interface WaitingChange {
  /** Makes the change from the keys, and adds it to `changes`. */
  readonly run: (keys: KeysInChange, changes: Map<string, StoredKey | null>) => void;
  readonly done: () => void;
  readonly fail: (error: unknown) => void;
}

/** The table of keys. */
export class KeyTable {
  readonly keys = new Map<string, StoredKey>();
  /** Grows with each change. */
  revision = 0;
  readonly #digestByAlias = new Map<string, string>();
  readonly #spends = new Map<string, Period>();
  readonly #changedSpends = new Set<string>();
  readonly #waiting: WaitingChange[] = [];
  #isWriting = false;

  /** Loads an entry of the journal. @returns false if its form is unknown. */
  load([kind, id, value]: Entry): boolean {
    if (kind === SPEND) {
      const { data } = storedPeriod.safeParse(value);
      // A flush during the deletion of a key can write its spend behind the deletion. So `load` ignores unknown keys.
      if (data !== undefined && this.keys.has(id)) this.#spends.set(id, data);
      return data !== undefined;
    }
    if (kind !== KEY) return false;
    const { data } = storedKey.safeParse(value);
    if (value !== null && data === undefined) return false;
    this.apply(new Map([[id, data ?? null]]));
    return true;
  }

  /** Returns all entries for the journal. */
  *entries(): Iterable<Entry> {
    for (const [digest, key] of this.keys) yield [KEY, digest, key];
    for (const [digest, period] of this.#spends) yield spendEntry(digest, period);
  }

  /**
   * Runs a change as `Store.changeKeys` does. Changes that wait at the same time share one write.
   * @param write stores entries on the disk.
   * @param now returns milliseconds since 1970.
   */
  change<Result>(
    change: (keys: KeysInChange) => { readonly changes: KeyChanges; readonly result: Result },
    write: (entries: readonly Entry[]) => Promise<void>,
    now: () => number,
  ): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      let outcome: { readonly result: Result } | undefined;
      const run: WaitingChange['run'] = (keys, changes) => {
        const made = change(keys);
        outcome = made;
        for (const [digest, key] of made.changes) changes.set(digest, key);
      };
      const done = () => outcome !== undefined && resolve(outcome.result);
      this.#waiting.push({ run, done, fail: reject });
      if (!this.#isWriting) void this.#writeAll(write, now);
    });
  }

  async #writeAll(write: (entries: readonly Entry[]) => Promise<void>, now: () => number): Promise<void> {
    this.#isWriting = true;
    while (this.#waiting.length > 0) {
      const changes = new Map<string, StoredKey | null>();
      const accepted = this.#waiting.splice(0).filter((waiting) => this.#accepts(waiting, changes));
      try {
        if (changes.size > 0) await write([...changes].map(([digest, key]): Entry => [KEY, digest, key]));
        this.apply(changes);
        // Sets the end of the period now, and the next flush stores it. Without this, the end would move until the
        // next request.
        for (const [digest, key] of changes)
          if (key?.budgetDuration !== null) this.setSpend(digest, this.spendOf(digest, now()));
        for (const { done } of accepted) done();
      } catch (error) {
        for (const { fail } of accepted) fail(error);
      }
    }
    this.#isWriting = false;
  }

  #accepts({ run, fail }: WaitingChange, changes: Map<string, StoredKey | null>): boolean {
    try {
      run(this.#viewOf(changes), changes);
      return true;
    } catch (error) {
      fail(error);
      return false;
    }
  }

  #viewOf(changes: KeyChanges): KeysInChange {
    const get = (digest: string) => {
      const changed = changes.get(digest);
      return changed === undefined ? this.keys.get(digest) : (changed ?? undefined);
    };
    return {
      get,
      withAlias: (alias) => {
        for (const [digest, key] of changes) if (key?.alias === alias) return digest;
        const digest = this.#digestByAlias.get(alias);
        return digest !== undefined && get(digest)?.alias === alias ? digest : undefined;
      },
    };
  }

  /** Applies stored changes. Forgets the spend of a key that was deleted or created again. */
  apply(changes: KeyChanges): void {
    this.revision += 1;
    for (const [digest, key] of changes) {
      const alias = this.keys.get(digest)?.alias ?? null;
      if (alias !== null && this.#digestByAlias.get(alias) === digest) this.#digestByAlias.delete(alias);
      if (key?.createdAt !== this.keys.get(digest)?.createdAt) {
        this.#spends.delete(digest);
        this.#changedSpends.delete(digest);
      }
      if (key === null) {
        this.keys.delete(digest);
        continue;
      }
      this.keys.set(digest, key);
      if (key.alias !== null) this.#digestByAlias.set(key.alias, digest);
    }
  }

  /** Returns what a key has spent in the period of its budget. */
  spendOf(digest: string, nowMs: number): Period {
    const key = this.keys.get(digest);
    const period = this.#spends.get(digest) ?? UNSPENT;
    return key === undefined ? period : periodAt(period, key.budgetDuration, nowMs);
  }

  /** Sets the spend, and marks it for {@link takeChangedSpends}. Ignores a key that was deleted. */
  setSpend(digest: string, period: Period): void {
    if (!this.keys.has(digest)) return;
    this.#spends.set(digest, period);
    this.#changedSpends.add(digest);
  }

  /** Returns the spends that changed since the last call. */
  takeChangedSpends(): Entry[] {
    const entries = [...this.#changedSpends].map((digest) => spendEntry(digest, this.#spends.get(digest) ?? UNSPENT));
    this.#changedSpends.clear();
    return entries;
  }

  /** Marks spends again, because they could not be stored. */
  markSpends(entries: readonly Entry[]): void {
    for (const [, digest] of entries) if (this.#spends.has(digest)) this.#changedSpends.add(digest);
  }
}

/** Returns the entry of a spend for the journal. */
export function spendEntry(digest: string, period: Period): Entry {
  return [SPEND, digest, period];
}
