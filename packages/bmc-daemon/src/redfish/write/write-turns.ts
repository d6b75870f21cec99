/**
 * Starts writes so that reads do not wait for them. A write of a machine has dozens of steps in the
 * event loop and in libvirt. If a client sends thousands of writes at once, each read would wait for a
 * step of each write.
 */

/** The limits of one process. */
interface WriteTurnLimits {
  /** Maximum number of running writes. Slow writes do not count. */
  readonly running: number;
  /**
   * Time in milliseconds after which a running write does not count anymore: it probably waits for a
   * guest, a download, or a host that hangs.
   */
  readonly slowMs: number;
  /**
   * The interval in milliseconds in which the queue measures the load of the event loop, while it is full.
   * If the load is low, the writes that ran during the whole interval do not count anymore, because they
   * wait for something else.
   */
  readonly loadIntervalMs: number;
  /** The load of the event loop below which it is low, from 0 to 1. */
  readonly lowLoad: number;
  /**
   * A write that waits starts only after a turn of the event loop of at most this length, in
   * milliseconds.
   */
  readonly shortTurnMs: number;
  /**
   * Maximum milliseconds between the starts of two writes. After this time, the next write starts even after a
   * longer turn, or after a turn in which other writes arrived.
   */
  readonly maxPauseMs: number;
}

/**
 * The driver sends at most four changes to a libvirt host at the same time, so more than 8 running writes would
 * hardly be faster. A read needs about six turns of the event loop, so `shortTurnMs` is small.
 */
const writeTurnLimits: WriteTurnLimits = {
  running: 8,
  slowMs: 250,
  loadIntervalMs: 10,
  lowLoad: 0.5,
  shortTurnMs: 8,
  maxPauseMs: 40,
};

/** The clocks of a queue. */
interface WriteTurnClocks {
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Returns the share of the time since its last call in which the event loop did not sleep, from 0 to 1. */
  readonly load: () => number;
}

/** Returns a function that measures the load of the event loop since its last call. */
function loadMeter(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const current = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(current, last);
    last = current;
    return utilization;
  };
}

/** A running write that counts. */
interface RunningWrite {
  readonly startedAt: number;
  /** Stops counting the write. Has no effect if the write does not count anymore. */
  readonly leave: () => void;
}

interface WaitingWrite {
  readonly isGone: () => boolean;
  /** @param running undefined if the client has disconnected. */
  readonly settle: (running: RunningWrite | undefined) => void;
}

/**
 * The queue of all writes except logins. It alternates between the clients; the writes of one client start in
 * their order.
 */
export class WriteTurns {
  readonly #limits: WriteTurnLimits;
  readonly #now: () => number;
  readonly #load: () => number;
  /** The waiting writes by client. The client whose turn is next comes first. */
  readonly #waiting = new Map<string, WaitingWrite[]>();
  readonly #running = new Set<RunningWrite>();
  /** Measures the load while the queue is full and a write waits. */
  #loadTimer: NodeJS.Timeout | undefined;
  /** Start of the current turn of the event loop; undefined while turns are not measured. */
  #turnBegan: number | undefined;
  #lastStart = -Infinity;
  /** Whether a write arrived in the current turn of the event loop. */
  #arrived = false;

  constructor(limits: Partial<WriteTurnLimits> = {}, clocks: Partial<WriteTurnClocks> = {}) {
    this.#limits = { ...writeTurnLimits, ...limits };
    this.#now = clocks.now ?? (() => performance.now());
    this.#load = clocks.load ?? loadMeter();
  }

  /**
   * Waits until the write may start, and runs it. A write has no time limit while it waits.
   * @param client the user and the address of the client.
   * @param isGone returns whether the client has disconnected. Called only for a write that waited.
   * @param write receives whether the write waited.
   * @returns the result; undefined if the client disconnected while the write waited.
   * @throws what `write` throws.
   */
  async run<Result>(
    client: string,
    isGone: () => boolean,
    write: (waited: boolean) => Promise<Result>,
  ): Promise<Result | undefined> {
    this.#arrived = true;
    const waits = this.#turnBegan !== undefined || this.#waiting.size > 0 || !this.#hasRoom();
    const running = waits ? await this.#waitForTurn(client, isGone) : this.#countStart();
    if (running === undefined) return undefined;
    if (!waits) this.#measureTurn();
    try {
      return await write(waits);
    } finally {
      running.leave();
    }
  }

  #hasRoom(): boolean {
    return this.#running.size < this.#limits.running;
  }

  #waitForTurn(client: string, isGone: () => boolean): Promise<RunningWrite | undefined> {
    return new Promise((settle) => {
      const line = this.#waiting.get(client);
      if (line === undefined) this.#waiting.set(client, [{ isGone, settle }]);
      else line.push({ isGone, settle });
      if (!this.#hasRoom()) this.#measureLoad();
    });
  }

  /** Counts a write until it is slow, or waits for something else, or ends. */
  #countStart(): RunningWrite {
    const startedAt = this.#now();
    this.#lastStart = startedAt;
    const leave = (): void => {
      clearTimeout(slow);
      if (!this.#running.delete(running)) return;
      if (this.#waiting.size > 0 && this.#turnBegan === undefined) this.#measureTurn();
    };
    const slow = setTimeout(leave, this.#limits.slowMs).unref();
    const running = { startedAt, leave };
    this.#running.add(running);
    return running;
  }

  /**
   * Measures the load of the event loop while the queue is full. Running writes that wait for a hypervisor
   * leave the event loop idle, and then reads have no reason to wait. Without this rule, the queue could
   * start 8 writes in {@link WriteTurnLimits.slowMs} at most, whatever the hosts can do.
   */
  #measureLoad(): void {
    if (this.#loadTimer !== undefined) return;
    this.#load();
    this.#loadTimer = setTimeout(() => {
      this.#loadTimer = undefined;
      const before = this.#now() - this.#limits.loadIntervalMs;
      if (this.#load() < this.#limits.lowLoad) {
        for (const { startedAt, leave } of [...this.#running]) if (startedAt <= before) leave();
      }
      if (this.#waiting.size > 0 && !this.#hasRoom()) this.#measureLoad();
    }, this.#limits.loadIntervalMs).unref();
  }

  /**
   * Measures a turn of the event loop. Then starts the next write if the turn was short and no write arrived
   * in it, or if the last start was long ago.
   * The event loop accepts one connection in a turn. If each turn also had to run writes, the reads
   * among 2,000 new connections would wait for seconds. Continues while writes wait and there is room:
   * the event loop does not sleep during this time.
   */
  #measureTurn(): void {
    this.#turnBegan = this.#now();
    setImmediate(() => {
      const now = this.#now();
      const isQuiet = !this.#arrived && now - (this.#turnBegan ?? now) <= this.#limits.shortTurnMs;
      this.#turnBegan = undefined;
      this.#arrived = false;
      if (this.#waiting.size === 0) return;
      if (!this.#hasRoom()) {
        this.#measureLoad();
        return;
      }
      if (isQuiet || now - this.#lastStart >= this.#limits.maxPauseMs) this.#startNext();
      this.#measureTurn();
    });
  }

  /** Starts the oldest write of the next client. */
  #startNext(): void {
    for (const [client, line] of this.#waiting) {
      const next = line.shift();
      // The client moves to the end.
      this.#waiting.delete(client);
      if (line.length > 0) this.#waiting.set(client, line);
      if (next === undefined) continue;
      if (next.isGone()) {
        next.settle(undefined);
        continue;
      }
      next.settle(this.#countStart());
      return;
    }
  }
}
