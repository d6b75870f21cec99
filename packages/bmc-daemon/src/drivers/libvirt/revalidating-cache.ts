/** Answers that may be slow to come: kept, and asked for again behind the readers' backs. */

export interface RevalidatingCacheOptions {
  /** The longest that a reader waits, who finds none yet. */
  readonly waitMs: number;
  /** After this an answer is asked for anew, and shown until the next one comes. */
  readonly freshMs: number;
  /** After this it is not shown any more: nobody has looked for so long that it says nothing. */
  readonly staleMs: number;
  /** How long nobody is asked after a failure; twice as long after each further one, up to 16 times. */
  readonly retryMs: number;
  /** Milliseconds of a steady clock. Default: performance.now. */
  readonly now?: () => number;
}

interface Kept<Value> {
  value: Value | undefined;
  answeredAt: number;
  askAgainAt: number;
  failures: number;
  asking: Promise<void> | undefined;
}

/** By key, the last answer. What is asked by an old key is forgotten with {@link RevalidatingCache.retain}. */
export class RevalidatingCache<Value> {
  readonly #options: RevalidatingCacheOptions;
  readonly #now: () => number;
  readonly #kept = new Map<string, Kept<Value>>();

  constructor(options: RevalidatingCacheOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * The last answer, a late one too; undefined where there is none yet. Never rejects.
   * @param ask is called where there is none, or an old one, and nobody is being asked.
   */
  async get(key: string, ask: () => Promise<Value>): Promise<Value | undefined> {
    const kept = this.#kept.get(key) ?? {
      value: undefined,
      answeredAt: 0,
      askAgainAt: 0,
      failures: 0,
      asking: undefined,
    };
    this.#kept.set(key, kept);
    if (this.#now() >= kept.answeredAt + this.#options.staleMs) kept.value = undefined;
    if (kept.asking === undefined && this.#now() >= kept.askAgainAt) this.#ask(kept, ask);
    // Who has failed to answer before is not waited for again.
    if (kept.value === undefined && kept.failures === 0 && kept.asking !== undefined) {
      await within(kept.asking, this.#options.waitMs);
    }
    return kept.value;
  }

  /** Keys that are none any more are forgotten. */
  retain(isKey: (key: string) => boolean): void {
    for (const key of this.#kept.keys()) if (!isKey(key)) this.#kept.delete(key);
  }

  #ask(kept: Kept<Value>, ask: () => Promise<Value>): void {
    const { freshMs, retryMs } = this.#options;
    kept.asking = ask()
      .then(
        (value) => {
          kept.value = value;
          kept.failures = 0;
          kept.answeredAt = this.#now();
          kept.askAgainAt = this.#now() + freshMs;
        },
        () => {
          // What nobody confirms any more is not shown for ever: an agent that is gone has no addresses.
          kept.value = undefined;
          kept.failures += 1;
          kept.askAgainAt = this.#now() + retryMs * 2 ** Math.min(kept.failures - 1, 4);
        },
      )
      .finally(() => {
        kept.asking = undefined;
      });
  }
}

/** Waits for the end of it, and no longer than this. */
async function within(end: Promise<void>, waitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, waitMs);
  });
  try {
    await Promise.race([end, late]);
  } finally {
    clearTimeout(timer);
  }
}
