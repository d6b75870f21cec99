/** Watches whether a host answers. */
import { DriverError } from '../driver-error.js';

/** Time after which a read without an answer causes a check of its host. */
const SLOW_MS = 500;
/** Time after which a check without an answer fails all reads of a host that answered the check before. */
const SILENT_MS = 1_000;
/** Pause between two checks of a host that answers. */
const PAUSE_MS = 5_000;
/** Pause between two checks of a host that does not answer. */
const RETRY_MS = 1_000;

/** Why a host does not answer (one line), and since when. */
export interface Loss {
  readonly reason: string;
  readonly since: Date;
}

/** A host that does not answer. The reason is null while the check of the host is still running. */
export type Silence = Loss | { readonly reason: null; readonly since: Date };

/** Options of {@link HostWatch}. */
interface HostWatchOptions {
  readonly name: string;
  /** Sends a request to the host. Rejects after a time limit if the host does not answer. */
  readonly ping: () => Promise<void>;
  /**
   * Called after the first check, and when the host stops or starts to answer.
   * @param loss null: the host answers.
   * @param wasLost whether the check before found that the host does not answer.
   */
  readonly onChange: (loss: Loss | null, wasLost: boolean) => void;
}

/** Tracks whether one host answers. Slow reads and a timer cause checks. */
export class HostWatch {
  readonly #options: HostWatchOptions;
  /** Undefined before the first check. */
  #loss: Loss | null | undefined;
  #checking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** The silence of a host that has answered before, while a check takes longer than {@link SILENT_MS}; else null. */
  #unanswered: Silence | null = null;
  /** Running reads: each function rejects one read. */
  readonly #waiting = new Set<(error: DriverError) => void>();

  constructor(options: HostWatchOptions) {
    this.#options = options;
  }

  /** The loss that the last check found; null if the host answered, and before the end of the first check. */
  get loss(): Loss | null {
    return this.#loss ?? null;
  }

  /**
   * The silence of the host; null while it answers, and during the first check. A silence begins before the
   * loss: when a check takes long.
   */
  get silence(): Silence | null {
    return this.loss ?? this.#unanswered;
  }

  /** False until the first check has ended. */
  get isChecked(): boolean {
    return this.#loss !== undefined;
  }

  /** Checks the host now. Concurrent callers share one check. Never rejects. */
  check(): Promise<void> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  /** Ends the checks. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /**
   * Runs a read. Rejects as soon as the host is silent, long before the time limit of the read.
   * @throws the error of the read; {DriverError} unavailable, if the host is silent.
   */
  async whileReachable<Result>(read: () => Promise<Result>): Promise<Result> {
    if (this.silence !== null) throw this.#unavailable(this.silence);
    let fail: ((error: DriverError) => void) | undefined;
    const silence = new Promise<never>((_resolve, reject) => {
      fail = reject;
      this.#waiting.add(reject);
    });
    const slow = setTimeout(() => void this.check(), SLOW_MS);
    try {
      return await Promise.race([read(), silence]);
    } finally {
      clearTimeout(slow);
      if (fail !== undefined) this.#waiting.delete(fail);
    }
  }

  /** @throws {DriverError} unavailable, if the last check failed. */
  assertReachable(): void {
    if (this.loss !== null) throw this.#unavailable(this.loss);
  }

  async #check(): Promise<void> {
    clearTimeout(this.#timer);
    let reason: string | null = null;
    const since = new Date();
    const silent = setTimeout(() => {
      // A host is not silent before the end of its first check: a first connection takes longer, for example
      // over ssh, and the daemon may have no data of the host yet. A lost host is silent already.
      if (this.#loss !== null || this.#isClosed) return;
      this.#unanswered = { reason: null, since };
      this.#failReads(this.#unanswered);
    }, SILENT_MS).unref();
    try {
      await this.#options.ping();
    } catch (error) {
      reason = error instanceof Error ? error.message : String(error);
    }
    clearTimeout(silent);
    this.#unanswered = null;
    if (this.#isClosed) return;
    this.#set(reason);
    this.#timer = setTimeout(() => void this.check(), reason === null ? PAUSE_MS : RETRY_MS).unref();
  }

  #set(reason: string | null): void {
    if (reason === null) {
      const wasLost = this.loss !== null;
      if (this.#loss === null) return;
      this.#loss = null;
      this.#options.onChange(null, wasLost);
      return;
    }
    const before = this.loss;
    if (before?.reason === reason) return;
    const loss = { reason, since: before?.since ?? new Date() };
    this.#loss = loss;
    if (before !== null) return;
    this.#options.onChange(loss, false);
    this.#failReads(loss);
  }

  #failReads(silence: Silence): void {
    for (const fail of [...this.#waiting]) fail(this.#unavailable(silence));
    this.#waiting.clear();
  }

  #unavailable({ reason }: Silence): DriverError {
    const why = reason ?? `no answer within ${SILENT_MS} ms`;
    return new DriverError('unavailable', `host ${this.#options.name} does not answer: ${why}`);
  }
}
