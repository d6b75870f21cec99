/** Tests attempts that are refused, and what they use of the budget for retries. */
import { describe, expect, it } from '@jest/globals';
import { stopTime } from '../harness/stopped-time.js';
import { statuses, useSetups } from './fixture.js';

describe('a retry that its deployment cannot take', () => {
  stopTime({ timers: 'all' });
  const setUp = useSetups();
  const settings = {
    router_settings: { disable_cooldowns: true, retry_budget: 0 },
    litellm_settings: { num_retries: 1 },
  };
  // The budget has 100 retries at the start, and grows only with the time, which stands still.
  const COUNT = 150;

  it('uses no budget if the fallback is at its limit', async () => {
    const behavior = { status: 401 };
    const models = [{ behavior }, { name: 'limited', behavior, params: { rpm: 1 } }, { name: 'other', behavior }];
    const { ask, askMany, upstreams } = await setUp(models, settings);
    await ask({ model: 'limited' });
    await ask({ model: 'other' });
    await askMany(COUNT, { fallbacks: ['limited'] });
    await ask({ fallbacks: ['other'] });
    expect(upstreams.map(({ count }) => count)).toEqual([COUNT + 1, 1, 2]);
  });

  it('uses no budget if the provider of the other deployment lacks a parameter', async () => {
    const behavior = { status: 401 };
    const lacking = { behavior, params: { order: 2, model: 'anthropic/claude-m' } };
    const { ask, askMany, upstreams } = await setUp([{ behavior, params: { order: 1 } }, lacking], settings);
    await ask();
    await askMany(COUNT, { logprobs: true });
    await ask();
    expect(upstreams.map(({ count }) => count)).toEqual([COUNT + 2, 2]);
  });

  it('uses no budget if another deployment of the fallback takes the request', async () => {
    const behavior = { status: 401 };
    const lacking = { name: 'other', behavior, params: { order: 1, model: 'anthropic/claude-m' } };
    const models = [{ behavior }, lacking, { name: 'other', params: { order: 2 } }];
    const { ask, askMany, upstreams } = await setUp(models, settings);
    await ask({ model: 'other' });
    const replies = await askMany(COUNT, { fallbacks: ['other'], logprobs: true });
    expect(statuses(replies)).toEqual({ 200: COUNT });
    expect(upstreams.map(({ count }) => count)).toEqual([COUNT, 1, COUNT + 1]);
  });
});
