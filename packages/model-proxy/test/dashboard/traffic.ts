/** The configuration and the traffic with which a proxy exposes all its series at `/metrics`. */
import { waitFor } from '../harness/wait.js';
import { OFTEN } from '../health/fixture.js';
import type { Blocks, Setup, TestModel } from '../routing/fixture.js';

const PRICES = { input_cost_per_token: 0.001, output_cost_per_token: 0.002 };
const largeHeaders = { 'x-first': 'a'.repeat(3000), 'x-second': 'a'.repeat(3000) };

/** Models that work, fail, need a fallback, and send headers above the size limit. */
export const models: readonly TestModel[] = [
  { behavior: { status: 429 }, params: { order: 1 } },
  { params: { order: 2 }, info: PRICES },
  { name: 'fails', behavior: { status: 500 } },
  { name: 'denied', behavior: { status: 401 } },
  { name: 'verbose', behavior: { status: 200, headers: largeHeaders, body: { model: 'm', choices: [] } } },
];

/** Settings with retries, fallbacks, a queue and health checks. */
export const blocks: Blocks = {
  router_settings: { num_retries: 1, cooldown_time: 1, fallbacks: [{ fails: ['chat'] }] },
  general_settings: { ...OFTEN, max_in_flight_requests_per_worker: 100 },
};

/** Sends a streamed request, a request to each model and to an unknown one, and a request to an unknown path. */
export async function sendTraffic({ ask, proxy }: Setup): Promise<void> {
  await ask({ stream: true, stream_options: { include_usage: true } });
  for (const model of ['chat', 'fails', 'denied', 'verbose', 'unknown']) await ask({ model });
  await fetch(`${proxy.url}/no/such/path`);
}

/** The labels of each metric. */
export type Exposed = ReadonlyMap<string, ReadonlySet<string>>;

/** Waits until the first health check has ended, and returns the names in `/metrics`. */
export async function exposedMetrics({ proxy }: Pick<Setup, 'proxy'>): Promise<Exposed> {
  const text = await waitFor(
    async () => {
      const page = await (await fetch(`${proxy.url}/metrics`)).text();
      return page.includes('rackless_health_check_healthy{') ? page : undefined;
    },
    () => 'no health check has ended',
  );
  const exposed = new Map<string, Set<string>>();
  for (const line of text.split('\n')) {
    const [, name, labels = ''] = /^(\w+)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    if (name === undefined) continue;
    const known = exposed.get(name) ?? new Set();
    for (const [, label = ''] of labels.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)) known.add(label);
    exposed.set(name, known);
  }
  return exposed;
}
