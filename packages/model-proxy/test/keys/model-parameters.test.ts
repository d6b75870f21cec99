/** Tests parameters with which a request can select models that the proxy does not know. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { findProvider } from '../../src/providers/index.js';
import { serveKeys, type KeyedApp } from './fixture.js';

describe("OpenRouter's parameter `models`", () => {
  let keyed: KeyedApp;
  beforeEach(async () => {
    keyed = await serveKeys({ deployment: { provider: findProvider('openrouter') } });
  });
  afterEach(() => keyed.close());

  it('is rejected with 403 if the key has a list of models', async () => {
    const key = await keyed.create({ models: ['public'] });
    const { status, text } = await keyed.chat(key, { models: ['other/model'] });
    expect([status, text]).toEqual([403, expect.stringContaining("'models' can select others")]);
    expect(keyed.requests).toEqual([]);
    expect((await keyed.chat(key)).status).toBe(200);
  });

  it('is ignored in extra_body', async () => {
    const key = await keyed.create({ models: ['public'] });
    expect((await keyed.chat(key, { extra_body: { models: ['other/model'] } })).status).toBe(200);
    expect(keyed.requests[0]?.body.toString()).not.toContain('other/model');
  });

  it('goes to the upstream if the key has no list of models', async () => {
    const key = await keyed.create();
    expect((await keyed.chat(key, { models: ['other/model'] })).status).toBe(200);
    expect(JSON.parse(keyed.requests[0]?.body.toString() ?? '')).toMatchObject({ models: ['other/model'] });
  });
});
