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
   * A write that waits starts only after a turn of the event loop of at most this length, in
   * milliseconds.
   */
  readonly shortTurnMs: number;
  /**
   * This time in milliseconds after the last start of a write, the next write starts even after a longer
   * turn, or a turn in which other writes arrived.
   */
  readonly maxPauseMs: number;
}

/**
 * libvirt executes four changes of a host at the same time, so a higher limit would not be faster. A read
 * needs about six turns of the event loop, so these must be short.
 */
const writeTurnLimits: WriteTurnLimits = { running: 8, slowMs: 250, shortTurnMs: 8, maxPauseMs: 40 };

interface WaitingWrite {
  readonly isGone: () => boolean;
  /** @param starts false if the client has disconnected. */
  readonly settle: (starts: boolean) => void;
}

/** The queue of all writes. It alternates between the clients; the writes of one client start in their order. */
export class WriteTurns {
  readonly #limits: WriteTurnLimits;
  readonly #now: () => number;
  /** The waiting writes by client. The client whose turn is next comes first. */
  readonly #waiting = new Map<string, WaitingWrite[]>();
  #running = 0;
  /** Start of the current turn of the event loop; undefined while turns are not measured. */
  #turnBegan: number | undefined;
  #lastStart = -Infinity;
  /** Whether a write arrived in the current turn of the event loop. */
  #arrived = false;

  /** @param now a monotonic clock in milliseconds. */
  constructor(limits: Partial<WriteTurnLimits> = {}, now = (): number => performance.now()) {
    this.#limits = { ...writeTurnLimits, ...limits };
    this.#now = now;
  }

  /**
   * Waits until the write may start, and runs it. A write has no time limit while it waits.
   * @param client the user and the address of the client.
   * @param write receives whether the write waited.
   * @returns the result; undefined if the client has disconnected before the start.
   */
  async run<Result>(
    client: string,
    isGone: () => boolean,
    write: (waited: boolean) => Promise<Result>,
  ): Promise<Result | undefined> {
    this.#arrived = true;
    const waits = this.#turnBegan !== undefined || this.#waiting.size > 0 || !this.#hasRoom();
    if (waits) {
      if (!(await this.#waitForTurn(client, isGone))) return undefined;
    } else {
      this.#countStart();
      this.#measureTurn();
    }
    const leave = this.#countRunning();
    try {
      return await write(waits);
    } finally {
      leave();
    }
  }

  #hasRoom(): boolean {
    return this.#running < this.#limits.running;
  }

  #waitForTurn(client: string, isGone: () => boolean): Promise<boolean> {
    return new Promise((settle) => {
      const line = this.#waiting.get(client);
      if (line === undefined) this.#waiting.set(client, [{ isGone, settle }]);
      else line.push({ isGone, settle });
    });
  }

  #countStart(): void {
    this.#running += 1;
    this.#lastStart = this.#now();
  }

  /** Counts a write that has started until it is slow or ends. @returns the function for its end. */
  #countRunning(): () => void {
    let isCounted = true;
    const leave = (): void => {
      clearTimeout(slow);
      if (!isCounted) return;
      isCounted = false;
      this.#running -= 1;
      if (this.#waiting.size > 0 && this.#turnBegan === undefined) this.#measureTurn();
    };
    const slow = setTimeout(leave, this.#limits.slowMs).unref();
    return leave;
  }

  /**
   * Measures a turn of the event loop, and then starts the next write if the turn was short and no write
   * arrived in it, or if the last start was long ago.
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
      if (this.#waiting.size === 0 || !this.#hasRoom()) return;
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
        next.settle(false);
        continue;
      }
      this.#countStart();
      next.settle(true);
      return;
    }
  }
}
