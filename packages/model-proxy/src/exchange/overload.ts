/**
 * Limits the requests that run at the same time. Requests above `maxInFlight` wait in a queue with a
 * bounded length and time. Requests above `maxParallel`, or above the length of the queue, get an
 * error at once. The proxy does not read the body of a waiting request, so the body stays with the
 * client.
 */
import type { ServerResponse } from 'node:http';
import { overloaded, tooManyParallel } from '../errors/access.js';
import type { ProxyError } from '../errors/proxy-error.js';
import { wholeLimit, type LimitPart } from '../routing/siblings.js';
import type { OverloadSettings } from '../settings.js';

/** The running and the waiting requests of the process. */
export interface Overload {
  /** Number of waiting requests. */
  readonly queued: number;
  /** Changes the limits, and starts as many waiting requests as the new limits allow. null: no limits. */
  setLimits(settings: OverloadSettings | null): void;
  /**
   * Runs a request now or later. The caller calls {@link Overload.leave} at the end of a request that ran.
   * @param response if it closes, a waiting request leaves the queue, and neither `run` nor `refuse` is called.
   * @param refuse called instead of `run`, with an error of status 429 (`maxParallel` is reached) or 503 (the queue
   *   is full, or no place became free in time).
   */
  enter(response: ServerResponse, run: () => void, refuse: (error: ProxyError) => void): void;
  /**
   * Frees the place of a request that ran. The caller calls this, because a listener of the response would cost
   * as much as the rest of the queue.
   */
  leave(): void;
}

/**
 * Creates the state of a process without requests and without limits.
 * @param partOf returns the part of `global_max_parallel_requests` that this process may use.
 */
export function createOverload(partOf: LimitPart = wholeLimit): Overload {
  let limits: OverloadSettings | null = null;
  let running = 0;
  /** Functions that start the waiting requests, in the order of their arrival. */
  const queue = new Set<() => void>();

  const hasRoom = () =>
    limits === null ||
    running < Math.min(limits.maxInFlight ?? Number.POSITIVE_INFINITY, limits.maxParallel ?? Number.POSITIVE_INFINITY);
  const start = (run: () => void): void => {
    running += 1;
    run();
  };
  const startWaiting = (): void => {
    for (const begin of queue) {
      if (!hasRoom()) return;
      begin();
    }
  };
  const wait = (response: ServerResponse, queueMs: number, run: () => void, expire: () => void): void => {
    const forget = () => {
      clearTimeout(timer);
      queue.delete(begin);
      // Only a waiting request needs the listener.
      response.removeListener('close', forget);
    };
    const begin = () => {
      forget();
      start(run);
    };
    // `unref`: the server's listening socket keeps the process alive while clients wait, so the timer need not.
    const timer = setTimeout(() => {
      forget();
      expire();
    }, queueMs).unref();
    queue.add(begin);
    // Without this listener, the queue would hold the request of a client that has gone.
    response.once('close', forget);
  };

  return {
    get queued() {
      return queue.size;
    },
    setLimits(settings) {
      const maxParallel = settings?.maxParallel ?? null;
      limits = settings === null || maxParallel === null ? settings : { ...settings, maxParallel: partOf(maxParallel) };
      startWaiting();
    },
    enter(response, run, refuse) {
      const reject = () => refuse(overloaded(running, queue.size));
      if (limits === null || hasRoom()) start(run);
      else if (limits.maxParallel !== null && running >= limits.maxParallel)
        refuse(tooManyParallel(limits.maxParallel, running));
      else if (queue.size >= limits.maxQueued) reject();
      else wait(response, limits.queueMs, run, reject);
    },
    leave() {
      running -= 1;
      startWaiting();
    },
  };
}
