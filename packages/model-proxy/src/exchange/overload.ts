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
  /** The client has gone. */
  isOver: boolean;
}

/** The queue removes finished entries at its beginning when there are so many. */
const MAX_FINISHED = 1024;

/** Creates the state of a process without requests. */
export function createOverload(): Overload {
  let running = 0;
  /** In the order of their deadlines, because all wait for the same time. */
  let queue: Waiting[] = [];
  /** Index of the first entry that may still wait. */
  let first = 0;
  let waiting = 0;
  let timer: NodeJS.Timeout | undefined;

  /** Removes and returns the next request that waits; undefined: there is none. */
  const next = (): Waiting | undefined => {
    while (first < queue.length) {
      const entry = queue[first];
      first += 1;
      if (first >= MAX_FINISHED || first === queue.length) {
        queue = queue.slice(first);
        first = 0;
      }
      if (entry === undefined || entry.isOver) continue;
      entry.isOver = true;
      waiting -= 1;
      return entry;
    }
    return undefined;
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
    for (;;) {
      while (queue[first]?.isOver === true) first += 1;
      const entry = queue[first];
      if (entry === undefined) return;
      if (entry.until > now) {
        timer = setTimeout(expire, entry.until - now).unref();
        return;
      }
      next()?.refuse();
    }
  };

  return {
    enter({ maxInFlight, maxQueued, queueMs }, response, run, refuse) {
      const reject = () => refuse(overloaded(running, waiting));
      if (running < maxInFlight) {
        start(response, run);
        return;
      }
      if (waiting >= maxQueued) {
        reject();
        return;
      }
      const entry: Waiting = {
        until: performance.now() + queueMs,
        run: () => start(response, run),
        refuse: reject,
        isOver: false,
      };
      queue.push(entry);
      waiting += 1;
      response.once('close', () => {
        if (entry.isOver) return;
        entry.isOver = true;
        waiting -= 1;
      });
      // The listener keeps the process alive while clients wait.
      timer ??= setTimeout(expire, queueMs).unref();
    },
  };
}
