/** The usage of one day, in memory and in a journal. */
import { z } from 'zod';
import { addRequest, emptyUsage, NO_KEY, usageNumbers, type RequestUsage, type UsageRow } from '../usage.js';
import type { Entry } from './journal-lines.js';

const storedRow = usageNumbers.extend({ subject: z.enum(['key', 'tag']), name: z.string(), model: z.string() });
type StoredRow = z.infer<typeof storedRow>;

const USAGE = 'usage';
/** Clients choose tags. The requests of all further tags are in the row {@link OTHER_TAGS}. */
const MAX_TAG_ROWS = 10_000;
const OTHER_TAGS = '(other tags)';

/** The rows of a day. */
export class UsageDay {
  readonly day: string;
  readonly #rows = new Map<string, StoredRow>();
  readonly #changed = new Set<string>();
  #tagRows = 0;

  /** @param day its date: `2026-11-23`. */
  constructor(day: string) {
    this.day = day;
  }

  /** Takes an entry of the journal. @returns false if its form is unknown. */
  load([kind, id, value]: Entry): boolean {
    const { data } = storedRow.safeParse(value);
    if (kind !== USAGE || data === undefined) return false;
    this.#set(id, data);
    return true;
  }

  /** Adds a request. */
  add(request: RequestUsage): void {
    this.#add('key', request.key ?? NO_KEY, request);
    for (const tag of request.tags) this.#add('tag', tag, request);
  }

  #add(subject: StoredRow['subject'], name: string, request: RequestUsage): void {
    const id = `${subject} ${name.length} ${name} ${request.model}`;
    let row = this.#rows.get(id);
    if (row === undefined && subject === 'tag' && this.#tagRows >= MAX_TAG_ROWS && name !== OTHER_TAGS) {
      this.#add(subject, OTHER_TAGS, request);
      return;
    }
    row ??= this.#set(id, { subject, name, model: request.model, ...emptyUsage() });
    addRequest(row, request);
    this.#changed.add(id);
  }

  #set(id: string, row: StoredRow): StoredRow {
    if (row.subject === 'tag' && !this.#rows.has(id)) this.#tagRows += 1;
    this.#rows.set(id, row);
    return row;
  }

  /** Returns all entries for the journal. */
  *entries(): Iterable<Entry> {
    for (const [id, row] of this.#rows) yield [USAGE, id, row];
  }

  /** Returns a copy of the rows. */
  rows(): UsageRow[] {
    return [...this.#rows.values()].map((row) => ({ day: this.day, ...row }));
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
