/** Contract: the rows about groups of deployments. */
import { describe, expect, it } from '@jest/globals';
import { ANSWER } from '../routing/faulty-upstream.js';
import { useSetups } from '../routing/fixture.js';

describe('groups of deployments', () => {
  const setUp = useSetups();

  it('MP-59 another deployment of the group answers if the first one fails', async () => {
    const { ask } = await setUp([{ behavior: { status: 500 }, params: { weight: 1 } }, { params: { weight: 0 } }]);
    const { status, text } = await ask();
    expect([status, text]).toEqual([200, expect.stringContaining(ANSWER)]);
  });

  it('MP-60 a request is sent num_retries times more, then the client gets the error', async () => {
    const { ask, upstreams } = await setUp([{ behavior: { status: 503 } }], { litellm_settings: { num_retries: 1 } });
    expect([(await ask()).status, upstreams[0]?.count]).toEqual([503, 2]);
  });

  it('MP-62 deployments that fail get no requests for cooldown_time; if all fail, the client gets 429', async () => {
    const { ask, upstreams } = await setUp([{ behavior: { status: 429 } }, { behavior: { status: 429 } }], {
      router_settings: { cooldown_time: 60 },
    });
    await ask();
    const { status, text } = await ask();
    expect([status, text]).toEqual([429, expect.stringContaining('No deployments available for selected model')]);
    expect(upstreams.map(({ count }) => count)).toEqual([1, 1]);
  });

  it('MP-63 the next group answers if a group fails; if all fail, the client gets the first error', async () => {
    const { ask, upstreams } = await setUp([{ behavior: { status: 401 } }, { name: 'other' }], {
      router_settings: { fallbacks: [{ chat: ['other'] }] },
    });
    expect((await ask()).status).toBe(200);
    for (const upstream of upstreams.slice(1)) upstream.behavior = { status: 404 };
    expect((await ask()).status).toBe(401);
  });

  it('MP-64 fallbacks in the body replace the configured ones, and do not go upstream', async () => {
    const { ask, upstreams } = await setUp([{ behavior: { status: 401 } }, { name: 'a' }, { name: 'b' }], {
      router_settings: { fallbacks: [{ chat: ['a'] }] },
    });
    const { headers } = await ask({ fallbacks: ['b'] });
    expect(headers['x-litellm-model-group']).toBe('b');
    expect(upstreams[2]?.requests[0]?.body).not.toContain('fallbacks');
  });

  it('MP-65 the routing_strategy chooses among the deployments of a group', async () => {
    const prices = [5, 1].map((price) => ({ input_cost_per_token: price, output_cost_per_token: price }));
    const { askMany, upstreams } = await setUp(
      prices.map((info) => ({ info })),
      { router_settings: { routing_strategy: 'cost-based-routing' } },
    );
    await askMany(20);
    expect(upstreams.map(({ count }) => count)).toEqual([0, 20]);
  });

  it('MP-66 a deployment at its tpm gets no requests; if all are at their tpm, the client gets 429', async () => {
    const { ask } = await setUp([{ params: { tpm: 10 } }, { params: { tpm: 10 } }]);
    const replies = [await ask(), await ask(), await ask()];
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(new Set(replies.slice(0, 2).map(({ headers }) => headers['x-litellm-model-id'])).size).toBe(2);
  });

  it('MP-67 requests above max_in_flight_requests_per_worker wait, then get 503', async () => {
    const { ask, upstreams } = await setUp([{ behavior: 'hang', params: { timeout: 2 } }], {
      general_settings: { max_in_flight_requests_per_worker: 1, admission_queue_timeout_seconds: 0.1 },
      router_settings: { num_retries: 0 },
    });
    const [first, second] = await Promise.all([ask(), ask()]);
    expect([first.status, second.status].sort()).toEqual([408, 503]);
    expect(upstreams[0]?.count).toBe(1);
  });

  it('MP-130 num_retries of an entry applies to the failures of this entry', async () => {
    const { ask, upstreams } = await setUp([{ behavior: { status: 503 }, params: { num_retries: 2 } }], {
      router_settings: { num_retries: 0 },
    });
    expect([(await ask()).status, upstreams[0]?.count]).toEqual([503, 3]);
  });

  it('MP-131 requests above global_max_parallel_requests get 429 at once', async () => {
    const { ask, upstreams } = await setUp([{ behavior: 'hang', params: { timeout: 2 } }], {
      general_settings: { global_max_parallel_requests: 1 },
      router_settings: { num_retries: 0 },
    });
    const [first, second] = await Promise.all([ask(), ask()]);
    expect([first.status, second.status].sort()).toEqual([408, 429]);
    expect(upstreams[0]?.count).toBe(1);
  });

  it('MP-66 a deployment at its rpm or max_parallel_requests gets no requests, and the client gets 429 at once', async () => {
    const { ask } = await setUp([{ params: { rpm: 1 } }]);
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 429]);
    const busy = await setUp([{ behavior: 'hang', params: { max_parallel_requests: 1, timeout: 2 } }], {
      router_settings: { num_retries: 0 },
    });
    const [first, second] = await Promise.all([busy.ask(), busy.ask()]);
    expect([first.status, second.status].sort()).toEqual([408, 429]);
    expect(busy.upstreams[0]?.count).toBe(1);
  });

  it('MP-160 num_retries and timeout in a body have no effect, unlike their headers', async () => {
    const { ask, upstreams } = await setUp([{ behavior: { status: 503 } }], { router_settings: { num_retries: 0 } });
    const body = { num_retries: 2, timeout: 0.001, api_base: 'http://127.0.0.1:9', api_key: 'sk-other' };
    expect([(await ask(body)).status, upstreams[0]?.count]).toEqual([503, 1]);
    expect(upstreams[0]?.requests[0]?.body).not.toMatch(/num_retries|timeout|api_/);
    expect([(await ask({}, { 'x-litellm-num-retries': '2' })).status, upstreams[0]?.count]).toEqual([503, 4]);
    const hanging = await setUp([{ behavior: 'hang' }], { router_settings: { num_retries: 0 } });
    expect((await hanging.ask({}, { 'x-litellm-timeout': '0.1' })).status).toBe(408);
  });

  it('MP-61 a header of the answer has the number of retries', async () => {
    const { ask } = await setUp([{ behavior: { status: 503 } }, { behavior: 'works' }]);
    const { headers } = await ask({}, { 'x-litellm-num-retries': '1' });
    expect(headers['x-litellm-attempted-retries']).toMatch(/^[01]$/);
    const failing = await setUp([{ behavior: { status: 503 } }], { router_settings: { num_retries: 1 } });
    expect((await failing.ask()).headers['x-litellm-attempted-retries']).toBe('1');
  });
});
