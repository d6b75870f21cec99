/**
 * Gemini's own API at `/gemini/…`. The client is Google's SDK. The shapes of answers are those of Google's reference.
 * @see https://ai.google.dev/api/generate-content
 */
import { GoogleGenAI } from '@google/genai';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { TestProxy } from '../harness/proxy.js';
import { cleanUp, entry, events, json, Vendors } from './vendors.js';

const HOST = 'generativelanguage.googleapis.com';
const KEY = 'gemini-key-0123456789';
const MASTER_KEY = 'sk-master-0123456789';
const model = 'gemini-2.5-flash';

const answer = (text: string) => ({
  candidates: [{ content: { parts: [{ text }], role: 'model' }, finishReason: 'STOP', index: 0 }],
  usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 2, totalTokenCount: 6 },
  modelVersion: model,
});

describe("the proxy with clients of Gemini's API", () => {
  let vendors: Vendors;
  let proxy: TestProxy;
  let client: GoogleGenAI;
  // The SDK's own fetch needs a global of Node's realm, which jest's realm does not have, so this passes another fetch.
  const clientWith = (apiKey: string) =>
    new GoogleGenAI({ apiKey, httpOptions: { baseUrl: `${proxy.url}/gemini`, fetch } });
  beforeAll(async () => {
    vendors = await Vendors.start([HOST]);
    const raw = entry('gemini', { model: `gemini/${model}`, api_key: KEY });
    proxy = await vendors.proxy([`${raw}\n      use_in_pass_through: true`], { LITELLM_MASTER_KEY: MASTER_KEY });
    client = clientWith(MASTER_KEY);
  });
  cleanUp(() => ({ vendors, proxy }));

  it('MP-100 forwards requests to /gemini/{path} unchanged, with the key of the deployment', async () => {
    vendors.answers.set(HOST, json(answer('Hi!')));
    const { text, usageMetadata } = await client.models.generateContent({ model, contents: 'hello' });
    expect([text, usageMetadata?.totalTokenCount]).toEqual(['Hi!', 6]);
    const [request] = vendors.take();
    expect(request?.line).toBe(`POST https://${HOST}/v1beta/models/${model}:generateContent`);
    expect(request?.headers['x-goog-api-key']).toBe(KEY);
    expect(request?.headers).not.toHaveProperty('authorization');
    expect(JSON.stringify(request)).not.toContain(MASTER_KEY);
    expect(JSON.parse(request?.body ?? '')).toEqual({ contents: [{ parts: [{ text: 'hello' }], role: 'user' }] });
  });

  it('forwards streams', async () => {
    vendors.answers.set(HOST, events(JSON.stringify(answer('Hel')), JSON.stringify(answer('lo 雪'))));
    let text = '';
    for await (const chunk of await client.models.generateContentStream({ model, contents: 'hello' }))
      text += chunk.text ?? '';
    expect(text).toBe('Hello 雪');
    expect(vendors.take()[0]?.line).toBe(`POST https://${HOST}/v1beta/models/${model}:streamGenerateContent?alt=sse`);
  });

  it("forwards Gemini's errors unchanged, and answers a wrong key with 401", async () => {
    const error = { error: { code: 400, message: 'Invalid value at contents', status: 'INVALID_ARGUMENT' } };
    vendors.answers.set(HOST, json(error, 400));
    const failed = client.models.generateContent({ model, contents: 'hello' });
    await expect(failed).rejects.toMatchObject({ status: 400, message: JSON.stringify(error) });
    vendors.take();
    await expect(clientWith('sk-wrong').models.generateContent({ model, contents: 'hello' })).rejects.toMatchObject({
      status: 401,
    });
    expect(vendors.take()).toEqual([]);
  });

  it('accepts a client whose key is only in the query, and rejects a wrong key', async () => {
    vendors.answers.set(HOST, json({ models: [] }));
    const status = async (key: string) => (await fetch(`${proxy.url}/gemini/v1beta/models?key=${key}`)).status;
    expect([await status('sk-wrong'), await status(MASTER_KEY)]).toEqual([401, 200]);
    const [request, ...others] = vendors.take();
    expect([request?.line, others]).toEqual([`GET https://${HOST}/v1beta/models`, []]);
    expect(JSON.stringify(request)).not.toContain(MASTER_KEY);
    expect(proxy.logged().join('\n')).not.toContain(MASTER_KEY);
  });

  it('does not send a key of the proxy in the query to Google', async () => {
    vendors.answers.set(HOST, json({ models: [] }));
    const url = `${proxy.url}/gemini/v1beta/models?pageSize=5&key=${MASTER_KEY}`;
    expect((await fetch(url, { headers: { authorization: `Bearer ${MASTER_KEY}` } })).status).toBe(200);
    const [request] = vendors.take();
    expect(request?.line).toBe(`GET https://${HOST}/v1beta/models?pageSize=5`);
    expect(JSON.stringify(request)).not.toContain(MASTER_KEY);
  });
});
