/** Rows of the usage of a day, in memory. */
import { addNumbers, addRequest, emptyUsage, NO_KEY, type RequestUsage, type UsageRow } from './usage.js';

/** A row without its day. */
export type SubjectRow = Omit<UsageRow, 'day'>;

/** Maximum number of rows of tags of a day, because clients choose tags. */
export const MAX_TAG_ROWS = 10_000;
/** The name of the row of all further tags. */
export const OTHER_TAGS = '(other tags)';

/** The rows, by an id that is the same for the same subject and model. */
export class UsageRows {
  readonly #rows = new Map<string, SubjectRow>();
  #tagRows = 0;

  get size(): number {
    return this.#rows.size;
  }

  get(id: string): SubjectRow | undefined {
    return this.#rows.get(id);
  }

  set(id: string, row: SubjectRow): void {
    if (row.subject === 'tag' && !this.#rows.has(id)) this.#tagRows += 1;
    this.#rows.set(id, row);
  }

  entries(): IterableIterator<[id: string, row: SubjectRow]> {
    return this.#rows.entries();
  }

  /** Adds a request. @param onChange gets the ids of the rows that count it. */
  add(request: RequestUsage, onChange?: (id: string) => void): void {
    const count = (row: SubjectRow): void => addRequest(row, request);
    this.#change('key', request.key ?? NO_KEY, request.model, count, onChange);
    for (const tag of request.tags) this.#change('tag', tag, request.model, count, onChange);
  }

  /** Adds the numbers of a row of another process. @param onChange gets the id of the row that counts them. */
  merge(added: SubjectRow, onChange: (id: string) => void): void {
    this.#change(added.subject, added.name, added.model, (row) => addNumbers(row, added), onChange);
  }

  /** Changes a row, and creates it if there is none. Beyond the maximum, changes the row of all other tags. */
  #change(
    subject: UsageRow['subject'],
    name: string,
    model: string,
    change: (row: SubjectRow) => void,
    onChange: ((id: string) => void) | undefined,
  ): void {
    const id = idOf(subject, name, model);
    let row = this.#rows.get(id);
    if (row === undefined && subject === 'tag' && this.#tagRows >= MAX_TAG_ROWS && name !== OTHER_TAGS) {
      this.#change(subject, OTHER_TAGS, model, change, onChange);
      return;
    }
    if (row === undefined) {
      row = { subject, name, model, ...emptyUsage() };
      this.set(id, row);
    }
    change(row);
    onChange?.(id);
  }

  /** Removes and returns the oldest rows. @param count how many at most. */
  take(count: number): SubjectRow[] {
    const taken: SubjectRow[] = [];
    for (const [id, row] of this.#rows) {
      if (taken.length === count) break;
      taken.push(row);
      this.#rows.delete(id);
      if (row.subject === 'tag') this.#tagRows -= 1;
    }
    return taken;
  }
}

const idOf = (subject: UsageRow['subject'], name: string, model: string) =>
  `${subject} ${name.length} ${name} ${model}`;
