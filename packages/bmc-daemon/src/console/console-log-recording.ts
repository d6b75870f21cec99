/**
 * The console log of one machine while it is written: what the serial port prints goes, boot by boot, from memory to the disk.
 * A boot is what firmware and guest print from one start of the machine's process, or one reset of it, to the next. What comes is
 * never waited for: where the disk is slow, full or the guest floods its port, the log has a gap and says so.
 */
import type { MachineChangeKind } from '../drivers/machine-change.js';
import type { BootFacts, ConsoleLogFolder } from './console-log-folder.js';
import { note, PendingText, type Piece } from './console-log-pending.js';

/** How much is written, and how often. */
export interface RecordingPace {
  /** Text waits so long for more of it. */
  readonly flushMs: number;
  /** Or until there is so much of it. */
  readonly flushBytes: number;
  /** Bytes that wait at most. */
  readonly mostPending: number;
  /** In the long run; a serial line of 115,200 baud carries 11,520. */
  readonly bytesPerSecond: number;
  /** At once. */
  readonly burstBytes: number;
  /** After a write that failed. */
  readonly retryMs: number;
}

export interface RecordingOptions {
  readonly folder: ConsoleLogFolder;
  /** Which run of the machine this is; null where nobody knows. Never rejects. */
  readonly instance: () => Promise<string | null>;
  readonly now: () => number;
  readonly pace: RecordingPace;
  /** A write went well, or not. */
  readonly onWritten: () => void;
  readonly onFailed: (error: unknown) => void;
}

/** A boot that is being recorded. */
interface Running {
  began: number;
  instance: string | null;
  /** Of its folder; undefined until something is written. */
  number: number | undefined;
}

/** Text that waits, and what it belongs to; null: which boot that is, is being found out. */
interface Batch {
  boot: Running | null;
  readonly text: PendingText;
  /** What is said before it. */
  opening: string | undefined;
}

/** What is known of the machine when its port is connected, in milliseconds since 1970. */
interface Known {
  readonly time: number;
  readonly instance: Promise<string | null>;
  readonly startedAt: number | undefined;
  readonly resetAt: number | undefined;
  /** When the connection before this one ended. */
  readonly closedAt: number | undefined;
}

/** Boots that wait for a disk that hangs. */
const MOST_BATCHES = 4;
/** A port that we come to later than this after its machine's start may have said something before. */
const LATE_MS = 2_000;

export class ConsoleRecording {
  readonly #options: RecordingOptions;
  #batches: Batch[] = [];
  /** The last boot of which it is known which one it is. */
  #boot: Running | undefined;
  /** While that is being found out for the last connection: the boots that began since. */
  #undecided: Running[] | undefined;
  /** When the machine was started, until its port is connected. */
  #startedAt: number | undefined;
  /** When it was reset while its port was not connected. */
  #resetAt: number | undefined;
  #isOpen = false;
  /** Since when nobody listened. */
  #closedAt: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #writing = false;
  #credit: number;
  #creditAt: number;
  #retryAt = -Infinity;
  #removed = false;
  #version = 0;
  /** What is done with the folder, one thing after the other. */
  #turn: Promise<unknown>;

  /** @param after what has to be over before the folder is looked at: the removal of one before it. */
  constructor(options: RecordingOptions, after: Promise<void> = Promise.resolve()) {
    this.#options = options;
    this.#turn = after;
    this.#credit = options.pace.burstBytes;
    this.#creditAt = performance.now();
  }

  /** Another number when the log may have become another. */
  get version(): number {
    return this.#version;
  }

  /** The port is connected from now on. */
  opened(): void {
    const time = this.#options.now();
    // Asked now: when it is this log's turn, the machine may have been off and on.
    const instance = this.#options.instance();
    const known = { time, instance, startedAt: this.#startedAt, resetAt: this.#resetAt, closedAt: this.#closedAt };
    this.#startedAt = undefined;
    this.#resetAt = undefined;
    this.#closedAt = undefined;
    this.#isOpen = true;
    const batch = this.#begin(null);
    const later: Running[] = [];
    this.#undecided = later;
    const decide = async (): Promise<void> => {
      const { boot, opening } = await this.#continued(known);
      batch.boot = boot;
      batch.opening = opening;
      for (const other of later) other.instance = boot.instance;
      this.#boot = later.at(-1) ?? boot;
      if (this.#undecided === later) this.#undecided = undefined;
      this.#schedule();
    };
    this.#inTurn(decide).catch(this.#options.onFailed);
  }

  /** The port is not connected any more. */
  closed(): void {
    if (this.#isOpen) this.#closedAt = this.#options.now();
    this.#isOpen = false;
  }

  /** The port has printed this. */
  data(bytes: Uint8Array): void {
    if (this.#removed) return;
    const batch = this.#batches.at(-1) ?? this.#begin(this.#boot ?? null);
    batch.text.add(bytes, this.#options.now());
    this.#version += 1;
    if (batch.text.size >= this.#options.pace.flushBytes) void this.#flush();
    else this.#schedule();
  }

  /** Something has happened to the machine. */
  changed(kind: MachineChangeKind): void {
    const time = this.#options.now();
    switch (kind) {
      case 'started':
        this.#startedAt = time;
        this.#resetAt = undefined;
        return;
      case 'rebooted':
        if (this.#isOpen) this.#reboot(time);
        else this.#resetAt = time;
        return;
      case 'stopped':
      case 'crashed':
        this.#startedAt = undefined;
        this.#resetAt = undefined;
        return;
      default:
        return;
    }
  }

  /** Does something with the folder when all that was printed is in it. */
  async read<Value>(look: (folder: ConsoleLogFolder) => Promise<Value>): Promise<Value> {
    return await this.#inTurn(async () => {
      await this.#write({ urgent: true });
      return await look(this.#options.folder);
    });
  }

  /** Forgets everything; what is printed from now on is a boot with another number. */
  async clear(): Promise<void> {
    await this.#inTurn(async () => {
      const { folder, now } = this.#options;
      await this.#write({ urgent: true });
      const boot = this.#boot ?? { began: now(), instance: null };
      const number = await folder.clear(factsOf(boot));
      if (this.#boot !== undefined) this.#boot.number = number;
      this.#version += 1;
    });
  }

  /** Deletes the folder, and takes nothing any more. */
  async remove(): Promise<void> {
    this.#removed = true;
    clearTimeout(this.#timer);
    this.#batches = [];
    await this.#inTurn(() => this.#options.folder.remove());
  }

  /** Writes what there is; what comes later is written, too. */
  async flushed(): Promise<void> {
    await this.#inTurn(() => this.#write({ urgent: true }));
  }

  /** What comes from now on is another boot of the same run. */
  #reboot(time: number): void {
    const boot = { began: time, instance: this.#boot?.instance ?? null, number: undefined };
    if (this.#undecided === undefined) this.#boot = boot;
    else this.#undecided.push(boot);
    this.#begin(boot);
  }

  /** For a new connection: which boot it is that it reads from, and what is to be said of that. */
  async #continued(known: Known): Promise<Pick<Batch, 'opening'> & { boot: Running }> {
    const { time, startedAt, resetAt, closedAt } = known;
    const { folder } = this.#options;
    const instance = await known.instance;
    const last = this.#boot ?? (await this.#lastOf(folder));
    const isSame = last !== undefined && instance !== null && last.instance === instance;
    const began = isSame ? resetAt : startedAt;
    if (began !== undefined) {
      const opening = time - began > LATE_MS ? `connected at ${iso(time)}, after the beginning` : undefined;
      return { boot: { began, instance, number: undefined }, opening };
    }
    if (!isSame) {
      const opening = 'the log begins here: the machine was running already';
      return { boot: { began: time, instance, number: undefined }, opening };
    }
    const since = closedAt ?? (last.number === undefined ? undefined : await folder.lastHeard(last.number));
    const from = since === undefined ? 'the beginning' : iso(since);
    return { boot: last, opening: `nothing was recorded between ${from} and ${iso(time)}` };
  }

  /** Of a daemon before this one. */
  async #lastOf(folder: ConsoleLogFolder): Promise<Running | undefined> {
    try {
      const last = await folder.last();
      return last === undefined
        ? undefined
        : { began: Date.parse(last.began), instance: last.instance, number: last.number };
    } catch (error) {
      // What there is can not be read, so this begins a boot of its own.
      this.#options.onFailed(error);
      return undefined;
    }
  }

  #begin(boot: Running | null): Batch {
    const batch: Batch = { boot, text: new PendingText(this.#options.pace.mostPending), opening: undefined };
    this.#batches = [...this.#batches.filter(({ text }) => text.size > 0), batch].slice(-MOST_BATCHES);
    return batch;
  }

  #schedule(waitMs = this.#options.pace.flushMs): void {
    if (this.#timer !== undefined || this.#writing || this.#removed) return;
    if (this.#batches.every(({ text }) => text.size === 0)) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#flush();
    }, waitMs);
    this.#timer.unref();
  }

  async #flush(): Promise<void> {
    if (this.#writing || this.#removed) return;
    this.#writing = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    try {
      await this.#inTurn(() => this.#write({ urgent: false }));
    } finally {
      this.#writing = false;
      this.#schedule();
    }
  }

  /** @param how urgent: whatever the pace is. */
  async #write({ urgent }: { readonly urgent: boolean }): Promise<void> {
    if (!urgent && performance.now() < this.#retryAt) return;
    for (const batch of this.#batches) {
      const { boot, text } = batch;
      if (boot === null || (!urgent && !this.#affords(text.size))) return;
      if (text.size > 0 && !(await this.#store(batch, boot))) return;
      // What is behind it is another boot's.
      if (text.size === 0) this.#batches = this.#batches.filter((other, at) => other !== batch || at === this.#batches.length - 1); // prettier-ignore
    }
  }

  /** @returns whether it is on the disk; if not, it is nowhere. */
  async #store(batch: Batch, boot: Running): Promise<boolean> {
    const { text, opening } = batch;
    const { folder, now, onWritten, onFailed, pace } = this.#options;
    const { bytes, marks, printed } = text.take();
    this.#credit -= bytes.length;
    try {
      boot.number ??= await folder.begin(factsOf(boot));
      await folder.append(boot.number, withOpening(opening, { bytes, marks }), now());
      batch.opening = undefined;
      onWritten();
      return true;
    } catch (error) {
      text.lose(printed);
      folder.recount();
      this.#retryAt = performance.now() + pace.retryMs;
      onFailed(error);
      return false;
    }
  }

  /** Whether the pace allows so many bytes now. */
  #affords(bytes: number): boolean {
    const { pace } = this.#options;
    const time = performance.now();
    const earned = ((time - this.#creditAt) / 1000) * pace.bytesPerSecond;
    this.#credit = Math.min(pace.burstBytes, this.#credit + earned);
    this.#creditAt = time;
    return this.#credit >= bytes;
  }

  async #inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return await result;
  }
}

function withOpening(opening: string | undefined, { bytes, marks }: Piece): Piece {
  if (opening === undefined) return { bytes, marks };
  const start = note(opening);
  return {
    bytes: Buffer.concat([start, bytes]),
    marks: marks.map(({ at, time }) => ({ at: at + start.length, time })),
  };
}

function factsOf({ began, instance }: Pick<Running, 'began' | 'instance'>): BootFacts {
  return { began: iso(began), instance };
}

function iso(time: number): string {
  return new Date(time).toISOString();
}
