/** Times of GETs, with and without the time in which the server waits for a CPU. */
import { mainThreadTime } from '../process-use.js';
import { fetchOnce } from '../measured-daemon.js';

/** A server that answers GETs. */
export interface Target {
  readonly url: string;
  readonly pid: number;
}

/** One GET, in milliseconds. */
export interface Timing {
  readonly wallMs: number;
  /** Wall time without the time in which the server's main thread was ready to run but had no CPU. */
  readonly ownMs: number;
  readonly failed: boolean;
}

/** Measures one GET. */
export async function timeGet({ url, pid }: Target, path: string): Promise<Timing> {
  const before = mainThreadTime(pid);
  const started = performance.now();
  // A broken connection is a failed GET. The service may close an idle connection at the same moment.
  const { status } = await fetchOnce(`${url}${path}`).catch(() => ({ status: 0 }));
  const wallMs = performance.now() - started;
  const waited = mainThreadTime(pid).waitMs - before.waitMs;
  return { wallMs, ownMs: Math.max(0, wallMs - waited), failed: status !== 200 };
}

/** Returns the value below which `share` (0 to 1) of the values are. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

/** The distribution of some GETs. */
export interface Latency {
  readonly count: number;
  /** Number of GETs without an answer 200. */
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** p99 of {@link Timing.ownMs}. */
  readonly ownP99Ms: number;
  /** Maximum of {@link Timing.ownMs}. */
  readonly ownMaxMs: number;
}

/** Summarizes GETs. */
export function latencyOf(timings: readonly Timing[]): Latency {
  const wall = timings.map(({ wallMs }) => wallMs);
  const own = timings.map(({ ownMs }) => ownMs);
  return {
    count: timings.length,
    failed: timings.filter(({ failed }) => failed).length,
    p50Ms: quantile(wall, 0.5),
    p99Ms: quantile(wall, 0.99),
    maxMs: Math.max(...wall),
    ownP99Ms: quantile(own, 0.99),
    ownMaxMs: Math.max(...own),
  };
}

/** Returns the text of a latency. */
export function latencyText({ count, failed, p50Ms, p99Ms, maxMs, ownP99Ms, ownMaxMs }: Latency): string {
  const ms = (value: number): string => value.toFixed(1);
  return (
    `${count} GETs${failed === 0 ? '' : `, ${failed} failed`}, p50 ${ms(p50Ms)}, p99 ${ms(p99Ms)}, max ${ms(maxMs)} ms` +
    ` (without waits for a CPU: p99 ${ms(ownP99Ms)}, max ${ms(ownMaxMs)})`
  );
}
