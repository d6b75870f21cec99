/** Tests cooldowns: a deployment gets no requests for some time after failures. */
import { describe, expect, it, jest } from '@jest/globals';
import { waitFor } from '../harness/wait.js';
import { statuses, useSetups } from './fixture.js';

describe('a cooldown', () => {
  const setUp = useSetups();
  const long = { router_settings: { cooldown_time: 3600 } };

  it('begins after some failures, and the deployment gets no more requests', async () => {
    const { askMany, upstreams, proxy } = await setUp([{ behavior: { status: 500 } }, {}], long);
    expect(statuses(await askMany(200))).toEqual({ 200: 200 });
    const first = upstreams[0]?.count ?? 0;
    // The cooldown begins after five failures. By then, each of the 16 connections may have sent another request.
    expect(first).toBeLessThanOrEqual(5 + 16);
    expect(statuses(await askMany(100))).toEqual({ 200: 100 });
    expect(upstreams[0]?.count).toBe(first);
    expect(proxy.logged().filter((line) => line.includes('a deployment cools down'))).toHaveLength(1);
  });

  it('begins at once after a 429, for the time of its Retry-After', async () => {
    const { ask, askMany, proxy, upstreams } = await setUp([
      { behavior: { status: 429, headers: { 'retry-after': '200' } }, params: { weight: 1 } },
      { params: { weight: 0 } },
    ]);
    expect((await ask()).status).toBe(200);
    expect(statuses(await askMany(50))).toEqual({ 200: 50 });
    expect(upstreams[0]?.count).toBe(1);
    expect(proxy.logged().join('\n')).toContain('a deployment cools down deployment=0 seconds=200 ');
  });

  it('for all deployments causes a 429 with the remaining time', async () => {
    const behavior = { status: 429 };
    const { ask, upstreams } = await setUp([{ behavior }, { behavior }], long);
    expect((await ask()).status).toBe(429);
    const { status, text, headers } = await ask();
    expect([status, headers['retry-after']]).toEqual([429, '3600']);
    expect(text).toContain('No deployments available for selected model, Try again in 3600 seconds.');
    expect(text).toContain("Passed model=chat. pre-call-checks=False, cooldown_list=['0', '1']");
    expect(upstreams.map(({ count }) => count)).toEqual([1, 1]);
  });

  it('ends after cooldown_time, and the deployments get requests again', async () => {
    const { ask, upstreams } = await setUp([{ behavior: { status: 429 } }, { behavior: { status: 429 } }], {
      router_settings: { cooldown_time: 0.1 },
    });
    await ask();
    for (const upstream of upstreams) upstream.behavior = 'works';
    await waitFor(
      async () => ((await ask()).status === 200 ? true : undefined),
      () => 'the deployments stay in their cooldown',
    );
  });

  it('ends after cooldown_time, even if the time of day goes back meanwhile', async () => {
    const timeOfDay = Date.now;
    let setBackMs = 0;
    // The test replaces `Date.now` before the start, because the proxy may store the function.
    const set = jest.spyOn(Date, 'now').mockImplementation(() => timeOfDay() - setBackMs);
    try {
      const behavior = { status: 429 };
      const { ask, upstreams } = await setUp([{ behavior }, { behavior }], { router_settings: { cooldown_time: 0.1 } });
      await ask();
      for (const upstream of upstreams) upstream.behavior = 'works';
      setBackMs = 3_600_000;
      await waitFor(
        async () => ((await ask()).status === 200 ? true : undefined),
        () => 'the deployments stay in their cooldown',
      );
    } finally {
      set.mockRestore();
    }
  });

  it('continues after a reload', async () => {
    const { ask, askMany, proxy, upstreams } = await setUp(
      [{ behavior: { status: 429 }, params: { weight: 1 } }, { params: { weight: 0 } }],
      long,
    );
    await ask();
    await proxy.reload();
    await askMany(20);
    expect(upstreams[0]?.count).toBe(1);
  });

  it('does not begin with disable_cooldowns, nor for the only deployment if allowed_fails is not set', async () => {
    const behavior = { status: 429 };
    const disabled = await setUp([{ behavior, params: { weight: 1 } }, { params: { weight: 0 } }], {
      router_settings: { disable_cooldowns: true },
    });
    expect(statuses(await disabled.askMany(20))).toEqual({ 200: 20 });
    expect(disabled.upstreams[0]?.count).toBe(20);
    const alone = await setUp([{ behavior }], { router_settings: { num_retries: 0 } });
    await alone.askMany(20);
    expect(alone.upstreams[0]?.count).toBe(20);
  });

  it('does not begin after a 404 of every deployment, or after a timeout that the client has set', async () => {
    const { ask, proxy, upstreams } = await setUp([{ behavior: { status: 404 } }, { behavior: { status: 404 } }], long);
    for (let count = 0; count < 10; count += 1) expect((await ask()).status).toBe(404);
    for (const upstream of upstreams) upstream.behavior = 'hang';
    for (let count = 0; count < 10; count += 1)
      expect((await ask({}, { 'x-litellm-timeout': '0.001', 'x-litellm-num-retries': '0' })).status).toBe(408);
    for (const upstream of upstreams) upstream.behavior = 'works';
    expect((await ask()).status).toBe(200);
    expect(proxy.logged().join('\n')).not.toContain('cools down');
  });
});
