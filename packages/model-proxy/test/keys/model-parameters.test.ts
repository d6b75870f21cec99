/** Tests parameters with which a request can select models that the proxy does not know. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { findProvider } from '../../src/providers/index.js';
import { json } from '../support/app.js';
import { serveKeys, type KeyedApp } from './fixture.js';

describe('parameters that select models', () => {
  let keyed: KeyedApp;
  const serve = async (provider: string) =>
    (keyed = await serveKeys({ deployment: { provider: findProvider(provider) } }));
  afterEach(() => keyed.close());
  const parameters: readonly [provider: string, parameter: object][] = [
    ['openrouter', { models: ['other/model'] }],
    ['openrouter', { preset: 'other' }],
    ['vercel_ai_gateway', { models: ['other/model'] }],
    ['vercel_ai_gateway', { providerOptions: { gateway: { models: ['other/model'] } } }],
    ['perplexity', { models: ['other/model'] }],
  ];
  const sent = (): unknown => JSON.parse(keyed.requests[0]?.body.toString() ?? '');

  it.each(parameters)('are rejected with 403 if the key has a list of models: %s %j', async (provider, parameter) => {
    await serve(provider);
    const key = await keyed.create({ models: ['public'] });
    const { status, text } = await keyed.chat(key, parameter);
    const [name] = Object.keys(parameter);
    expect([status, text]).toEqual([403, expect.stringContaining(`'${name}' can select others`)]);
    expect(keyed.requests).toEqual([]);
    expect((await keyed.chat(key)).status).toBe(200);
  });

  it.each(parameters)('are ignored in extra_body: %s %j', async (provider, parameter) => {
    await serve(provider);
    const key = await keyed.create({ models: ['public'] });
    expect((await keyed.chat(key, { extra_body: parameter })).status).toBe(200);
    expect(Object.keys(sent() as object)).toEqual(['model', 'messages']); // The proxy sends an object.
  });

  it.each(parameters)('go to the upstream if the key has no list of models: %s %j', async (provider, parameter) => {
    await serve(provider);
    const key = await keyed.create();
    expect((await keyed.chat(key, parameter)).status).toBe(200);
    expect(sent()).toMatchObject(parameter);
  });

  it.each([null, []])('go to the upstream if they have no value: %j', async (models) => {
    await serve('openrouter');
    const key = await keyed.create({ models: ['public'] });
    expect((await keyed.chat(key, { models })).status).toBe(200);
    expect(sent()).toMatchObject({ models });
  });

  it('are rejected if they are longer than the values that the proxy reads', async () => {
    await serve('openrouter');
    const key = await keyed.create({ models: ['public'] });
    expect((await keyed.chat(key, { models: ['x'.repeat(20_000)] })).status).toBe(403);
  });

  it('are ignored if the provider has an API of its own', async () => {
    await serve('replicate');
    keyed.answering = json({ id: 'x', status: 'succeeded', output: ['Hi!'] });
    const key = await keyed.create({ models: ['public'] });
    expect((await keyed.chat(key, { version: 'other' })).status).toBe(200);
    expect(sent()).toEqual({ input: { prompt: 'Hello' } });
  });

  it('are rejected with 403 also in a message, which becomes a chat', async () => {
    await serve('vercel_ai_gateway');
    const key = await keyed.create({ models: ['public'] });
    const message = { model: 'public', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] };
    const { status } = await keyed.manage('POST', '/v1/messages', { ...message, models: ['other/model'] }, key);
    expect([status, keyed.requests.length]).toEqual([403, 0]);
  });
});
