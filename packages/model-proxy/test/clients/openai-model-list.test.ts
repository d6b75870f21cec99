/** OpenAI's official SDK with a list of models in one request, as in LiteLLM. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type { TestProxy } from '../harness/proxy.js';
import { waitFor } from '../harness/wait.js';
import { entry, json, Vendors } from '../providers/vendors.js';

const messages = [{ role: 'user' as const, content: 'hi' }];

describe('a list of models', () => {
  let vendors: Vendors;
  let proxy: TestProxy;
  let client: OpenAI;
  beforeAll(async () => {
    vendors = await Vendors.start(['one.example', 'two.example', 'broken.example']);
    const models = ['one', 'two', 'broken'].map((name) =>
      entry(name, { model: `openai/${name}-1`, api_base: `https://${name}.example/v1`, api_key: 'sk-0123456789' }),
    );
    proxy = await vendors.proxy(models);
    for (const name of ['one', 'two']) {
      const choices = [{ index: 0, message: { role: 'assistant', content: `I am ${name}` }, finish_reason: 'stop' }];
      const usage = { prompt_tokens: 1, completion_tokens: 3, total_tokens: 4 };
      vendors.answers.set(
        `${name}.example`,
        json({ id: name, object: 'chat.completion', model: `${name}-1`, choices, usage }),
      );
    }
    vendors.answers.set('broken.example', json({ error: { message: 'not today' } }, 400));
    client = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: 'any', maxRetries: 0 });
  });
  afterEach(() => {
    vendors.take();
  });
  afterAll(async () => {
    await proxy.close();
    await vendors.close();
  });

  it('gets a list of answers, in the order of the models', async () => {
    const answers: unknown = await client.chat.completions.create({ model: 'two, one', messages });
    expect(answers).toMatchObject([
      { model: 'openai/two-1', choices: [{ message: { content: 'I am two' } }] },
      { model: 'openai/one-1', choices: [{ message: { content: 'I am one' } }] },
    ]);
    const bodies = vendors.take().map(({ body }) => JSON.parse(body) as { model: string; messages: unknown }); // JSON of the proxy
    expect(bodies.map(({ model }) => model).sort()).toEqual(['one-1', 'two-1']);
    expect(bodies.map((body) => body.messages)).toEqual([messages, messages]);
  });

  it('gets the error of a failed model at the position of that model', async () => {
    const answers: unknown = await client.chat.completions.create({ model: 'broken,one,unknown', messages });
    expect(answers).toMatchObject([
      { error: { message: expect.stringContaining('not today'), code: '400' } },
      { choices: [{ message: { content: 'I am one' } }] },
      { error: { message: expect.stringContaining('Invalid model name'), code: '400' } },
    ]);
  });

  it('has a line in the log for each model, and counts a failed model in the metrics', async () => {
    const headers = { 'x-request-id': 'list-1' };
    await client.chat.completions.create({ model: 'two,broken', messages }, { headers });
    const lines = await waitFor(
      () => {
        const found = proxy.logged().filter((line) => line.includes('list-1'));
        return found.length === 4 ? found : undefined;
      },
      () => `not four lines (the request, each model, the failure): ${proxy.logged().join('\n')}`,
    );
    expect(lines.find((line) => line.includes('could not be served'))).toContain('not today');
    for (const model of ['two', 'broken'])
      expect(lines.filter((line) => line.includes(`model=${model}`))).toHaveLength(1);
    const metrics = await (await fetch(`${proxy.url}/metrics`)).text();
    expect(metrics).toMatch(/^litellm_proxy_failed_requests_metric_total\{.*broken.* [1-9]$/m);
    expect(vendors.take()).toMatchObject([{ headers }, { headers }]);
  });

  it('ends all requests at the upstreams when the client disconnects', async () => {
    const leaving = new AbortController();
    const before = ['one', 'two'].map((name) => [`${name}.example`, vendors.answers.get(`${name}.example`)] as const);
    let requestCount = 0;
    const closed = before.map(
      ([host]) =>
        new Promise<void>((resolve) => {
          vendors.answers.set(host, (_request, response) => {
            response.once('close', resolve);
            requestCount += 1;
            if (requestCount === 2) leaving.abort();
          });
        }),
    );
    await expect(
      client.chat.completions.create({ model: 'one,two', messages }, { signal: leaving.signal }),
    ).rejects.toThrow();
    await Promise.all(closed);
    for (const [host, answer] of before) if (answer !== undefined) vendors.answers.set(host, answer);
  });

  it.each([
    [{ model: 'one,two', stream: true as const }, 'stream'],
    [{ model: Array.from({ length: 21 }, () => 'one').join(',') }, 'more than 20'],
  ])('gets 400 if the client requests a stream or more than 20 models: %j', async (more, text) => {
    await expect(client.chat.completions.create({ messages, ...more })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(text) as unknown,
    });
  });
});
