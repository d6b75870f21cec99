/** Limits the number of simultaneous requests to the services of a cloud. Further requests wait. */
import { CloudFailure } from './cloud-failure.js';

/** Limits of a queue. */
interface QueueLimits {
  /** Maximum number of simultaneous requests. */
  readonly running: number;
  /** Maximum number of waiting requests. A further request fails at once. */
  readonly waiting: number;
}

/**
 * Maximum number of simultaneous requests to one service. Nova's API has one worker for each CPU by default,
 * so more connections would slow down each request, and would not complete more requests.
 */
export const MAX_RUNNING = 16;
/**
 * Maximum number of requests to one service that wait for a connection. This is enough for 1,000
 * simultaneous power operations.
 */
const MAX_WAITING = 10_000;

/** The name of a queue. Requests with the same name share the queue and its limit. */
export interface QueueName {
  readonly name: string;
  /** Maximum number of simultaneous requests. */
  readonly running: number;
}

/** A first-in first-out queue of requests. */
export class RequestQueue {
  readonly #limits: QueueLimits;
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  /**
   * Runs a request when its turn has come.
   * @param doing the request, for the message.
   * @param deadline time of {@link performance.now} until which it may wait.
   * @throws {CloudFailure} timeout, if the deadline passes before the turn, or the queue is full. The
   *   service has then not seen the request. The errors of `request`.
   */
  async run<T>(doing: string, deadline: number, request: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#limits.running) await this.#turn(doing, deadline);
    else this.#running += 1;
    try {
      return await request();
    } finally {
      this.#next();
    }
  }

  #turn(doing: string, deadline: number): Promise<void> {
    const { waiting } = this.#limits;
    return new Promise((resolve, reject) => {
      const refuse = (why: string): void => reject(new CloudFailure('timeout', `${doing}: ${why}`));
      if (this.#waiting.size >= waiting) {
        refuse('too many requests wait for the cloud');
        return;
      }
      const timer = setTimeout(
        () => {
          this.#waiting.delete(begin);
          refuse('its time limit passed while it waited for earlier requests');
        },
        Math.max(0, deadline - performance.now()),
      );
      const begin = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(begin);
        resolve();
      };
      this.#waiting.add(begin);
    });
  }

  /** Lets the next waiting request run after a request has finished. */
  #next(): void {
    const [begin] = this.#waiting;
    if (begin === undefined) this.#running -= 1;
    else begin();
  }
}

/** The queues of one cloud. */
export class RequestQueues {
  readonly #queues = new Map<string, RequestQueue>();

  /** Returns the queue with a name. The first call creates it, with the limit of that call. */
  of({ name, running }: QueueName): RequestQueue {
    const known = this.#queues.get(name) ?? new RequestQueue({ running, waiting: MAX_WAITING });
    this.#queues.set(name, known);
    return known;
  }
}
