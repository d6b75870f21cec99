/** Notices that a service of a cloud hangs, before the time limit of a request has passed. */
import { DriverError } from '../../driver-error.js';

/**
 * After this time without any answer, an operation fails. The time is shorter than the time after which a
 * request becomes a task (8 s by default). So the client gets 503 and can retry, instead of a task that fails.
 */
const SILENT_MS = 7000;
const CHECK_MS = 250;

/** Times of {@link Silence} in milliseconds. */
export interface SilenceTimes {
  /** See {@link SILENT_MS}. */
  readonly silentMs: number;
  /** Time between two checks of a waiting operation. */
  readonly checkMs: number;
}

/** The requests to a service that it has not answered yet. */
export class Silence {
  /** Times of {@link performance.now}, oldest first. */
  readonly #pending = new Set<{ readonly at: number }>();
  readonly #times: SilenceTimes;
  #answeredAt = -Infinity;

  constructor(times: SilenceTimes = { silentMs: SILENT_MS, checkMs: CHECK_MS }) {
    this.#times = times;
  }

  /** Makes a request, which is pending until it ends. A failure does not count as an answer. */
  async during<T>(request: () => Promise<T>): Promise<T> {
    const begun = { at: performance.now() };
    this.#pending.add(begun);
    try {
      const answer = await request();
      this.#answeredAt = performance.now();
      return answer;
    } finally {
      this.#pending.delete(begun);
    }
  }

  /**
   * Runs an operation. Aborts the signal and does not wait for the operation, if the service is silent: since the
   * operation began, no request has got an answer, and one has waited for {@link SilenceTimes.silentMs}. After the
   * first answer, the operation may take any time. The signal stops no request that is already sent: the service may
   * still execute it.
   * @throws {DriverError} unavailable, if the service is silent; the failure of the operation.
   */
  async guard<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { silentMs, checkMs } = this.#times;
    const since = performance.now();
    const ending = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const silent = new Promise<never>((_resolve, reject) => {
      timer = setInterval(() => {
        if (this.#answeredAt >= since) clearInterval(timer);
        else if (this.#waitedMs(since) >= silentMs) {
          const error = new DriverError('unavailable', `Nova has not answered any request for ${silentMs / 1000} s`);
          ending.abort(error);
          reject(error);
        }
      }, checkMs);
    });
    try {
      return await Promise.race([run(ending.signal), silent]);
    } finally {
      clearInterval(timer);
    }
  }

  /**
   * Returns how long the oldest pending request has waited, counted from `since` at the earliest. The wait of a slow
   * listing before that time proves nothing about the requests of the operation.
   */
  #waitedMs(since: number): number {
    const [oldest] = this.#pending;
    return oldest === undefined ? 0 : performance.now() - Math.max(since, oldest.at);
  }
}
