/** Tests how a whole proxy chooses among the deployments of a group. */
import { describe, expect, it } from '@jest/globals';
import { waitFor } from '../harness/wait.js';
import { statuses, useSetups } from './fixture.js';

describe('a group of deployments', () => {
  const setUp = useSetups();

  it('keeps a user, a session or a prompt at one deployment, and uses another one after a failure', async () => {
    const { ask, upstreams } = await setUp([{}, {}, {}], {
      router_settings: { optional_pre_call_checks: ['session_affinity', 'prompt_caching'] },
    });
    const used = async (body: object, headers: Readonly<Record<string, string>> = {}) => {
      const ids = new Set<unknown>();
      for (let count = 0; count < 20; count += 1) ids.add((await ask(body, headers)).headers['x-litellm-model-id']);
      return [...ids];
    };
    const byUser = await used({ user: 'anna' });
    expect(byUser).toHaveLength(1);
    expect(await used({}, { 'x-litellm-session-id': 's1' })).toHaveLength(1);
    expect(await used({ messages: [{ role: 'system', content: 'Always the same.' }] })).toHaveLength(1);
    const upstream = upstreams[Number(byUser[0])];
    if (upstream !== undefined) upstream.behavior = { status: 503 };
    const replies = await Promise.all(Array.from({ length: 20 }, () => ask({ user: 'anna' })));
    expect(statuses(replies)).toEqual({ 200: 20 });
  });

  it('runs at most max_parallel_requests at a deployment, and frees the slots of clients that disconnect', async () => {
    const { proxy, ask, upstreams } = await setUp(
      [
        { behavior: 'hang', params: { max_parallel_requests: 1 } },
        { behavior: 'hang', params: { max_parallel_requests: 1 } },
      ],
      { router_settings: { num_retries: 0 } },
    );
    const controller = new AbortController();
    const hanging = [1, 2].map(() =>
      fetch(`${proxy.url}/v1/chat/completions`, {
        method: 'POST',
        body: JSON.stringify({ model: 'chat', messages: [] }),
        signal: controller.signal,
      }).catch(() => undefined),
    );
    await waitFor(
      () => (upstreams.every(({ count }) => count === 1) ? true : undefined),
      () => 'the requests are not at both upstreams',
    );
    const { status, text } = await ask();
    expect([status, text]).toEqual([429, expect.stringContaining('all max_parallel_requests slots in use')]);
    controller.abort();
    await Promise.all(hanging);
    for (const upstream of upstreams) upstream.behavior = 'works';
    await waitFor(
      async () => ((await ask()).status === 200 ? true : undefined),
      () => 'the slots of clients that left are not free',
    );
  });

  it('counts the tokens of plain and of streamed answers for tpm', async () => {
    const { ask, upstreams } = await setUp([{ params: { tpm: 10 } }]);
    expect((await ask()).status).toBe(200);
    const { status, text } = await ask();
    expect([status, text]).toEqual([429, expect.stringContaining('TPM limit=10')]);
    expect(upstreams[0]?.count).toBe(1);
    const streaming = await setUp([{ params: { tpm: 10 } }]);
    expect((await streaming.ask({ stream: true })).status).toBe(200);
    const second = await streaming.ask({ stream: true });
    expect([second.status, second.text]).toEqual([429, expect.stringContaining('TPM limit=10')]);
    expect(streaming.upstreams[0]?.count).toBe(1);
  });

  it('serves all requests with four strategies, and uses all deployments', async () => {
    for (const name of ['least-busy', 'usage-based-routing-v2', 'latency-based-routing', 'cost-based-routing']) {
      const { askMany, upstreams } = await setUp([{}, {}], { router_settings: { routing_strategy: name } });
      expect(statuses([...(await askMany(100)), ...(await askMany(100, { stream: true }))])).toEqual({ 200: 200 });
      expect(upstreams.every(({ count }) => count > 0)).toBe(true);
    }
  });

  it('uses deployments with a higher order only if those with a lower order fail', async () => {
    const { askMany, upstreams } = await setUp([{ params: { order: 1 } }, { params: { order: 2 } }]);
    await askMany(50);
    expect(upstreams.map(({ count }) => count)).toEqual([50, 0]);
    await upstreams[0]?.close();
    expect(statuses(await askMany(50))).toEqual({ 200: 50 });
  });
});
