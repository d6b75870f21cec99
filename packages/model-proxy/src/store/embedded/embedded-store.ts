/**
 * The store of a single proxy: files in a folder. `keys.journal` has the keys and what they have
 * spent, `usage-2026-11-23.journal` has the usage of a day.
 */
import { existsSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { FolderInUseError, lockFolder, type FolderLock } from '@rackless/daemon/files/folder-lock.js';
import { fileReason } from '@rackless/daemon/files/text-file.js';
import type { Log } from '@rackless/daemon/log/log.js';
import { runInSlices, type Steps } from '@rackless/daemon/process/slices.js';
import { StoreUnavailable } from '@rackless/daemon/shared-store/store-unavailable.js';
import { StoreError, type OwnedStore, type Store, type UsageBatch } from '../store.js';
import { DAY_MS, dayOf, type RequestUsage, type UsageRow } from '../usage.js';
import { UsageFlusher } from '../usage-flusher.js';
import { budgetEvents, type OnBudgetEvent } from '../budget-events.js';
import type { Entry } from './journal-lines.js';
import { Journal, JournalError } from './journal.js';
import { readJournalInSteps } from './journal-reader.js';
import { KeyTable, spendEntry } from './key-table.js';
import { UsageDay } from './usage-day.js';

/** Options of {@link openEmbeddedStore}. */
export interface EmbeddedStoreOptions {
  /** Created if it is missing. */
  readonly folder: string;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** How many days the usage is stored, including the present day; null: without end. */
  readonly keepDays: number | null;
  /** Returns milliseconds since 1970. */
  readonly now?: () => number;
  /** Gets the keys that cross a threshold of their budget. */
  readonly onBudgetEvent?: OnBudgetEvent | undefined;
  /** Time between two writes of usage, in milliseconds. */
  readonly flushMs?: number;
  /** How long to wait for a proxy that uses the folder and is stopping, in milliseconds. */
  readonly lockWaitMs?: number;
}

/** Entries of one write. More would block requests for longer. */
const ENTRIES_AT_ONCE = 500;
const KEYS_FILE = 'keys.journal';
const usageFile = (day: string) => `usage-${day}.journal`;
const usagePattern = /^usage-(\d{4}-\d\d-\d\d)\.journal$/;

/**
 * Opens the store in a folder.
 * @throws {StoreError} the folder is in use, or a file cannot be used.
 */
export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<OwnedStore> {
  const { folder, log } = options;
  let lock: FolderLock | undefined;
  try {
    const waitMs = options.lockWaitMs;
    lock = await lockFolder(folder, {
      setting: 'general_settings.store',
      log,
      ...(waitMs === undefined ? {} : { waitMs }),
    });
    return await EmbeddedStore.open(options, lock);
  } catch (error) {
    await lock?.release();
    if (error instanceof FolderInUseError || error instanceof JournalError)
      throw new StoreError(error.message, { cause: error });
    throw new StoreError(`the store in ${folder} cannot be opened: ${fileReason(error)}`, { cause: error });
  }
}

class EmbeddedStore implements OwnedStore {
  readonly #options: EmbeddedStoreOptions;
  readonly #now: () => number;
  readonly #lock: FolderLock;
  readonly #table: KeyTable;
  readonly #keysJournal: Journal;
  #day: UsageDay;
  #dayJournal: Journal;
  readonly #flusher: UsageFlusher;

  private constructor(
    options: EmbeddedStoreOptions,
    lock: FolderLock,
    files: {
      readonly table: KeyTable;
      readonly keysJournal: Journal;
      readonly day: UsageDay;
      readonly dayJournal: Journal;
    },
  ) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#lock = lock;
    this.#table = files.table;
    this.#keysJournal = files.keysJournal;
    this.#day = files.day;
    this.#dayJournal = files.dayJournal;
    const { log, flushMs } = options;
    this.#flusher = new UsageFlusher({ write: () => this.#write(), log, flushMs });
  }

  static async open(options: EmbeddedStoreOptions, lock: FolderLock): Promise<EmbeddedStore> {
    const { folder, log, now = Date.now } = options;
    const table = new KeyTable();
    const keysJournal = await Journal.open({
      file: path.join(folder, KEYS_FILE),
      log,
      load: (entry) => table.load(entry),
      entries: () => table.entries(),
    });
    const [day, dayJournal] = await openDay(options, dayOf(now()));
    removeOldDays(options, dayOf(now()));
    return new EmbeddedStore(options, lock, { table, keysJournal, day, dayJournal });
  }

  get keys(): Store['keys'] {
    return this.#table.keys;
  }

  get isAvailable(): boolean {
    return this.#flusher.isAvailable;
  }

  get keysRevision(): number {
    return this.#table.revision;
  }

  changeKeys: Store['changeKeys'] = (change) =>
    this.#table.change(change, (entries) => this.#storeNow(entries, 'the keys'), this.#now);

  async #storeNow(entries: readonly Entry[], what: string): Promise<void> {
    try {
      await this.#keysJournal.append(entries, { sync: true });
    } catch (error) {
      throw new StoreUnavailable(`${what} cannot be stored: ${fileReason(error)}`, { cause: error });
    }
  }

  now(): number {
    return this.#now();
  }

  spendOf: Store['spendOf'] = (digest) => this.#table.spendOf(digest, this.#now());

  setSpend(digest: string, spend: number): Promise<void> {
    return this.#flusher.run(async () => {
      const before = this.spendOf(digest);
      await this.#storeNow([spendEntry(digest, { ...before, spend })], 'the spend');
      // Requests have continued meanwhile, so their costs are added to the new spend.
      const after = this.spendOf(digest);
      const added = Math.max(0, after.spend - before.spend);
      this.#table.setSpend(digest, { ...after, spend: spend + added });
    });
  }

  addUsage(usage: RequestUsage): void {
    this.#day.add(usage);
    const { key, cost } = usage;
    if (key === null || cost === 0) return;
    this.#addCost(key, cost);
  }

  addBatch({ rows, costs }: UsageBatch): void {
    for (const row of rows) this.#day.merge(row);
    for (const [digest, cost] of costs) this.#addCost(digest, cost);
  }

  #addCost(digest: string, cost: number): void {
    const period = this.spendOf(digest);
    // Object spread takes many times as long here.
    const after = { spend: period.spend + cost, resetAt: period.resetAt };
    this.#table.setSpend(digest, after);
    const { onBudgetEvent } = this.#options;
    const key = onBudgetEvent === undefined ? undefined : this.keys.get(digest);
    if (key !== undefined) for (const event of budgetEvents(digest, key, period, after)) onBudgetEvent?.(event);
  }

  usageDays(from: string, to: string): Promise<readonly string[]> {
    return new Promise((resolve, reject) => {
      try {
        resolve(storedDays(this.#options.folder).filter((day) => day >= from && day <= to));
      } catch (error) {
        reject(new StoreUnavailable(`reading the usage: ${fileReason(error)}`, { cause: error }));
      }
    });
  }

  async *usageByDay(from: string, to: string): AsyncGenerator<readonly UsageRow[]> {
    for (const day of await this.usageDays(from, to)) {
      yield this.usageOf(day);
      // Small files are read without a pause, so let requests continue after each file.
      await delay(0);
    }
  }

  async usageOf(day: string): Promise<readonly UsageRow[]> {
    try {
      if (day === this.#day.day) return this.#day.rows();
      return await runInSlices(readDay(this.#options.folder, day));
    } catch (error) {
      throw new StoreUnavailable(`reading the usage: ${fileReason(error)}`, { cause: error });
    }
  }

  async close(): Promise<void> {
    await this.#flusher.close();
    await this.#keysJournal.close();
    await this.#dayJournal.close();
    await this.#lock.release();
  }

  /** Writes what has changed, begins a new day if it is time, and compacts long journals. */
  async #write(): Promise<void> {
    await this.#writeSpends();
    await writeChanged(this.#dayJournal, this.#day);
    await this.#changeDay();
    for (const journal of [this.#keysJournal, this.#dayJournal]) if (journal.isLong) await journal.compact();
  }

  async #writeSpends(): Promise<void> {
    const entries = this.#table.takeChangedSpends();
    await writeInParts(this.#keysJournal, entries, (rest) => this.#table.markSpends(rest));
  }

  /**
   * Begins a new day. If the clock goes back to the day before, the day stays. If it goes back further, an earlier day
   * continues: otherwise, the usage would count for a future day until the next start.
   */
  async #changeDay(): Promise<void> {
    const now = this.#now();
    const today = dayOf(now);
    if (today <= this.#day.day && dayOf(now + DAY_MS) >= this.#day.day) return;
    const ended = { day: this.#day, journal: this.#dayJournal };
    [this.#day, this.#dayJournal] = await openDay(this.#options, today);
    // Requests have continued while the file was opened.
    await writeChanged(ended.journal, ended.day);
    if (ended.journal.isLong) await ended.journal.compact();
    await ended.journal.close();
    removeOldDays(this.#options, today);
  }
}

async function openDay({ folder, log }: EmbeddedStoreOptions, date: string): Promise<[UsageDay, Journal]> {
  const day = new UsageDay(date);
  const file = path.join(folder, usageFile(date));
  const journal = await Journal.open({
    file,
    log,
    load: (entry) => day.load(entry),
    entries: () => day.entries(),
  });
  return [day, journal];
}

async function writeChanged(journal: Journal, day: UsageDay): Promise<void> {
  await writeInParts(journal, day.takeChanged(), (rest) => day.mark(rest));
}

/**
 * Appends entries in several writes.
 * @param onFault gets the entries that are not stored, or of which this is not certain.
 * @throws as {@link Journal.append}.
 */
async function writeInParts(
  journal: Journal,
  entries: readonly Entry[],
  onFault: (rest: readonly Entry[]) => void,
): Promise<void> {
  for (let from = 0; from < entries.length; from += ENTRIES_AT_ONCE) {
    try {
      await journal.append(entries.slice(from, from + ENTRIES_AT_ONCE), { sync: false });
    } catch (error) {
      onFault(entries.slice(from));
      throw error;
    }
  }
}

/** Returns the days with usage, the oldest first. */
function storedDays(folder: string): string[] {
  return readdirSync(folder)
    .flatMap((name) => usagePattern.exec(name)?.[1] ?? [])
    .sort();
}

function* readDay(folder: string, date: string): Steps<UsageRow[]> {
  const file = path.join(folder, usageFile(date));
  if (!existsSync(file)) return [];
  const day = new UsageDay(date);
  yield* readJournalInSteps(file, (entry) => day.load(entry));
  return day.rows();
}

function removeOldDays({ folder, keepDays }: EmbeddedStoreOptions, today: string): void {
  if (keepDays === null) return;
  const oldest = dayOf(Date.parse(today) - (keepDays - 1) * DAY_MS);
  for (const day of storedDays(folder)) if (day < oldest) rmSync(path.join(folder, usageFile(day)), { force: true });
}
