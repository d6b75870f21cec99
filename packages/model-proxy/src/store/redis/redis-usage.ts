/** Usage and spends in Redis. Numbers are added in memory, and sent to Redis together. */
import { z } from 'zod';
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import { addRequest, dayOf, emptyUsage, NO_KEY, type RequestUsage, type UsageRow } from '../usage.js';
import { addScript, readScript, setScript } from './usage-scripts.js';

/** Names of the numbers in their order in Redis. */
const numbers = ['requests', 'failed', 'inputTokens', 'outputTokens', 'totalTokens', 'cost'] as const;
type Numbers = ReturnType<typeof emptyUsage>;

/** Rows of one script. More would block Redis for longer. */
const ROWS_AT_ONCE = 500;
/** A spend that this proxy has not used for this time is no longer updated. */
const ACTIVE_MS = 60_000;
const DAY_MS = 86_400_000;
/** Without a limit, days are stored for ten years. */
const MAX_DAYS = 3650;

interface KnownSpend {
  /** The spend in Redis at the last flush. */
  stored: number;
  /** Costs that this proxy has added since the last flush. */
  added: number;
  usedAt: number;
}

/** The usage of all proxies. */
export class RedisUsage {
  readonly #shared: SharedStore;
  readonly #keepDays: number | null;
  #rows = new Map<string, { readonly day: string; readonly field: string; readonly numbers: Numbers }>();
  /** By field: the digest of the key, and the end of the period. */
  readonly #spends = new Map<string, KnownSpend>();

  constructor(shared: SharedStore, keepDays: number | null) {
    this.#shared = shared;
    this.#keepDays = keepDays;
  }

  /** Returns what a key has spent in the period that ends at a time. */
  spendOf(digest: string, resetAt: number | null): number {
    const known = this.#knownOf(fieldOf(digest, resetAt));
    return known.stored + known.added;
  }

  /** Sets what a key has spent. Without Redis, only this proxy knows it. */
  setSpend(digest: string, resetAt: number | null, spend: number): void {
    const field = fieldOf(digest, resetAt);
    Object.assign(this.#knownOf(field), { stored: spend, added: 0 });
    this.#shared.run(setScript, ['spends'], [field, String(spend)]).catch(() => undefined);
  }

  /** Adds a request. @param resetAt end of the period of the key's budget. */
  add(request: RequestUsage, resetAt: number | null): void {
    const day = dayOf(this.#shared.now());
    this.#addRow(day, 'key', request.key ?? NO_KEY, request);
    for (const tag of request.tags) this.#addRow(day, 'tag', tag, request);
    if (request.key !== null && request.cost > 0) this.#knownOf(fieldOf(request.key, resetAt)).added += request.cost;
  }

  #addRow(day: string, subject: UsageRow['subject'], name: string, request: RequestUsage): void {
    const field = JSON.stringify([subject, name, request.model]);
    const id = day + field;
    let row = this.#rows.get(id);
    if (row === undefined) {
      row = { day, field, numbers: emptyUsage() };
      this.#rows.set(id, row);
    }
    addRequest(row.numbers, request);
  }

  #knownOf(field: string): KnownSpend {
    let known = this.#spends.get(field);
    if (known === undefined) {
      known = { stored: 0, added: 0, usedAt: 0 };
      this.#spends.set(field, known);
    }
    known.usedAt = performance.now();
    return known;
  }

  /** Sends what was added, and reads the spends in use. @throws an error if Redis does not answer. */
  async flush(): Promise<void> {
    const rows = [...this.#rows.values()];
    this.#rows = new Map();
    const fields = this.#activeFields();
    for (let from = 0; from === 0 || from < Math.max(rows.length, fields.length); from += ROWS_AT_ONCE) {
      const [someRows, someFields] = [rows.slice(from, from + ROWS_AT_ONCE), fields.slice(from, from + ROWS_AT_ONCE)];
      if (someRows.length + someFields.length === 0) return;
      try {
        await this.#send(someRows, someFields);
      } catch (error) {
        // Redis may have added them: the connection was lost before its answer. Then they count twice.
        for (const row of rows.slice(from)) this.#restore(row);
        throw error;
      }
    }
  }

  #activeFields(): string[] {
    const oldest = performance.now() - ACTIVE_MS;
    for (const [field, { added, usedAt }] of this.#spends)
      if (added === 0 && usedAt < oldest) this.#spends.delete(field);
    return [...this.#spends.keys()];
  }

  async #send(rows: readonly { day: string; field: string; numbers: Numbers }[], fields: readonly string[]) {
    const days = [...new Set(rows.map(({ day }) => day))];
    const added = fields.map((field) => ({ field, cost: this.#spends.get(field)?.added ?? 0 }));
    const costs = added.filter(({ cost }) => cost !== 0);
    const answer = await this.#shared.run(
      addScript,
      ['spends', ...days.map((day) => `usage:${day}`)],
      [
        String(costs.length),
        ...costs.flatMap(({ field, cost }) => [field, String(cost)]),
        String(rows.length),
        ...rows.flatMap(({ day, field, numbers: row }) => [
          String(days.indexOf(day) + 2),
          field,
          ...numbers.map((name) => String(row[name])),
        ]),
        ...fields,
      ],
    );
    const spends = z.array(z.string().nullable()).parse(answer);
    for (const [index, { field, cost }] of added.entries()) {
      const known = this.#spends.get(field);
      if (known === undefined) continue;
      known.stored = Number(spends[index] ?? 0);
      known.added -= cost;
    }
  }

  #restore(row: { readonly day: string; readonly field: string; readonly numbers: Numbers }): void {
    const id = row.day + row.field;
    const present = this.#rows.get(id);
    if (present === undefined) this.#rows.set(id, row);
    else for (const name of numbers) present.numbers[name] += row.numbers[name];
  }

  /** Reads the rows of some days. @throws an error if Redis does not answer. */
  async read(from: string, to: string): Promise<UsageRow[]> {
    const days = daysBetween(from, to, this.#keepDays ?? MAX_DAYS, this.#shared.now());
    if (days.length === 0) return [];
    const answer = await this.#shared.run(
      readScript,
      days.map((day) => `usage:${day}`),
      [],
    );
    const hashes = z.array(z.array(z.string())).parse(answer);
    return hashes.flatMap((words, index) => rowsOf(days[index] ?? '', words));
  }
}

/** Replicas have the same periods, so the end of a period identifies it. */
const fieldOf = (digest: string, resetAt: number | null) => `${digest} ${resetAt ?? ''}`;

function daysBetween(from: string, to: string, keepDays: number, now: number): string[] {
  const last = Math.min(Date.parse(to), Date.parse(dayOf(now)) + DAY_MS);
  const first = Math.max(Date.parse(from), last - keepDays * DAY_MS);
  const days: string[] = [];
  for (let time = first; time <= last; time += DAY_MS) days.push(dayOf(time));
  return days;
}

const fieldSchema = z.tuple([z.enum(['key', 'tag']), z.string(), z.string()]);

/** Reads the fields of a day: the index of a number, then the row as JSON. */
function rowsOf(day: string, words: readonly string[]): UsageRow[] {
  const rows = new Map<string, Numbers>();
  for (let index = 0; index + 1 < words.length; index += 2) {
    const [word = '', value = ''] = [words[index], words[index + 1]];
    const name = numbers[Number(word[0]) - 1];
    if (name === undefined) continue;
    const row = rows.get(word.slice(1)) ?? emptyUsage();
    row[name] = Number(value);
    rows.set(word.slice(1), row);
  }
  return [...rows].map(([field, row]) => {
    const [subject, name, model] = fieldSchema.parse(JSON.parse(field));
    return { day, subject, name, model, ...row };
  });
}
