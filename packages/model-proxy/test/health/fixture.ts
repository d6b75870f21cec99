/** Reads the pages about health. */
import { waitFor } from '../harness/wait.js';
import type { TestProxy } from '../harness/proxy.js';

/** The answer of `/health`. */
export interface Health {
  readonly healthy_endpoints: readonly Endpoint[];
  readonly unhealthy_endpoints: readonly Endpoint[];
  readonly healthy_count: number;
  readonly unhealthy_count: number;
}

interface Endpoint {
  readonly model: string;
  readonly model_id: string;
  readonly api_base?: string;
  readonly error?: string;
}

/** Settings of checks that begin within 0.1 s, and run twice a second. */
export const OFTEN = { background_health_checks: true, health_check_interval: 0.5 };

/** Settings of checks whose first round begins within a second, and whose second round comes much later. */
export const ONCE = { background_health_checks: true, health_check_interval: 10 };

/** Reads a page. */
export async function read(proxy: TestProxy, path: string): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(`${proxy.url}${path}`);
  return { status: answer.status, body: await answer.json() };
}

/** Reads `/health`. */
export async function readHealth(proxy: TestProxy): Promise<Health> {
  return (await read(proxy, '/health')).body as Health; // the tests compare its members
}

/** Returns the ids of the deployments in `/health`: healthy, then unhealthy. */
export async function idsOf(proxy: TestProxy): Promise<readonly [string, string]> {
  const body = await readHealth(proxy);
  const ids = (endpoints: readonly Endpoint[]) => endpoints.map(({ model_id: id }) => id).join(' ');
  return [ids(body.healthy_endpoints), ids(body.unhealthy_endpoints)];
}

/** Waits until `/health` shows these deployments. */
export async function waitForHealth(proxy: TestProxy, healthy: string, unhealthy: string): Promise<void> {
  let last: readonly [string, string] = ['', ''];
  await waitFor(
    async () => {
      last = await idsOf(proxy);
      return last[0] === healthy && last[1] === unhealthy ? true : undefined;
    },
    () => `/health shows ${JSON.stringify(last)}`,
  );
}
