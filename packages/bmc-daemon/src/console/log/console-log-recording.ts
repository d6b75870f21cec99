/**
 * Writes the console log of one machine. A boot is what firmware and guest print from one start or
 * reset of the machine to the next. The guest never waits for the disk: if the disk is slow or
 * full, or the guest floods its port, the log has a gap and a note.
 */
import type { MachineChangeKind } from '../../drivers/machine-change.js';
import { factsOf, withOpening, type Batch, type RunningBoot } from './console-log-batch.js';
import { bootOf } from './console-log-boots.js';
import { WriteCredit } from './console-log-credit.js';
import type { ConsoleLogFolder } from './console-log-folder.js';
import { PendingText } from './console-log-pending.js';

/** Limits of what is written, and the interval of writes. */
export interface RecordingPace {
  /** Time that text waits for more text. */
  readonly flushMs: number;
  /** With this number of buffered bytes or more, the recording does not wait for more text. */
  readonly flushBytes: number;
  /** Maximum number of buffered bytes. */
  readonly maxPending: number;
  /** Maximum rate of writes over a long time. A serial line of 115,200 baud carries 11,520. */
  readonly bytesPerSecond: number;
  /** Number of bytes that a burst may write above this rate. */
  readonly burstBytes: number;
  /** Time after a failed write until the next attempt. */
  readonly retryMs: number;
}

/** Options of {@link ConsoleRecording}. */
interface RecordingOptions {
  readonly folder: ConsoleLogFolder;
  /** Returns the id of the machine's run; null if unknown. Never rejects. */
  readonly instance: () => Promise<string | null>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly pace: RecordingPace;
  /** Called after a successful write. */
  readonly onWritten: () => void;
  /** Called after a failed write. */
  readonly onFailed: (error: unknown) => void;
}

/** The text of the running boot, or of the last one. */
export interface CurrentBoot {
  /** Null if nothing of the boot is on the disk. */
  readonly number: number | null;
  readonly text: Buffer;
}

/** Maximum number of boots whose text waits for a slow disk. With more, the text of the oldest one is lost. */
const MAX_BATCHES = 4;

/** The recording of one machine. Calls of the folder run one after the other. */
export class ConsoleRecording {
  readonly #options: RecordingOptions;
  #batches: Batch[] = [];
  /** The last identified boot. */
  #boot: RunningBoot | undefined;
  /** Boots that began since the last connection, until the first boot of that connection is identified. */
  #laterBoots: RunningBoot[] | undefined;
  /** When the machine was started, until its port is connected. */
  #startedAt: number | undefined;
  /** When the machine was reset while its port was not connected. */
  #resetAt: number | undefined;
  /** Whether the machine has moved to another host since its port was connected. */
  #hasMoved = false;
  #isOpen = false;
  /** When the port was disconnected. */
  #closedAt: number | undefined;
  /** When the last output of the current connection arrived; without output, when it began. */
  #lastOutputAt: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #writing = false;
  readonly #credit: WriteCredit;
  #retryAt = -Infinity;
  #removed = false;
  #version = 0;
  /** The queue of folder operations. */
  #queue: Promise<unknown>;

  /** @param after finishes before the first folder operation: the removal of an older recording. */
  constructor(options: RecordingOptions, after: Promise<void> = Promise.resolve()) {
    this.#options = options;
    this.#queue = after;
    this.#credit = new WriteCredit(options.pace);
  }

  /** Changes whenever the log may have changed. */
  get version(): number {
    return this.#version;
  }

  /** Call this when the serial port was connected. */
  onOpened(): void {
    const time = this.#options.now();
    // Requests the id now, because the machine may restart before the queue runs `decide`.
    const instance = this.#options.instance();
    // If a connection is replaced while it is open, it was lost at some time after its last output.
    const closedAt = this.#isOpen ? this.#lastOutputAt : this.#closedAt;
    const [startedAt, resetAt, hasMoved] = [this.#startedAt, this.#resetAt, this.#hasMoved];
    const connection = { time, instance, startedAt, resetAt, closedAt, hasMoved };
    this.#startedAt = this.#resetAt = this.#closedAt = undefined;
    this.#hasMoved = false;
    this.#lastOutputAt = time;
    this.#isOpen = true;
    const batch = this.#begin(null);
    const later: RunningBoot[] = [];
    this.#laterBoots = later;
    const decide = async (): Promise<void> => {
      const { folder, onFailed } = this.#options;
      const { boot, opening } = await bootOf(connection, { current: this.#boot, folder, onFailed });
      batch.boot = boot;
      batch.opening = opening;
      for (const other of later) other.instance = boot.instance;
      this.#boot = later.at(-1) ?? boot;
      if (this.#laterBoots === later) this.#laterBoots = undefined;
      this.#schedule();
    };
    this.#enqueue(decide).catch(this.#options.onFailed);
  }

  /** Call this when the serial port was disconnected. */
  onClosed(): void {
    if (this.#isOpen) this.#closedAt = this.#options.now();
    this.#isOpen = false;
  }

  /** Adds output of the port. */
  addOutput(bytes: Uint8Array): void {
    if (this.#removed) return;
    const batch = this.#batches.at(-1) ?? this.#begin(this.#boot ?? null);
    this.#lastOutputAt = this.#options.now();
    batch.text.add(bytes, this.#lastOutputAt);
    this.#version += 1;
    if (batch.text.size >= this.#options.pace.flushBytes) void this.#flush();
    else this.#schedule();
  }

  /** Records that the machine was started, reset, moved or stopped. Ignores other changes. */
  onMachineChange(kind: MachineChangeKind): void {
    const time = this.#options.now();
    switch (kind) {
      case 'started':
        this.#startedAt = time;
        this.#resetAt = undefined;
        this.#hasMoved = false;
        return;
      case 'moved':
        this.#hasMoved = true;
        return;
      case 'rebooted':
        if (this.#isOpen) this.#reboot(time);
        else this.#resetAt = time;
        return;
      case 'stopped':
      case 'crashed':
        this.#startedAt = undefined;
        this.#resetAt = undefined;
        this.#hasMoved = false;
        return;
      default:
        return;
    }
  }

  /**
   * Calls `use` with the folder when everything printed so far is on the disk, or could not be written.
   * @returns the result of `use`. Rejects if `use` rejects.
   */
  async read<Value>(use: (folder: ConsoleLogFolder) => Promise<Value>): Promise<Value> {
    return await this.#enqueue(async () => {
      await this.#write({ urgent: true });
      return await use(this.#options.folder);
    });
  }

  /**
   * Calls `join` with the text of the running boot, or of the last one. No output is missing between this text and the
   * output after the call of `join`, and none is in both. Notes in the text mark output that was lost before.
   * @throws the errors of node:fs if the log is unreadable.
   */
  async follow(join: (current: CurrentBoot) => void): Promise<void> {
    await this.#enqueue(async () => {
      await this.#write({ urgent: true });
      const { folder } = this.#options;
      let boot: RunningBoot | undefined;
      let number: number | undefined;
      let stored: Buffer;
      do {
        boot = this.#boot;
        number = boot === undefined ? (await folder.boots()).at(-1)?.number : boot.number;
        stored = number === undefined ? Buffer.alloc(0) : await folder.text(number);
      } while (boot !== this.#boot);
      join({ number: number ?? null, text: Buffer.concat([stored, ...this.#batches.map(({ text }) => text.peek())]) });
    });
  }

  /** Removes all boots. Later output belongs to a new boot number. @throws {StorageError}, or the errors of node:fs. */
  async clear(): Promise<void> {
    await this.#enqueue(async () => {
      const { folder, now } = this.#options;
      await this.#write({ urgent: true });
      const boot = this.#boot ?? { began: now(), instance: null };
      const number = await folder.clear(factsOf(boot));
      if (this.#boot !== undefined) this.#boot.number = number;
      this.#version += 1;
    });
  }

  /** Deletes the folder, and ignores later output. @throws the errors of node:fs. */
  async remove(): Promise<void> {
    this.#removed = true;
    clearTimeout(this.#timer);
    this.#batches = [];
    await this.#enqueue(() => this.#options.folder.remove());
  }

  /** Writes everything that is buffered. Does not reject: reports a failure to `onFailed`. */
  async flush(): Promise<void> {
    await this.#enqueue(() => this.#write({ urgent: true }));
  }

  /** Begins another boot of the same run. */
  #reboot(time: number): void {
    const boot = { began: time, instance: this.#boot?.instance ?? null, number: undefined };
    if (this.#laterBoots === undefined) this.#boot = boot;
    else this.#laterBoots.push(boot);
    this.#begin(boot);
  }

  #begin(boot: RunningBoot | null): Batch {
    const batch: Batch = { boot, text: new PendingText(this.#options.pace.maxPending), opening: undefined };
    this.#batches = [...this.#batches.filter(({ text }) => text.size > 0), batch].slice(-MAX_BATCHES);
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
      await this.#enqueue(() => this.#write({ urgent: false }));
    } finally {
      this.#writing = false;
      this.#schedule();
    }
  }

  /** Writes the batches in order. `urgent` ignores the pace, and the pause after a failed write. */
  async #write({ urgent }: { readonly urgent: boolean }): Promise<void> {
    if (!urgent && performance.now() < this.#retryAt) return;
    for (const batch of this.#batches) {
      const { boot, text } = batch;
      if (boot === null || (!urgent && !this.#credit.allows(text.size))) return;
      if (text.size > 0 && !(await this.#store(batch, boot))) return;
      // Removes an empty batch, unless it is the last one: later output belongs to the last batch.
      if (text.size === 0) this.#batches = this.#batches.filter((other, at) => other !== batch || at === this.#batches.length - 1); // prettier-ignore
    }
  }

  /** Writes a batch. A failure loses the text, and the next text begins with a note. @returns whether it succeeded. */
  async #store(batch: Batch, boot: RunningBoot): Promise<boolean> {
    const { text, opening } = batch;
    const { folder, now, onWritten, onFailed, pace } = this.#options;
    const { bytes, marks, printed } = text.take();
    this.#credit.spend(bytes.length);
    try {
      boot.number ??= await folder.begin(factsOf(boot));
      await folder.append(boot.number, withOpening(opening, { bytes, marks }), now());
      batch.opening = undefined;
      onWritten();
      return true;
    } catch (error) {
      text.countLost(printed);
      folder.recount();
      this.#retryAt = performance.now() + pace.retryMs;
      onFailed(error);
      return false;
    }
  }

  async #enqueue<Value>(work: () => Promise<Value>): Promise<Value> {
    const result = this.#queue.then(work);
    this.#queue = result.catch(() => undefined);
    return await result;
  }
}
