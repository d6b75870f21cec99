/** Contract: the rows about health and about the web console. */
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
    const { proxy } = await setUp([{ behavior: 'reset' }], { general_settings: OFTEN });
    await waitForHealth(proxy, '', '0');
    expect(await read(proxy, '/health/readiness')).toEqual({
      status: 503,
      body: expect.objectContaining({ status: 'all deployments cool down or fail their health checks' }) as unknown,
    });
  });

  it('MP-120 /model/status shows state, requests, failures and latency of each deployment', async () => {
    const { proxy, ask } = await setUp([{}, { name: 'dead', behavior: { status: 500 } }, { name: 'unused' }], {
      router_settings: { num_retries: 0 },
    });
    await ask();
    await ask({ model: 'dead' });
    const { status, body } = await read(proxy, '/model/status');
    const times = {
      count: 1,
      average: expect.any(Number) as unknown,
      p50: expect.any(Number) as unknown,
      p95: expect.any(Number) as unknown,
    };
    const common = {
      ...{ model: 'hosted_vllm/m', cooldown_seconds: 0, health_check: null, in_flight_requests: 0 },
      ...{ failures: [], latency_ms: times, first_token_ms: null },
      ...{ input_cost_per_token: null, output_cost_per_token: null },
    };
    expect([status, body]).toEqual([
      200,
      {
        data: [
          { ...common, model_name: 'chat', model_id: '0', state: 'healthy', requests: 1 },
          {
            ...common,
            ...{ model_name: 'dead', model_id: '1', state: 'failing', requests: 1 },
            failures: [{ status: 500, kind: 'upstreamStatus', count: 1 }],
          },
          { ...common, model_name: 'unused', model_id: '2', state: 'unknown', requests: 0, latency_ms: null },
        ],
      },
    ]);
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

describe('the web console', () => {
  const setUp = useSetups();

  it('MP-121 /ui/ has the console, with a policy that forbids inline scripts and scripts of other hosts', async () => {
    const { proxy } = await setUp([{}], { general_settings: { master_key: 'sk-master' } });
    const get = (path: string, method = 'GET') => fetch(proxy.url + path, { method, redirect: 'manual' });
    const page = await get('/ui/');
    const html = await page.text();
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'/,
    );
    expect(html).not.toMatch(/<style|<script(?![^>]* src="\/ui\/assets\/)/);

    const [, script = ''] = /src="([^"]+)"/.exec(html) ?? [];
    expect((await get(script)).headers.get('cache-control')).toContain('immutable');
    const head = await get('/ui/keys', 'HEAD');
    expect([head.status, await head.text()]).toEqual([200, '']);
    const redirect = await get('/ui');
    expect([redirect.status, redirect.headers.get('location')]).toEqual([308, '/ui/']);
    expect((await get('/ui/assets/../../package.json')).status).toBe(404);
    expect((await get('/ui/assets/none.js')).status).toBe(404);
    expect((await get('/ui/', 'POST')).status).toBe(405);
  });
});
