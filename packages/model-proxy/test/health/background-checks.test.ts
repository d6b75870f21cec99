/** Tests the health checks in the background, and how their results affect routing and readiness. */
import { createServer } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { TestUpstream } from '../harness/upstream.js';
import { waitFor } from '../harness/wait.js';
import { startTestProxy } from '../harness/proxy.js';
import { configOf, statuses, useSetups } from '../routing/fixture.js';
import { listen } from '../support/app.js';
import { OFTEN, ONCE, read, readHealth, waitForHealth } from './fixture.js';

describe('health checks in the background', () => {
  const setUp = useSetups();
  const often = { general_settings: OFTEN };

  it('read the lists of models, and /health shows the results', async () => {
    const { proxy, upstreams } = await setUp([{}, { behavior: { status: 500 } }, { behavior: { status: 401 } }], often);
    await waitForHealth(proxy, '0', '1 2');
    const { status, body } = await read(proxy, '/health');
    const entry = (id: number) => ({ model: 'hosted_vllm/m', api_base: upstreams[id]?.apiBase, model_id: String(id) });
    expect([status, body]).toEqual([
      200,
      {
        healthy_endpoints: [entry(0)],
        unhealthy_endpoints: [
          { ...entry(1), error: expect.stringContaining('a 500') as unknown },
          { ...entry(2), error: expect.stringContaining('a 401') as unknown },
        ],
        healthy_count: 1,
        unhealthy_count: 2,
      },
    ]);
    const urls = upstreams.flatMap(({ requests }) => requests.map(({ url }) => url));
    expect(new Set(urls)).toEqual(new Set(['/v1/models']));
    const { count } = upstreams[0] ?? { count: 0 };
    await waitFor(
      () => ((upstreams[0]?.count ?? 0) > count ? true : undefined),
      () => 'no second round of checks began',
    );
    expect(proxy.logged().filter((line) => line.includes('a health check failed'))).toHaveLength(2);
  });

  it('send a request for one token if an upstream does not show its list', async () => {
    const { proxy, upstreams } = await setUp(
      [{ behavior: 'unlisted', info: { health_check_params: { top_k: 1 } } }],
      often,
    );
    await waitForHealth(proxy, '0', '');
    await waitFor(
      () => ((upstreams[0]?.count ?? 0) >= 4 ? true : undefined),
      () => 'no second round of checks began',
    );
    const [first, ...others] = upstreams[0]?.requests ?? [];
    expect(first?.url).toBe('/v1/models');
    const expected = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1, top_k: 1 };
    for (const { url, body } of others) expect([url, JSON.parse(body)]).toEqual(['/v1/chat/completions', expected]);
  });

  it('request the list again later, and log only once that an upstream does not show it', async () => {
    const { proxy, upstreams } = await setUp([{ behavior: 'unlisted' }], {
      general_settings: { ...OFTEN, health_check_interval: 0.1 },
    });
    const [upstream] = upstreams;
    const listCount = () => upstream?.requests.filter(({ url }) => url === '/v1/models').length ?? 0;
    const untilLists = (count: number) =>
      waitFor(
        () => (listCount() >= count ? true : undefined),
        () => `${listCount()} requests for lists`,
      );
    await untilLists(2);
    if (upstream !== undefined) upstream.behavior = 'works';
    await untilLists(4);
    expect(upstream?.requests.slice(-2).map(({ url }) => url)).toEqual(['/v1/models', '/v1/models']);
    expect(proxy.logged().filter((line) => line.includes('does not show its list of models'))).toHaveLength(1);
  });

  it('report upstreams that hang, reset, answer incompletely or without JSON, or are missing or untrusted', async () => {
    const untrusted = await TestUpstream.start();
    const { proxy } = await setUp(
      [
        { behavior: 'hang', info: { health_check_timeout: 0.2 } },
        { behavior: 'reset' },
        { behavior: 'half' },
        { behavior: 'garbage' },
        { params: { api_base: 'http://no-such-host.invalid/v1' } },
        { params: { api_base: untrusted.apiBase } },
        {},
      ],
      often,
    );
    await waitForHealth(proxy, '6', '0 1 2 3 4 5');
    const body = await readHealth(proxy);
    expect(body.unhealthy_endpoints.map(({ error }) => error)).toEqual([
      expect.stringContaining('did not finish its answer within the total timeout - timeout value=0.2'),
      expect.stringContaining('Connection error'),
      expect.any(String),
      'the upstream answered 200, but its answer is not JSON: is api_base right?',
      expect.stringContaining('no-such-host.invalid'),
      expect.stringContaining('certificate'),
    ]);
    expect(JSON.stringify(body)).not.toContain('sk-upstream');
    await untrusted.close();
  });

  it('omit deployments and groups as configured, and hide details with health_check_details: false', async () => {
    const { proxy, upstreams } = await setUp(
      [{}, { info: { disable_background_health_check: true } }, { name: 'other' }, { behavior: { status: 500 } }],
      {
        general_settings: {
          ...OFTEN,
          background_health_check_model_groups: ['chat'],
          health_check_details: false,
        },
      },
    );
    await waitForHealth(proxy, '0', '3');
    expect(upstreams.map(({ count }) => count > 0)).toEqual([true, false, false, true]);
    const body = await readHealth(proxy);
    const entry = (id: string) => ({ model: 'hosted_vllm/m', model_id: id });
    expect([body.healthy_endpoints, body.unhealthy_endpoints]).toEqual([[entry('0')], [entry('3')]]);
  });

  it('use the deployments and settings of a reload, and forget the results of removed deployments', async () => {
    const { proxy, upstreams } = await setUp([{}, {}], { general_settings: { background_health_checks: false } });
    const use = async (count: number, blocks: object) => {
      proxy.configure(
        configOf(
          Array.from({ length: count }, () => ({})),
          upstreams,
          blocks,
        ),
      );
      await proxy.reload();
    };
    await use(2, often);
    await waitForHealth(proxy, '0 1', '');
    await use(1, often);
    await waitForHealth(proxy, '0', '');
    const metrics = await (await fetch(`${proxy.url}/metrics`)).text();
    expect(metrics).toContain('rackless_health_check_healthy{requested_model="chat",model_id="0"} 1');
    expect(metrics).not.toContain('rackless_health_check_healthy{requested_model="chat",model_id="1"}');
    await use(2, { general_settings: { background_health_checks: false } });
    expect(await (await fetch(`${proxy.url}/metrics`)).text()).not.toContain('rackless_health_check_healthy{');
  });

  it('make /health answer 503 for a model or an id without a healthy deployment', async () => {
    const { proxy } = await setUp([{}, { name: 'ill', behavior: { status: 500 } }], often);
    await waitForHealth(proxy, '0', '1');
    const statusOf = async (query: string) => (await read(proxy, `/health?${query}`)).status;
    expect([await statusOf('model=chat'), await statusOf('model=ill')]).toEqual([200, 503]);
    expect([await statusOf('model_id=0'), await statusOf('model_id=1')]).toEqual([200, 503]);
    expect(await statusOf('model=unknown')).toBe(503);
  });
});

describe('rounds of many checks', () => {
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close();
  });

  /** Starts an upstream that answers each request in the next turn. It counts all requests and concurrent requests. */
  async function countingUpstream() {
    const seen = { now: 0, max: 0, urls: new Set<string>(), count: 0 };
    const server = createServer((request, response) => {
      seen.now += 1;
      seen.count += 1;
      seen.max = Math.max(seen.max, seen.now);
      seen.urls.add(request.url ?? '');
      setImmediate(() => {
        seen.now -= 1;
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[]}');
      });
    });
    const port = await listen(server);
    closing.push(
      async () =>
        new Promise((resolve) => {
          server.close(resolve);
          server.closeAllConnections();
        }),
    );
    return { seen, address: `http://127.0.0.1:${port}` };
  }

  const modelAt = (apiBase: string, index: number) => ({
    model_name: 'chat',
    litellm_params: { model: 'hosted_vllm/m', api_base: apiBase, api_key: 'sk-1' },
    model_info: { id: String(index) },
  });

  it('share the list of an upstream among its deployments', async () => {
    const { seen, address } = await countingUpstream();
    const models = Array.from({ length: 100 }, (_item, index) => modelAt(`${address}/v1`, index));
    const proxy = await startTestProxy(JSON.stringify({ model_list: models, general_settings: ONCE }));
    closing.push(() => proxy.close());
    await waitFor(
      async () => ((await readHealth(proxy)).healthy_count === 100 ? true : undefined),
      () => 'not all deployments are healthy',
    );
    expect(seen.count).toBe(1);
  });

  it('obey health_check_concurrency', async () => {
    const { seen, address } = await countingUpstream();
    const models = Array.from({ length: 60 }, (_item, index) => modelAt(`${address}/${index}/v1`, index));
    const general = { ...ONCE, health_check_concurrency: 2 };
    const proxy = await startTestProxy(JSON.stringify({ model_list: models, general_settings: general }));
    closing.push(() => proxy.close());
    await waitFor(
      async () => ((await readHealth(proxy)).healthy_count === 60 ? true : undefined),
      () => 'not all deployments are healthy',
    );
    expect([seen.urls.size, seen.count]).toEqual([60, 60]);
    expect(seen.max).toBeLessThanOrEqual(2);
  });

  it('end with the proxy, even while upstreams hang', async () => {
    const server = createServer(() => undefined);
    const port = await listen(server);
    const models = Array.from({ length: 30 }, (_item, index) => modelAt(`http://127.0.0.1:${port}/${index}/v1`, index));
    const proxy = await startTestProxy(JSON.stringify({ model_list: models, general_settings: ONCE }));
    const connections = () =>
      new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));
    await waitFor(
      async () => ((await connections()) >= 16 ? true : undefined),
      () => 'the checks have not begun',
    );
    await proxy.close();
    await waitFor(
      async () => ((await connections()) === 0 ? true : undefined),
      () => 'checks continue after the end of the proxy',
    );
    expect(proxy.logged().join('\n')).not.toContain('checking deployments in the background');
    server.close();
  });
});

describe('enable_health_check_routing', () => {
  const setUp = useSetups();
  const steering = (settings: object) => ({ general_settings: { ...settings, enable_health_check_routing: true } });
  const counts = (upstreams: readonly { requests: readonly { url: string }[] }[]) =>
    upstreams.map(({ requests }) => requests.filter(({ url }) => url !== '/v1/models').length);

  it('uses only deployments whose checks succeed', async () => {
    const { proxy, askMany, upstreams } = await setUp([{ behavior: { status: 500 } }, {}], steering(ONCE));
    await waitForHealth(proxy, '1', '0');
    for (const upstream of upstreams) upstream.behavior = 'works';
    expect(statuses(await askMany(50))).toEqual({ 200: 50 });
    expect(counts(upstreams)).toEqual([0, 50]);
  });

  it('still serves requests if all checks fail, and successful requests make the proxy ready again', async () => {
    const { proxy, askMany, upstreams } = await setUp(
      [{ behavior: 'reset' }, { behavior: { status: 401 } }],
      steering(ONCE),
    );
    await waitForHealth(proxy, '', '0 1');
    for (const upstream of upstreams) upstream.behavior = 'works';
    expect((await read(proxy, '/health/readiness')).status).toBe(503);
    expect(statuses(await askMany(10))).toEqual({ 200: 10 });
    expect((await read(proxy, '/health/readiness')).status).toBe(200);
  });

  it('ignores checks that get 429 if health_check_ignore_transient_errors is set', async () => {
    const { proxy, askMany, upstreams } = await setUp([{ behavior: { status: 429 } }, {}], {
      general_settings: ONCE,
      router_settings: { enable_health_check_routing: true, health_check_ignore_transient_errors: true },
    });
    await waitForHealth(proxy, '1', '0');
    for (const upstream of upstreams) upstream.behavior = 'works';
    await askMany(60);
    expect(counts(upstreams).every((count) => count > 0)).toBe(true);
  });

  it('is off by default', async () => {
    const { proxy, askMany, upstreams } = await setUp([{ behavior: { status: 500 } }, {}], { general_settings: ONCE });
    await waitForHealth(proxy, '1', '0');
    for (const upstream of upstreams) upstream.behavior = 'works';
    await askMany(60);
    expect(counts(upstreams).every((count) => count > 0)).toBe(true);
  });
});

describe('/health/readiness', () => {
  const setUp = useSetups();

  it('answers 503 while no deployment can serve', async () => {
    const { proxy, upstreams } = await setUp([{ behavior: 'reset' }, { behavior: { status: 401 } }], {
      general_settings: OFTEN,
    });
    const waitForStatus = (wanted: number) =>
      waitFor(
        async () => {
          const { status, body } = await read(proxy, '/health/readiness');
          return status === wanted ? body : undefined;
        },
        () => `the readiness is not ${wanted}`,
      );
    expect(await waitForStatus(503)).toMatchObject({ status: 'all deployments cool down or fail their health checks' });
    const [first] = upstreams;
    if (first !== undefined) first.behavior = 'works';
    expect(await waitForStatus(200)).toMatchObject({ status: 'healthy' });
  });

  it('answers 200 while upstreams fail only to list their models', async () => {
    const { proxy, ask } = await setUp([{ behavior: 'broken list' }], { general_settings: ONCE });
    await waitForHealth(proxy, '', '0');
    expect((await read(proxy, '/health/readiness')).status).toBe(200);
    expect((await ask()).status).toBe(200);
  });

  it('answers 503 while all checks by requests to the models fail', async () => {
    const { proxy } = await setUp([{ behavior: { status: 503 } }], {
      general_settings: { ...ONCE, health_check_method: 'completion' },
    });
    await waitForHealth(proxy, '', '0');
    expect((await read(proxy, '/health/readiness')).status).toBe(503);
  });

  it('answers 503 while all deployments cool down', async () => {
    const behavior = { status: 429 };
    const { proxy, ask } = await setUp([{ behavior }, { behavior }], { router_settings: { cooldown_time: 60 } });
    expect((await read(proxy, '/health/readiness')).status).toBe(200);
    await ask();
    expect((await read(proxy, '/health/readiness')).status).toBe(503);
  });
});
