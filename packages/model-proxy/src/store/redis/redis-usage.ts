/**
 * Usage and spends in Redis. Numbers are added in memory, and sent to Redis in batches. A batch without
 * an answer is sent again with the same number, so Redis does not count it twice. Redis forgets the number
 * after 7 days without a batch.
 */
import { z } from 'zod';
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import { periodAt, UNSPENT, type Period } from '../budget-periods.js';
import { DAY_MS, dayOf, daysBetween, emptyUsage, type RequestUsage, type UsageRow } from '../usage.js';
import { MAX_TAG_ROWS, OTHER_TAGS, UsageRows, type SubjectRow } from '../usage-rows.js';
import { expiryScript, readScript, spendNames, usageScript } from './usage-scripts.js';

/** Options of {@link RedisUsage}. */
interface RedisUsageOptions {
  /** How many days the usage is stored, including the present day; null: {@link MAX_DAYS}. */
  readonly keepDays: number | null;
  /** Returns milliseconds since 1970. */
  readonly now: () => number;
  /**
   * Called when the spend of a key in Redis has changed; after a reconnection, for all keys. The first read does not
   * call it.
   */
  readonly onSpend?: (digest: string, before: Period, after: Period) => void;
}

/** Names of the numbers in their order in Redis. */
const numbers = ['requests', 'failed', 'inputTokens', 'outputTokens', 'totalTokens', 'cost'] as const;

/** Maximum number of rows, and of costs, of a batch. A batch blocks Redis for a few milliseconds. */
const BATCH_SIZE = 100;
/** Fields of a day that one call reads. More would block Redis for longer. */
const FIELDS_AT_ONCE = 2000;
/** Without a limit, days are stored for ten years. */
const MAX_DAYS = 3650;

/** A cost that Redis has perhaps not received. */
interface Cost {
  /** US dollars. */
  readonly cost: number;
  /** End of its period in milliseconds since 1970; null: the budget has no periods. */
  readonly resetAt: number | null;
}

interface Batch {
  readonly number: number;
  readonly days: readonly string[];
  readonly costs: ReadonlyMap<string, Cost>;
  /** The arguments of the script after the first three. */
  readonly args: readonly string[];
}

/** The parts of a batch. */
interface BatchContent {
  readonly deleted?: Iterable<string>;
  readonly spends?: Iterable<readonly [digest: string, period: Period]>;
  readonly costs?: ReadonlyMap<string, Cost>;
  readonly rows?: readonly UsageRow[];
}

const usageAnswer = z.tuple([z.number(), z.number()]).rest(z.string());
const dayAnswer = z.tuple([z.string(), z.array(z.string())]);

/** The usage of all proxies. The caller runs one asynchronous method at a time. */
export class RedisUsage {
  readonly #shared: SharedStore;
  readonly #keepDays: number;
  readonly #now: () => number;
  /** Whether the spends of all keys were read. */
  #isOpen = false;
  readonly #onSpend: RedisUsageOptions['onSpend'];
  /** The spends of all keys in Redis. Each answer updates them. */
  #stored = new Map<string, Period>();
  #revision = 0;
  /** Whether Redis may have lost changes. New changes may have the same revisions. */
  #mustReadAll = false;
  readonly #costs = new Map<string, Cost>();
  readonly #days = new Map<string, UsageRows>();
  readonly #deleted = new Set<string>();
  /** A batch that Redis has perhaps not received; null: there is none. */
  #batch: Batch | null = null;
  #batches = 0;

  constructor(shared: SharedStore, { keepDays, now, onSpend }: RedisUsageOptions) {
    this.#shared = shared;
    this.#keepDays = keepDays ?? MAX_DAYS;
    this.#now = now;
    this.#onSpend = onSpend;
    shared.onReconnect(() => (this.#mustReadAll = true));
  }

  /** Reads all spends, and applies a changed retention. @throws an error if Redis does not answer. */
  async open(): Promise<void> {
    await this.flush();
    this.#isOpen = true;
    const today = dayOf(this.#now());
    const days = daysBetween(Date.parse(today) - MAX_DAYS * DAY_MS, Date.parse(today));
    await this.#shared.run(
      expiryScript,
      days.map((day) => `usage:${day}`),
      days.map((day) => this.#expiryOf(day)),
    );
  }

  /** Returns the time in milliseconds since 1970. */
  now(): number {
    return this.#now();
  }

  /** Returns what a key has spent. @param duration length of the periods of its budget; null: there are no periods. */
  spendOf(digest: string, duration: string | null): Period {
    const now = this.#now();
    let period = this.#stored.get(digest) ?? UNSPENT;
    for (const cost of [this.#batch?.costs.get(digest), this.#costs.get(digest)])
      if (cost !== undefined) period = withCost(period, cost, duration === null ? -Infinity : now);
    return periodAt(period, duration, now);
  }

  /** Adds a request to the reports. */
  addRequest(request: RequestUsage): void {
    const day = dayOf(this.#now());
    let rows = this.#days.get(day);
    if (rows === undefined) {
      rows = new UsageRows();
      this.#days.set(day, rows);
    }
    rows.add(request);
  }

  /** Adds a cost to the spend of a key. A cost of 0 makes Redis store the end of the period. */
  addCost(digest: string, cost: number, duration: string | null): void {
    const now = this.#now();
    const before = this.#costs.get(digest);
    const { resetAt } = this.spendOf(digest, duration);
    const isOver = before !== undefined && before.resetAt !== null && now >= before.resetAt;
    this.#costs.set(digest, { cost: isOver ? cost : cost + (before?.cost ?? 0), resetAt });
  }

  /** Removes the spend of a deleted key from Redis, with the next flush. */
  remove(digest: string): void {
    this.forget(digest);
    this.#deleted.add(digest);
  }

  /** Removes the spend of a deleted key from the memory. */
  forget(digest: string): void {
    this.#stored.delete(digest);
    this.#costs.delete(digest);
  }

  /** Sets what a key has spent. @throws an error if Redis does not answer. Redis may have stored the spend. */
  async setSpend(digest: string, period: Period): Promise<void> {
    // Sends the costs of earlier requests first, because the new spend replaces them.
    await this.flush();
    await this.#send(this.#batchOf({ spends: [[digest, period]] }));
  }

  /** Sends what was added, and reads changed spends. @throws an error without an answer. The next flush continues. */
  async flush(): Promise<void> {
    if (this.#batch !== null) await this.#sendPrepared(this.#batch);
    let rows = 0;
    for (const { size } of this.#days.values()) rows += size;
    for (let left = Math.max(1, rows, this.#costs.size); left > 0; left -= BATCH_SIZE) {
      this.#batch = this.#nextBatch();
      await this.#sendPrepared(this.#batch);
    }
  }

  async #sendPrepared(batch: Batch): Promise<void> {
    await this.#send(batch);
    this.#batch = null;
  }

  #nextBatch(): Batch {
    const deleted = [...this.#deleted];
    this.#deleted.clear();
    const costs = new Map<string, Cost>();
    for (const [digest, cost] of this.#costs) {
      if (costs.size === BATCH_SIZE) break;
      costs.set(digest, cost);
      this.#costs.delete(digest);
    }
    const rows: UsageRow[] = [];
    for (const [day, added] of this.#days) {
      for (const row of added.take(BATCH_SIZE - rows.length)) rows.push({ day, ...row });
      if (added.size === 0) this.#days.delete(day);
    }
    return this.#batchOf({ deleted, costs, rows });
  }

  #batchOf({ deleted = [], spends = [], costs = new Map(), rows = [] }: BatchContent): Batch {
    const days = [...new Set(rows.map(({ day }) => day))];
    const lists = [
      Array.from(deleted, (digest) => [digest]),
      Array.from(spends, ([digest, { spend, resetAt }]) => [digest, String(spend), argumentOf(resetAt)]),
      Array.from(costs, ([digest, { cost, resetAt }]) => [digest, String(cost), argumentOf(resetAt)]),
      rows.map((row) => [
        String(days.indexOf(row.day) + 1),
        fieldOf(row),
        row.subject === 'tag' ? fieldOf({ ...row, name: OTHER_TAGS }) : '',
        ...numbers.map((name) => String(row[name])),
      ]),
      days.map((day) => [this.#expiryOf(day)]),
    ];
    const isEmpty = lists.every((list) => list.length === 0);
    if (!isEmpty) this.#batches += 1;
    const args = [...lists.flatMap((list) => [String(list.length), ...list.flat()]), String(MAX_TAG_ROWS)];
    return { number: isEmpty ? 0 : this.#batches, days, costs, args };
  }

  async #send({ number, days, args }: Batch): Promise<void> {
    const isAll = this.#mustReadAll;
    this.#mustReadAll = false;
    const known = isAll ? 0 : this.#revision;
    try {
      const answer = await this.#shared.run(
        usageScript,
        [...spendNames, `batch:${this.#shared.replica}`, ...days.map((day) => `usage:${day}`)],
        [String(number), String(Math.floor(this.#now())), String(known), ...args],
      );
      this.#apply(usageAnswer.parse(answer));
    } catch (error) {
      this.#mustReadAll ||= isAll;
      throw error;
    }
  }

  #apply([revision, isComplete, ...changes]: z.infer<typeof usageAnswer>): void {
    const before = this.#stored;
    if (isComplete === 1) this.#stored = new Map();
    for (let index = 0; index + 2 < changes.length; index += 3) {
      const [digest = '', spend = '', end = ''] = changes.slice(index, index + 3);
      const after = { spend: Number(spend), resetAt: end === '' ? null : Number(end) };
      if (this.#isOpen) this.#onSpend?.(digest, before.get(digest) ?? UNSPENT, after);
      this.#stored.set(digest, after);
    }
    this.#revision = revision;
  }

  /** Returns when Redis removes a day, in milliseconds since 1970. */
  #expiryOf(day: string): string {
    return String(Date.parse(day) + this.#keepDays * DAY_MS);
  }

  /**
   * Reads the rows of the stored days in a range, each day in small parts.
   * @throws an error if Redis does not answer.
   */
  async *read(from: string, to: string): AsyncGenerator<readonly UsageRow[]> {
    const today = Date.parse(dayOf(this.#now()));
    const oldest = today - (this.#keepDays - 1) * DAY_MS;
    // The clock of a proxy can be ahead, so tomorrow may already have usage.
    const days = daysBetween(Math.max(Date.parse(from), oldest), Math.min(Date.parse(to), today + DAY_MS));
    for (const day of days) yield Array.from(await this.#readDay(day), (row) => ({ day, ...row }));
  }

  async #readDay(day: string): Promise<Iterable<SubjectRow>> {
    const rows = new Map<string, SubjectRow & ReturnType<typeof emptyUsage>>();
    let cursor = '0';
    do {
      const answer = await this.#shared.run(readScript, [`usage:${day}`], [cursor, String(FIELDS_AT_ONCE)]);
      const [next, pairs] = dayAnswer.parse(answer);
      for (let index = 0; index + 1 < pairs.length; index += 2) {
        const [key = '', value = ''] = [pairs[index], pairs[index + 1]];
        const name = numbers[Number(key[0]) - 1];
        if (name === undefined) continue;
        const field = key.slice(1);
        const row = rows.get(field) ?? { ...subjectOf(field), ...emptyUsage() };
        row[name] = Number(value);
        rows.set(field, row);
      }
      cursor = next;
    } while (cursor !== '0');
    return rows.values();
  }
}

/** Adds a cost to the spend of a period, by the rules of the script. @param now -Infinity: no period ends. */
function withCost(period: Period, { cost, resetAt }: Cost, now: number): Period {
  if (resetAt === null) return { spend: period.spend + cost, resetAt: period.resetAt };
  if (now >= resetAt) return period;
  if (period.resetAt === null) return { spend: period.spend + cost, resetAt };
  if (now >= period.resetAt) return { spend: cost, resetAt };
  return { spend: period.spend + cost, resetAt: Math.min(period.resetAt, resetAt) };
}

const argumentOf = (time: number | null) => (time === null ? '' : String(time));

type Subject = Pick<UsageRow, 'subject' | 'name' | 'model'>;
const fieldSchema = z.tuple([z.enum(['key', 'tag']), z.string(), z.string()]);

const fieldOf = ({ subject, name, model }: Subject) => JSON.stringify([subject, name, model]);

function subjectOf(field: string): Subject {
  const [subject, name, model] = fieldSchema.parse(JSON.parse(field));
  return { subject, name, model };
}
