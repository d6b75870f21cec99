/** Remembers how long deployments take, for `latency-based-routing`. */
import { hostTimeMs } from './host-clock.js';

/** The latencies of deployments. */
export interface Latencies {
  /**
   * Adds a request.
   * @param ms for a stream: the time to its first byte. For another answer: the time for each output token, or
   *   the whole time if the number of tokens is not known.
   */
  add(id: string, streams: boolean, ms: number): void;
  /** Returns the average of the last requests in milliseconds; 0: there are none, or the last is older than `ttlMs`. */
  averageMs(id: string, streams: boolean, ttlMs: number): number;
}

/** Number of requests in an average, as in LiteLLM. */
const MAX_SAMPLES = 10;

interface Samples {
  readonly values: number[];
  addedAt: number;
}

/** Creates latencies without samples. @param now returns the time in milliseconds. */
export function createLatencies(now: () => number = hostTimeMs): Latencies {
  const plain = new Map<string, Samples>();
  const streamed = new Map<string, Samples>();
  return {
    add(id, streams, ms) {
      const samples = streams ? streamed : plain;
      const entry = samples.get(id) ?? { values: [], addedAt: 0 };
      samples.set(id, entry);
      entry.addedAt = now();
      entry.values.push(ms);
      if (entry.values.length > MAX_SAMPLES) entry.values.shift();
    },
    averageMs(id, streams, ttlMs) {
      const entry = (streams ? streamed : plain).get(id);
      if (entry === undefined || now() - entry.addedAt > ttlMs) return 0;
      return entry.values.reduce((sum, value) => sum + value, 0) / entry.values.length;
    },
  };
}
