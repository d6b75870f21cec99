/**
 * Limits the requests that run at the same time. More requests wait in a queue with a bounded length
 * and time. A waiting request is not read, so its body stays with the client.
 */
import type { ServerResponse } from 'node:http';
import { overloaded } from '../errors/access.js';
import type { ProxyError } from '../errors/proxy-error.js';
import type { OverloadSettings } from '../settings.js';

/** The running and the waiting requests of the process. */
export interface Overload {
  /**
   * Runs a request now or later.
   * @param response its end frees the place of the request.
   * @param refuse called instead of `run` if there is no place, with an error of status 503.
   */
  enter(
    settings: OverloadSettings,
    response: ServerResponse,
    run: () => void,
    refuse: (error: ProxyError) => void,
  ): void;
}

interface Waiting {
  /** Result of `performance.now()`. */
  readonly until: number;
  readonly run: () => void;
  readonly refuse: () => void;
}

/** Creates the state of a process without requests. */
export function createOverload(): Overload {
  let running = 0;
  /** In the order of their deadlines, because all wait for the same time. */
  const queue = new Set<Waiting>();
  let timer: NodeJS.Timeout | undefined;

  /** Removes and returns the next request that waits; undefined: there is none. */
  const next = (): Waiting | undefined => {
    const [entry] = queue;
    if (entry !== undefined) queue.delete(entry);
    return entry;
  };
  const start = (response: ServerResponse, run: () => void): void => {
    running += 1;
    response.once('close', leave);
    run();
  };
  function leave(): void {
    running -= 1;
    next()?.run();
  }
  /** Rejects the requests whose time is over. */
  const expire = (): void => {
    timer = undefined;
    const now = performance.now();
    for (const entry of queue) {
      if (entry.until > now) {
        timer = setTimeout(expire, entry.until - now).unref();
        return;
      }
      queue.delete(entry);
      entry.refuse();
    }
  };

  return {
    enter({ maxInFlight, maxQueued, queueMs }, response, run, refuse) {
      const reject = () => refuse(overloaded(running, queue.size));
      if (running < maxInFlight) {
        start(response, run);
        return;
      }
      if (queue.size >= maxQueued) {
        reject();
        return;
      }
      const entry: Waiting = {
        until: performance.now() + queueMs,
        run: () => start(response, run),
        refuse: reject,
      };
      queue.add(entry);
      // The entry would hold the request of a client that has gone.
      response.once('close', () => queue.delete(entry));
      // The listener keeps the process alive while clients wait.
      timer ??= setTimeout(expire, queueMs).unref();
    },
  };
}
