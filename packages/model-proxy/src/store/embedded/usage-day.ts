/** The usage of one day, in memory and in a journal. */
import { z } from 'zod';
import { usageNumbers, type RequestUsage, type UsageRow } from '../usage.js';
import { UsageRows, type SubjectRow } from '../usage-rows.js';
import type { Entry } from './journal-lines.js';

const storedRow = usageNumbers.extend({ subject: z.enum(['key', 'tag']), name: z.string(), model: z.string() });

const USAGE = 'usage';

/** The rows of a day. */
export class UsageDay {
  readonly day: string;
  readonly #rows = new UsageRows();
  readonly #changed = new Set<string>();

  /** @param day its date, such as `2026-11-23`. */
  constructor(day: string) {
    this.day = day;
  }

  /** Loads an entry of the journal. @returns false if its form is unknown. */
  load([kind, id, value]: Entry): boolean {
    const { data } = storedRow.safeParse(value);
    if (kind !== USAGE || data === undefined) return false;
    this.#rows.set(id, data);
    return true;
  }

  /** Adds a request. */
  add(request: RequestUsage): void {
    this.#rows.add(request, (id) => this.#changed.add(id));
  }

  /** Adds the numbers of a row of another process. */
  merge(row: SubjectRow): void {
    this.#rows.merge(row, (id) => this.#changed.add(id));
  }

  /** Returns all entries for the journal. */
  *entries(): Iterable<Entry> {
    for (const [id, row] of this.#rows.entries()) yield [USAGE, id, row];
  }

  /** Returns a copy of the rows. */
  rows(): UsageRow[] {
    return Array.from(this.#rows.entries(), ([, row]) => ({ day: this.day, ...row }));
  }

  /** Returns the entries that changed since the last call. */
  takeChanged(): Entry[] {
    const entries = [...this.#changed].map((id): Entry => [USAGE, id, this.#rows.get(id) ?? null]);
    this.#changed.clear();
    return entries;
  }

  /** Marks entries again, because they could not be stored. */
  mark(entries: readonly Entry[]): void {
    for (const [, id] of entries) this.#changed.add(id);
  }
}
