/** The models and their state, live. One store for all pages. */
import { computed, signal } from '@preact/signals';
import { AnswerOrder } from '../../ui/answer-order.js';
import { messageOf } from '../../ui/states.js';
import { get } from './client.js';

/** Measured times: their number, and statistics in milliseconds. */
interface Times {
  readonly count: number;
  readonly average: number;
  readonly p50: number;
  readonly p95: number;
}

/** A deployment in the answer of `/model/status`. Costs are US dollars. */
export interface Deployment {
  readonly model_name: string;
  readonly model_id: string;
  readonly model: string;
  readonly state: 'healthy' | 'failing' | 'cooling_down' | 'unknown';
  readonly cooldown_seconds: number;
  readonly health_check: {
    readonly is_healthy: boolean;
    readonly error?: string;
    readonly checked_at: string;
  } | null;
  readonly in_flight_requests: number;
  readonly requests: number;
  readonly failures: readonly { readonly status: number; readonly kind: string; readonly count: number }[];
  readonly latency_ms: Times | null;
  readonly first_token_ms: Times | null;
  readonly input_cost_per_token: number | null;
  readonly output_cost_per_token: number | null;
}

/** One reading of all deployments. */
interface Sample {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly byId: ReadonlyMap<string, Deployment>;
}

const POLL_MS = 2000;
/** Number of samples for the line charts: the last two minutes. */
const MAX_SAMPLES = 61;

const samples = signal<readonly Sample[]>([]);

/** Why the last reading failed; null: it did not. */
export const modelsError = signal<string | null>(null);

/** All deployments in the order of the configuration; null: not read yet. */
export const deployments = computed(() => {
  const last = samples.value.at(-1);
  return last === undefined ? null : [...last.byId.values()];
});

const order = new AnswerOrder();

/** Reads the deployments now. Never rejects: `modelsError` has the failure. */
export async function readModels(): Promise<void> {
  const accept = order.begin();
  try {
    const { data } = await get<{ readonly data: readonly Deployment[] }>('/model/status');
    if (!accept()) return;
    const sample = { at: Date.now(), byId: new Map(data.map((one) => [one.model_id, one])) };
    samples.value = [...samples.value, sample].slice(-MAX_SAMPLES);
    modelsError.value = null;
  } catch (error) {
    if (accept()) modelsError.value = messageOf(error);
  }
}

/**
 * Reads the deployments every two seconds while the page is visible.
 * @returns a function that ends this and forgets all readings.
 */
export function pollModels(): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isStopped = false;
  const poll = async (): Promise<void> => {
    if (!document.hidden) await readModels();
    if (!isStopped) timer = setTimeout(() => void poll(), POLL_MS);
  };
  const onVisible = (): void => {
    if (!document.hidden) void readModels();
  };
  document.addEventListener('visibilitychange', onVisible);
  void poll();
  return () => {
    isStopped = true;
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', onVisible);
    order.forget();
    samples.value = [];
    modelsError.value = null;
  };
}

/** Returns the requests per second between any two successive readings. @param id a deployment. Default: all. */
export function requestRates(id?: string): readonly number[] {
  return between((older, newer, seconds) => (requestsIn(newer, id) - requestsIn(older, id)) / seconds);
}

/**
 * Returns the average latencies between any two successive readings, in milliseconds; null: the number of requests has
 * not grown, because there was none, or because the proxy has restarted.
 */
export function latencies(id: string): readonly (number | null)[] {
  return between((older, newer) => {
    const [before, after] = [older.byId.get(id)?.latency_ms, newer.byId.get(id)?.latency_ms];
    const count = (after?.count ?? 0) - (before?.count ?? 0);
    if (count <= 0) return null;
    return ((after?.average ?? 0) * (after?.count ?? 0) - (before?.average ?? 0) * (before?.count ?? 0)) / count;
  });
}

function between<T>(valueOf: (older: Sample, newer: Sample, seconds: number) => T): readonly T[] {
  const all = samples.value;
  return all.slice(1).flatMap((newer, index) => {
    const older = all[index];
    return older === undefined ? [] : [valueOf(older, newer, (newer.at - older.at) / 1000)];
  });
}

/**
 * Returns the number of requests. It starts again at 0 when the proxy restarts, so a difference may
 * be below 0.
 */
function requestsIn({ byId }: Sample, id: string | undefined): number {
  if (id !== undefined) return byId.get(id)?.requests ?? 0;
  return [...byId.values()].reduce((sum, { requests }) => sum + requests, 0);
}

/** Returns the number of failed attempts of a deployment. */
export function failuresOf({ failures }: Deployment): number {
  return failures.reduce((sum, { count }) => sum + count, 0);
}
