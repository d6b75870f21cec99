/**
 * Records the output of all serial ports on the disk, by machine and boot. The log is bounded,
 * survives restarts of the daemon, and lasts as long as the machine is defined.
 */
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Log } from '@rackless/daemon/log/log.js';
import { fileNameOf } from '@rackless/daemon/text/file-name.js';
import type { HypervisorDriver } from '../../drivers/driver.js';
import type { ConsoleHub } from '../console-hub.js';
import { consoleLogBounds, type ConsoleLogBounds } from './console-log-bounds.js';
import { ConsoleLogFolder } from './console-log-folder.js';
import { ConsoleLogRecords, type ConsoleLogRecord } from './console-log-records.js';
import { ConsoleRecording, type CurrentBoot } from './console-log-recording.js';
import { ConsoleLogSizes } from './console-log-sizes.js';
import { findOldest } from './oldest-recording.js';
import { OldFolders } from './old-folders.js';

export type { Boot } from './console-log-folder.js';
export type { ConsoleLogRecord } from './console-log-records.js';

/**
 * The log of one machine. If the daemon stores the log, the methods reject with an error of node:fs or a StorageError.
 * If the hypervisor stores it, they reject with a DriverError.
 */
export interface ConsoleLog {
  /**
   * Returns the stored boots, oldest first. After each boot come its lines, of which only the newest
   * fit into {@link ConsoleLogs.limit}. Returns the same array until something changes, or the machine leaves
   * the cache.
   */
  read(): Promise<readonly ConsoleLogRecord[]>;
  /** Returns the stored text of a boot, with a note in place of each gap; undefined if there is no such boot. */
  text(boot: number): Promise<Buffer | undefined>;
  /**
   * Calls `join` with the text of the running boot, or of the last one. A listener that attaches in `join`
   * gets all output after this text. Exception: if the hypervisor stores the log, output between the text and the
   * first output of the listener may be missing or come twice.
   */
  follow(join: (current: CurrentBoot) => void): Promise<void>;
  /** Removes all boots. Rejects if the log is not {@link ConsoleLogs.clearable}. */
  clear(): Promise<void>;
}

/** The logs of all machines. */
export interface ConsoleLogs {
  /** @param uuid canonical UUID of an existing machine. */
  ofSystem(uuid: string): ConsoleLog;
  /** Maximum number of records from {@link ConsoleLog.read}. */
  readonly limit: number;
  /** Whether clients can clear a log. */
  readonly clearable: boolean;
  /** Starts recording as soon as the host lists its machines. */
  start(): void;
  /** Detaches from all consoles, and resolves when everything is written, or writing has failed. */
  close(): Promise<void>;
}

/** Options of {@link openConsoleLogs}. */
interface ConsoleLogsOptions {
  readonly driver: Pick<HypervisorDriver, 'console' | 'listSystems' | 'isListIncomplete' | 'onChange'>;
  readonly hub: Pick<ConsoleHub, 'attach'>;
  /** The folder. Only this module uses it; it is created with the first text. */
  readonly folder: string;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Default: {@link consoleLogBounds}. */
  readonly bounds?: ConsoleLogBounds;
  /** Milliseconds since 1970. Default: the clock. */
  readonly now?: () => number;
}

/** Number of listed machines whose recording begins in one turn of the event loop. */
const MACHINES_PER_TURN = 4;

/** The recording of one machine. */
interface Recorded {
  readonly recording: ConsoleRecording;
  readonly folder: ConsoleLogFolder;
  readonly detach: () => void;
}

/**
 * Opens the logs. Connects to the console of a machine after `start`, when the machine is defined or
 * started, and when a client reads, follows or clears its log.
 */
export function openConsoleLogs(options: ConsoleLogsOptions): ConsoleLogs {
  return new RecordedConsoleLogs(options);
}

class RecordedConsoleLogs implements ConsoleLogs {
  readonly #options: ConsoleLogsOptions;
  readonly #bounds: ConsoleLogBounds;
  readonly #machines = new Map<string, Recorded>();
  /** Listed machines whose recording has not begun. */
  readonly #unrecorded = new Set<string>();
  /** Removals of logs that are still running, by UUID. */
  readonly #removals = new Map<string, Promise<void>>();
  readonly #records: ConsoleLogRecords;
  readonly #oldFolders: OldFolders;
  readonly #unsubscribe: () => void;
  /** Whether the daemon's log says that writing fails. Then it must also say when writing works again. */
  #isFailing = false;
  #warnedAt = -Infinity;
  readonly #sizes = new ConsoleLogSizes();
  #makingRoom = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ConsoleLogsOptions) {
    this.#options = options;
    this.#bounds = options.bounds ?? consoleLogBounds;
    this.#records = new ConsoleLogRecords(this.#bounds.records);
    this.#oldFolders = new OldFolders({
      root: options.folder,
      existingNames: () => new Set([...this.#machines.keys()].map(fileNameOf)),
      remove: (name) => this.#folder(name).remove(),
      log: options.log,
      pauseMs: this.#bounds.failurePauseMs,
    });
    this.#unsubscribe = options.driver.onChange(({ kind, uuid }) => {
      if (kind === 'undefined') {
        void this.#forget(uuid);
        return;
      }
      const isThere = kind === 'defined' || kind === 'started' || this.#unrecorded.has(uuid);
      (isThere ? this.#record(uuid) : this.#machines.get(uuid))?.recording.onMachineChange(kind);
    });
  }

  readonly clearable = true;

  get limit(): number {
    return this.#bounds.records;
  }

  start(): void {
    void this.#listMachines();
  }

  ofSystem(uuid: string): ConsoleLog {
    return {
      read: () => this.#records.read(uuid, this.#record(uuid).recording),
      text: (boot) =>
        this.#record(uuid).recording.read(async (folder) => {
          const isThere = (await folder.boots()).some(({ number }) => number === boot);
          return isThere ? await folder.text(boot) : undefined;
        }),
      follow: (join) => this.#record(uuid).recording.follow(join),
      clear: () => this.#record(uuid).recording.clear(),
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#oldFolders.close();
    this.#unsubscribe();
    for (const { detach } of this.#machines.values()) detach();
    await Promise.allSettled([...this.#machines.values()].map(({ recording }) => recording.flush()));
  }

  /** Returns the recording of a machine; starts it if there is none. */
  #record(uuid: string): Recorded {
    this.#unrecorded.delete(uuid);
    const known = this.#machines.get(uuid);
    if (known !== undefined) return known;
    const { hub, now = Date.now } = this.#options;
    const folder = this.#folder(fileNameOf(uuid));
    const onFailed = (error: unknown) => this.#onFailed(error);
    const recording = new ConsoleRecording(
      {
        folder,
        instance: () => this.#instanceOf(uuid),
        now,
        pace: this.#bounds,
        onWritten: () => this.#onWritten(uuid),
        onFailed,
      },
      this.#removals.get(uuid),
    );
    const attachment = hub.attach(uuid, {
      data: (bytes) => recording.addOutput(bytes),
      state: (state) => (state === 'open' ? recording.onOpened() : recording.onClosed()),
    });
    const recorded = { recording, folder, detach: () => attachment.detach() };
    this.#machines.set(uuid, recorded);
    // Reads the folder, so that its files count for `totalBytes`.
    recording
      .read((own) => own.boots())
      .then(() => this.#count(uuid))
      .catch(onFailed);
    return recorded;
  }

  #folder(name: string): ConsoleLogFolder {
    return new ConsoleLogFolder(path.join(this.#options.folder, name), this.#bounds);
  }

  async #instanceOf(uuid: string): Promise<string | null> {
    try {
      return (await this.#options.driver.console?.instance(uuid)) ?? null;
    } catch {
      // The machine has stopped, or the host does not answer. Without an id, the connection starts a new boot.
      return null;
    }
  }

  /** Removes the log of a deleted machine. */
  async #forget(uuid: string): Promise<void> {
    this.#unrecorded.delete(uuid);
    const known = this.#machines.get(uuid);
    if (known === undefined) return;
    known.detach();
    this.#machines.delete(uuid);
    this.#sizes.remove(uuid);
    this.#records.forget(uuid);
    const removal = known.recording
      .remove()
      .catch((error: unknown) => this.#options.log.warn(`removing the console log of ${uuid} failed`, { error }));
    this.#removals.set(uuid, removal);
    await removal;
    if (this.#removals.get(uuid) === removal) this.#removals.delete(uuid);
  }

  async #listMachines(): Promise<void> {
    const { driver } = this.#options;
    // Null: the host does not answer yet.
    const listed = await driver.listSystems().catch(() => null);
    for (const { uuid } of listed ?? []) this.#unrecorded.add(uuid);
    await this.#recordListed();
    if (this.#isClosed) return;
    if (listed !== null && driver.isListIncomplete?.() !== true) this.#oldFolders.start();
    else this.#timer = setTimeout(() => void this.#listMachines(), this.#bounds.failurePauseMs).unref();
  }

  /**
   * Begins to record the listed machines, a few in each turn of the event loop. Each of them costs calls of
   * libvirt and a parsed XML, so 2,000 machines at once would delay requests of clients for a second.
   */
  async #recordListed(): Promise<void> {
    let inTurn = 0;
    for (const uuid of this.#unrecorded) {
      if (this.#isClosed) return;
      this.#record(uuid);
      inTurn = (inTurn + 1) % MACHINES_PER_TURN;
      // Does not wait for the disk, because a slow disk must not delay the connections to the consoles.
      if (inTurn === 0) await nextTurn();
    }
  }

  #onWritten(uuid: string): void {
    const { log, folder } = this.#options;
    if (this.#isFailing) log.info(`writing console logs works again in ${folder}`);
    this.#isFailing = false;
    this.#count(uuid);
    if (this.#sizes.total > this.#bounds.totalBytes) void this.#makeRoom();
  }

  #onFailed(error: unknown): void {
    // Warns rarely: on a full disk, the writes of all machines fail again and again, and small ones succeed in between.
    const time = performance.now();
    if (time - this.#warnedAt < this.#bounds.warnEveryMs) return;
    this.#warnedAt = time;
    this.#isFailing = true;
    const { log, folder } = this.#options;
    log.warn(`writing console logs to ${folder} failed: new output is not stored`, { error });
  }

  /** Counts the folder of a machine again. A machine that is removed meanwhile does not count. */
  #count(uuid: string): void {
    const recorded = this.#machines.get(uuid);
    if (recorded !== undefined) this.#sizes.set(uuid, recorded.folder.size);
  }

  /** Counts all folders again. @returns their sum. */
  #totalBytes(): number {
    for (const uuid of this.#machines.keys()) this.#count(uuid);
    return this.#sizes.total;
  }

  /** Removes the oldest boots of all machines, until the rest fits or each machine has one boot. */
  async #makeRoom(): Promise<void> {
    if (this.#makingRoom) return;
    this.#makingRoom = true;
    try {
      while (this.#totalBytes() > this.#bounds.totalBytes) {
        const oldest = await findOldest([...this.#machines.values()].map(({ recording }) => recording));
        if (oldest === undefined) return;
        await oldest.read((own) => own.removeOldest());
        this.#records.forgetAll();
      }
    } catch (error) {
      this.#onFailed(error);
    } finally {
      this.#makingRoom = false;
    }
  }
}
