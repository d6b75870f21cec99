/** Tests deployments that fail, next to a deployment that works, or alone. */
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it, jest } from '@jest/globals';
import { listen } from '../support/app.js';
import { passTime, stopTime } from '../harness/stopped-time.js';
import { open } from '../harness/call.js';
import { waitFor } from '../harness/wait.js';
import type { Behavior } from './faulty-upstream.js';
import { messages, statuses, useSetups } from './fixture.js';

const CALLS = 300;
const COMMENT = ': OPENROUTER PROCESSING\n\n';
const faults: Readonly<Record<string, Behavior>> = {
  'resets connections': 'reset',
  'sends half of its answers': 'half',
  'answers 200 with a text that is not JSON': 'garbage',
  'answers 401': { status: 401 },
  'answers 403': { status: 403 },
  'answers 404': { status: 404 },
  'answers 429': { status: 429, headers: { 'retry-after': '1000000000' } },
  'answers 500': { status: 500 },
  'answers 503': { status: 503, headers: { 'retry-after': '-5' } },
  'reports an error with status 200': { status: 200, body: { error: { message: 'overloaded', code: 503 } } },
};

describe('a group of deployments', () => {
  const setUp = useSetups();

  for (const [what, behavior] of Object.entries(faults)) {
    it(`serves all requests while one deployment ${what}`, async () => {
      const { askMany, upstreams } = await setUp([{ behavior }, {}]);
      const replies = [...(await askMany(CALLS)), ...(await askMany(CALLS, { stream: true }))];
      expect(statuses(replies)).toEqual({ 200: 2 * CALLS });
      expect(upstreams[0]?.count).toBeGreaterThan(0);
    });
  }

  it.each<[string, Behavior]>([
    ['ends', { events: COMMENT, end: 'closed' }],
    ['is reset', { events: COMMENT, end: 'reset' }],
    ['has an error', { events: `${COMMENT}data: {"error":{"message":"busy","code":503}}\n\n`, end: 'closed' }],
  ])('serves a stream with another deployment if the first one %s after a comment', async (_how, behavior) => {
    const models = [{ behavior, params: { order: 1 } }, { params: { order: 2 } }];
    const { ask, upstreams } = await setUp(models);
    const { status, text } = await ask({ stream: true });
    expect([status, text]).toEqual([200, expect.stringMatching(/^data: \{"model":"hosted_vllm\/m".*\[DONE\]\n\n$/s)]);
    expect(upstreams[0]?.count).toBe(1);
  });

  it('counts no retry if the first deployment gets no request, because its provider lacks a parameter', async () => {
    const lacking = { params: { order: 1, model: 'anthropic/claude-m' } };
    const { ask, upstreams } = await setUp([lacking, { params: { order: 2 } }]);
    const { status, headers } = await ask({ logprobs: true });
    expect([status, headers['x-litellm-attempted-retries']]).toEqual([200, '0']);
    expect(upstreams.map(({ count }) => count)).toEqual([0, 1]);
  });

  it('needs no retry budget for the first attempt, although its deployment has failed before', async () => {
    const lacking = { params: { order: 1, model: 'anthropic/claude-m' } };
    const failing = { behavior: { status: 500 }, params: { order: 2 } } as const;
    const { ask } = await setUp([lacking, failing], { router_settings: { num_retries: 0, retry_budget: 0 } });
    for (let index = 0; index < 5; index += 1) expect((await ask({ logprobs: true })).status).toBe(500);
  });

  it('serves all requests while one deployment is not running', async () => {
    const { askMany, upstreams } = await setUp([{}, {}]);
    await upstreams[0]?.close();
    expect(statuses(await askMany(CALLS))).toEqual({ 200: CALLS });
  });

  it('serves all requests while one deployment does not answer', async () => {
    const { askMany, upstreams } = await setUp([{ behavior: 'hang', params: { timeout: 0.1 } }, {}]);
    const replies = await askMany(64);
    expect(statuses(replies)).toEqual({ 200: 64 });
    expect(upstreams[0]?.aborted).toBe(upstreams[0]?.count);
  });

  it('serves all requests while five of six deployments fail', async () => {
    const failing: Behavior[] = [{ status: 500 }, { status: 401 }, { status: 503 }, { status: 404 }, { status: 429 }];
    const { askMany } = await setUp([...failing.map((behavior) => ({ behavior })), {}]);
    expect(statuses(await askMany(CALLS))).toEqual({ 200: CALLS });
  });

  it('reports the number of retries in a header of the answer', async () => {
    const { ask } = await setUp([{ behavior: { status: 500 }, params: { weight: 1 } }, { params: { weight: 0 } }]);
    const { headers } = await ask();
    expect([headers['x-litellm-attempted-retries'], headers['x-litellm-model-id']]).toEqual(['1', '1']);
  });

  it('gets a request only once if a deployment rejects it with 400 or 422', async () => {
    const { askMany, upstreams } = await setUp([{ behavior: { status: 400 } }, { behavior: { status: 422 } }]);
    await askMany(50);
    expect(upstreams.reduce((sum, { count }) => sum + count, 0)).toBe(50);
  });

  it('answers with the error of the first deployment if retries are disabled', async () => {
    const weights = [{ behavior: { status: 500 }, params: { weight: 1 } }, { params: { weight: 0 } }];
    const { ask } = await setUp(weights, { litellm_settings: { num_retries: 0 } });
    expect((await ask()).status).toBe(500);
    const more = await setUp(weights, { router_settings: { retry_policy: { InternalServerErrorRetries: 0 } } });
    expect((await more.ask()).status).toBe(500);
    const other = await setUp(weights);
    expect((await other.ask({}, { 'x-litellm-num-retries': '0' })).status).toBe(500);
    expect((await other.ask()).status).toBe(200);
  });

  it('serves a request with another deployment if the first one does not accept its parameters', async () => {
    const { ask, upstreams } = await setUp([
      { params: { weight: 1, drop_params: false } },
      { params: { weight: 0, drop_params: true } },
    ]);
    expect((await ask({ reasoning_effort: 'low', verbosity: 'low' })).status).toBe(200);
    expect(upstreams.map(({ count }) => count)).toEqual([0, 1]);
  });

  it('serves a form with another deployment, which gets the whole form', async () => {
    const { proxy, upstreams } = await setUp([
      { behavior: { status: 500 }, params: { weight: 1 } },
      { params: { weight: 0 } },
    ]);
    const form = new FormData();
    form.set('model', 'chat');
    form.set('file', new Blob(['audio'.repeat(1000)]), 'a.wav');
    const response = await fetch(`${proxy.url}/v1/audio/transcriptions`, { method: 'POST', body: form });
    expect(response.status).toBe(200);
    expect(upstreams[1]?.requests[0]?.body).toContain('audio'.repeat(1000));
  });

  it('does not get a request again after the first byte of its answer', async () => {
    const server = createServer((request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"choices":[{"delta":{"content":"Hel"}}]}\n\n', () => request.socket.resetAndDestroy());
    });
    const port = await listen(server);
    const { proxy, upstreams } = await setUp([
      { params: { weight: 1, api_base: `http://127.0.0.1:${port}/v1` } },
      { params: { weight: 0 } },
    ]);
    const answer = await open(`${proxy.url}/v1/chat/completions`, { body: { model: 'chat', messages, stream: true } });
    await answer.ended;
    expect(answer.status).toBe(200);
    expect(answer.text).toMatch(/Hel.*"error":/s);
    expect(upstreams.map(({ count }) => count)).toEqual([0, 0]);
    server.close();
  });
});

describe('a failing deployment', () => {
  const setUp = useSetups();

  it('gets a request two more times by default', async () => {
    const { ask, upstreams } = await setUp([{ behavior: { status: 503 } }]);
    const { status, text, headers } = await ask();
    expect([status, upstreams[0]?.count, headers['x-litellm-attempted-retries']]).toEqual([503, 3, '2']);
    expect(text).toContain('LiteLLM Retried: 2 times, LiteLLM Max Retries: 2');
  });

  it('gets a request as often as its model group allows', async () => {
    const policy = { chat: { RateLimitErrorRetries: 1 } };
    const { ask, upstreams } = await setUp([{ behavior: { status: 429, headers: { 'retry-after': '0' } } }], {
      router_settings: { retry_policy: { RateLimitErrorRetries: 5 }, model_group_retry_policy: policy },
    });
    expect([(await ask()).status, upstreams[0]?.count]).toEqual([429, 2]);
  });

  it('gets a request as often as its own num_retries allows, unless the client sends another number', async () => {
    const behavior = { status: 429, headers: { 'retry-after': '0' } };
    const { ask, upstreams } = await setUp([{ behavior, params: { num_retries: 3 } }], {
      router_settings: { num_retries: 0, allowed_fails: 100 },
    });
    expect([(await ask()).status, upstreams[0]?.count]).toEqual([429, 4]);
    expect([(await ask({}, { 'x-litellm-num-retries': '1' })).status, upstreams[0]?.count]).toEqual([429, 6]);
  });

  it('gets a request as often as the policy allows, whatever its own num_retries is', async () => {
    const behavior = { status: 429, headers: { 'retry-after': '0' } };
    const { ask, upstreams } = await setUp([{ behavior, params: { num_retries: 3 } }], {
      router_settings: { retry_policy: { RateLimitErrorRetries: 1 } },
    });
    expect([(await ask()).status, upstreams[0]?.count]).toEqual([429, 2]);
  });

  it('causes an error at the client if its own num_retries is 0, although another deployment works', async () => {
    const models = [{ behavior: { status: 500 }, params: { num_retries: 0, order: 1 } }, { params: { order: 2 } }];
    const { ask, upstreams } = await setUp(models);
    expect([(await ask()).status, upstreams[1]?.count]).toEqual([500, 0]);
  });

  it('does not get a request again that may have crashed its server', async () => {
    const { ask, upstreams } = await setUp([{ behavior: 'reset' }]);
    expect([(await ask()).status, upstreams[0]?.count]).toEqual([500, 1]);
  });

  it('does not get a request again if its Retry-After is longer than a minute', async () => {
    for (const value of ['1000000000', '61', new Date(Date.now() + 3_600_000).toUTCString()]) {
      const behavior = { status: 429, headers: { 'retry-after': value } };
      const { ask, upstreams } = await setUp([{ behavior }]);
      const { status, headers } = await ask();
      expect([status, upstreams[0]?.count, headers['retry-after']]).toEqual([429, 1, value]);
    }
  });

  it('gets a request again after an invalid or past Retry-After', async () => {
    for (const value of ['-1000000000', 'soon', 'Mon, 23 Nov 2020 12:00:00 GMT']) {
      const behavior = { status: 429, headers: { 'retry-after': value } };
      const { ask, upstreams } = await setUp([{ behavior }], { litellm_settings: { num_retries: 1 } });
      expect([(await ask()).status, upstreams[0]?.count]).toEqual([429, 2]);
    }
  });

  it('is tried again if it refused the connection', async () => {
    const { proxy, ask, upstreams } = await setUp([{}], { litellm_settings: { num_retries: 1 } });
    await upstreams[0]?.close();
    const { status, headers } = await ask();
    expect([status, headers['x-litellm-attempted-retries']]).toEqual([500, '1']);
    expect(proxy.logged().join('\n')).toContain('refused the connection');
  });

  it('does not get a request with an invalid number of retries', async () => {
    const { ask, upstreams } = await setUp([{}]);
    for (const value of ['-1', '11', 'two', '1.5'])
      expect((await ask({}, { 'x-litellm-num-retries': value })).status).toBe(400);
    expect(upstreams[0]?.count).toBe(0);
  });
});

describe('retries when all deployments fail', () => {
  const setUp = useSetups();

  it('add at most a fifth to the traffic beyond their fixed budget', async () => {
    const { askMany, upstreams } = await setUp([{ behavior: { status: 500 } }, { behavior: { status: 500 } }], {
      router_settings: { disable_cooldowns: true },
    });
    const startedAt = performance.now();
    expect(statuses(await askMany(1000))).toEqual({ 500: 1000 });
    const sent = upstreams.reduce((sum, { count }) => sum + count, 0);
    // The budget has 100 retries at the start, and grows by ten per second. A retry at a deployment is free if
    // the last request there did not fail: at most one for each of the 16 connections and of the two deployments.
    const fixedBudget = 100 + 32 + (10 * (performance.now() - startedAt)) / 1000;
    expect(sent).toBeLessThanOrEqual(1000 + 200 + fixedBudget);
  });
});

describe('the wait for a retry', () => {
  stopTime({ timers: 'all' });
  const setUp = useSetups();
  const waiting = { router_settings: { retry_after: 5 } };

  it('ends when the client disconnects, and the upstream gets nothing more', async () => {
    const { proxy, upstreams } = await setUp([{ behavior: { status: 500 } }], waiting);
    const body = JSON.stringify({ model: 'chat', messages });
    const socket = connect(proxy.port, '127.0.0.1');
    socket.write(`POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    const upstream = upstreams[0];
    await waitFor(
      () => (upstream?.count === 1 ? true : undefined),
      () => 'the upstream got no request',
    );
    await passTime(1000);
    const timers = jest.getTimerCount();
    socket.destroy();
    await waitFor(
      () => (proxy.logged().some((line) => line.includes('499')) ? true : undefined),
      () => 'the request is not logged',
    );
    // If the timer of the wait still ran, it would keep the body of the request in memory.
    expect(jest.getTimerCount()).toBeLessThan(timers);
    await passTime(60_000);
    expect(upstream?.count).toBe(1);
  });

  it('continues during a reload, and the request is then repeated', async () => {
    const { proxy, upstreams, ask } = await setUp([{ behavior: { status: 500 } }], waiting);
    const [upstream] = upstreams;
    const reply = ask();
    await waitFor(
      () => (upstream?.count === 1 ? true : undefined),
      () => 'the upstream got no request',
    );
    await passTime(1000);
    const deployment = {
      model_name: 'other',
      litellm_params: { model: 'hosted_vllm/x', api_base: 'http://127.0.0.1:9' },
    };
    proxy.configure(JSON.stringify({ model_list: [deployment] }));
    await proxy.reload();
    if (upstream !== undefined) upstream.behavior = 'works';
    const answered = reply.then(({ status }) => status);
    await waitFor(
      async () => {
        await passTime(500);
        return upstream?.count === 2 ? true : undefined;
      },
      () => 'the request is not repeated',
    );
    expect(await answered).toBe(200);
  });
});
