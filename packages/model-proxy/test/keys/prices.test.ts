/** Tests the costs of cached tokens and of thinking, in budgets, reports and headers. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { dayOf } from '../../src/store/usage.js';
import { findProvider } from '../../src/providers/index.js';
import { digestOf } from '../../src/store/keys.js';
import { call } from '../harness/call.js';
import { readUsage } from '../store/samples.js';
import { json } from '../support/app.js';
import { serveKeys, type KeyedApp } from './fixture.js';

const modelInfo = {
  input_cost_per_token: 0.01,
  output_cost_per_token: 0.02,
  cache_read_input_token_cost: 0.001,
  cache_creation_input_token_cost: 0.0125,
  output_cost_per_reasoning_token: 0.04,
};
let app: KeyedApp | undefined;
afterEach(() => app?.close());

const usage = {
  prompt_tokens: 100,
  completion_tokens: 10,
  total_tokens: 110,
  prompt_tokens_details: { cached_tokens: 80 },
  completion_tokens_details: { reasoning_tokens: 5 },
};
const cost = 20 * 0.01 + 80 * 0.001 + 5 * 0.02 + 5 * 0.04;

describe('prices of cached tokens and of thinking', () => {
  it('MP-142 count in the header, in reports and in the budget of a key', async () => {
    app = await serveKeys({ deployment: { modelInfo } });
    app.answering = json({ id: 'x', object: 'chat.completion', model: 'm', choices: [], usage });
    const key = await app.create({ max_budget: 1.5 * cost });
    const first = await app.chat(key);
    expect(Number(first.headers['x-litellm-response-cost'])).toBeCloseTo(cost, 10);
    expect(app.store.spendOf(digestOf(key)).spend).toBeCloseTo(cost, 10);
    const today = dayOf(app.clock.ms);
    const row = (await readUsage(app.store, today, today)).find(({ subject }) => subject === 'key');
    expect(row).toMatchObject({ inputTokens: 100, outputTokens: 10 });
    expect(row?.cost).toBeCloseTo(cost, 10);
    expect((await app.chat(key)).status).toBe(200);
    expect((await app.chat(key)).status).toBe(429);
  });

  it('count in streams', async () => {
    app = await serveKeys({ deployment: { modelInfo }, settings: { countsUsage: true } });
    app.answering = (_asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
      for (const event of [end, { choices: [], usage }])
        response.write(`data: ${JSON.stringify({ id: 'x', ...event })}\n\n`);
      response.end('data: [DONE]\n\n');
    };
    const key = await app.create();
    expect((await app.chat(key, { stream: true })).status).toBe(200);
    expect(app.store.spendOf(digestOf(key)).spend).toBeCloseTo(cost, 10);
  });

  it.each([false, true])("count for Anthropic's clients and models (stream: %s)", async (stream) => {
    app = await serveKeys({ deployment: { modelInfo, provider: findProvider('anthropic') } });
    const counted = { input_tokens: 5, cache_creation_input_tokens: 30, cache_read_input_tokens: 65, output_tokens: 1 };
    const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: 'end_turn' };
    app.answering = (request, response) => {
      if (!stream) {
        json({ ...message, usage: { ...counted, output_tokens: 10 } })(request, response);
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const events = [
        { type: 'message_start', message: { ...message, usage: counted } },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 10 } },
        { type: 'message_stop' },
      ];
      for (const event of events) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      response.end();
    };
    const key = await app.create();
    const expected = 5 * 0.01 + 30 * 0.0125 + 65 * 0.001 + 10 * 0.02;
    const answer = await call(`${app.url}/v1/messages`, {
      headers: { authorization: `Bearer ${key}` },
      body: { model: 'public', max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }], stream },
    });
    expect(answer.status).toBe(200);
    expect(app.store.spendOf(digestOf(key)).spend).toBeCloseTo(expected, 10);
    expect((await app.chat(key, { stream })).status).toBe(200);
    expect(app.store.spendOf(digestOf(key)).spend).toBeCloseTo(2 * expected, 10);
  });
});
