/** The rows of the contract about health. */
import { describe, expect, it } from '@jest/globals';
import { OFTEN, read, waitForHealth } from '../health/fixture.js';
import { useSetups } from '../routing/fixture.js';
import { namesIn, panelQueries } from '../dashboard/queries.js';
import { blocks, exposedMetrics, models, sendTraffic } from '../dashboard/traffic.js';

describe('health checks', () => {
  const setUp = useSetups();

  it('MP-86 /health shows the results of checks in the background, which cost no tokens', async () => {
    const { proxy, upstreams } = await setUp([{}, { behavior: { status: 500 } }], { general_settings: OFTEN });
    await waitForHealth(proxy, '0', '1');
    const paths = upstreams.flatMap(({ requests }) => requests.map(({ url }) => url));
    expect(new Set(paths)).toEqual(new Set(['/v1/models']));
  });

  it('MP-87 /health/readiness answers 503 with the reason while no deployment can serve', async () => {
    const { proxy } = await setUp([{ behavior: { status: 500 } }], { general_settings: OFTEN });
    await waitForHealth(proxy, '', '0');
    expect(await read(proxy, '/health/readiness')).toEqual({
      status: 503,
      body: expect.objectContaining({ status: 'all deployments cool down or fail their health checks' }) as unknown,
    });
  });

  it('MP-89 /metrics has each metric of the dashboard for Grafana', async () => {
    const setup = await setUp(models, blocks);
    await sendTraffic(setup);
    const exposed = await exposedMetrics(setup);
    const used = panelQueries().flatMap(({ expression }) => namesIn(expression).metrics);
    expect(used.filter((metric) => !exposed.has(metric))).toEqual([]);
    for (const what of ['requests', 'failed', 'latency', 'tokens', 'spend', 'retries', 'fallbacks'])
      expect(used.join(' ')).toContain(what);
  });
});
