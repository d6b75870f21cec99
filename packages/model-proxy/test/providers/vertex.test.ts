/**
 * Models of Vertex AI whose APIs differ from OpenAI's, with the official SDKs in front. The shapes of
 * answers are those of Google's reference.
 * @see https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai
 */
import Anthropic from '@anthropic-ai/sdk';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type { TestProxy } from '../harness/proxy.js';
import { documentedStreams, message } from './anthropic-samples.js';
import { entry, GOOGLE_TOKEN_HOST, json, serviceAccount, Vendors } from './vendors.js';

const HOST = 'us-east5-aiplatform.googleapis.com';
const BASE = `https://${HOST}/v1beta1/projects/project-1/locations/us-east5`;
const messages = [{ role: 'user' as const, content: 'hello' }];
const version = 'vertex-2023-10-16';

describe('models of Anthropic on Vertex AI', () => {
  let vendors: Vendors;
  let proxy: TestProxy;
  let client: OpenAI;
  beforeAll(async () => {
    vendors = await Vendors.start([HOST, GOOGLE_TOKEN_HOST]);
    const vertex = { vertex_project: 'project-1', vertex_location: 'us-east5', vertex_credentials: serviceAccount() };
    proxy = await vendors.proxy([entry('claude', { ...vertex, model: 'vertex_ai/claude-opus-4-6@20260205' })]);
    client = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: 'any', maxRetries: 0 });
  });
  afterEach(() => {
    vendors.take();
    vendors.answers.clear();
  });
  afterAll(async () => {
    await proxy.close();
    await vendors.close();
  });

  const answerWith = (answer: Parameters<typeof vendors.answers.set>[1]) => {
    vendors.answers.set(GOOGLE_TOKEN_HOST, json({ access_token: 'ya29.token-0123456789', expires_in: 3600 }));
    vendors.answers.set(HOST, answer);
  };
  const asked = () => {
    const request = vendors.take().find(({ line }) => line.includes(HOST));
    if (request === undefined) throw new Error('the upstream got no request');
    return { ...request, json: JSON.parse(request.body) as unknown };
  };
  const claude = `${BASE}/publishers/anthropic/models/claude-opus-4-6%4020260205`;

  it('answer chat, with the model in the path and the version in the body', async () => {
    answerWith(json(message([{ type: 'text', text: 'Hi!' }])));
    const { choices } = await client.chat.completions.create({ model: 'claude', messages, max_completion_tokens: 9 });
    expect(choices[0]?.message.content).toBe('Hi!');
    const { line, headers, json: body } = asked();
    expect(line).toBe(`POST ${claude}:rawPredict`);
    expect(headers.authorization).toBe('Bearer ya29.token-0123456789');
    expect(headers).not.toHaveProperty('x-api-key');
    expect(body).toEqual({
      anthropic_version: version,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
      max_tokens: 9,
    });
  });

  it('stream', async () => {
    answerWith((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(documentedStreams.text);
    });
    let text = '';
    for await (const { choices } of await client.chat.completions.create({ model: 'claude', messages, stream: true }))
      text += choices[0]?.delta.content ?? '';
    expect(text).toBe('Hello! 雪');
    const { line, json: body } = asked();
    expect(line).toBe(`POST ${claude}:streamRawPredict`);
    expect(body).toMatchObject({ anthropic_version: version, stream: true });
  });

  it("answer Anthropic's SDK, and count tokens", async () => {
    const sdk = new Anthropic({ baseURL: proxy.url, apiKey: 'any', maxRetries: 0 });
    answerWith(json(message([{ type: 'text', text: 'Hi!' }])));
    const { content } = await sdk.messages.create({ model: 'claude', max_tokens: 9, messages });
    expect(content).toMatchObject([{ type: 'text', text: 'Hi!' }]);
    const request = asked();
    expect(request.line).toBe(`POST ${claude}:rawPredict`);
    expect(request.json).toEqual({ anthropic_version: version, max_tokens: 9, messages });

    answerWith(json({ input_tokens: 14 }));
    expect((await sdk.messages.countTokens({ model: 'claude', messages })).input_tokens).toBe(14);
    const count = asked();
    expect(count.line).toBe(`POST ${BASE}/publishers/anthropic/models/count-tokens:rawPredict`);
    expect(count.json).toEqual({
      model: 'claude-opus-4-6@20260205',
      messages,
      anthropic_version: version,
    });
  });
});
