/**
 * OpenAI's official SDK with stored responses: the id leads back to the upstream that made the response,
 * also after a restart of the proxy. Also tests moderations without a model.
 * @see https://platform.openai.com/docs/api-reference/responses
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import type { TestProxy } from '../harness/proxy.js';
import { entry, json, Vendors, type VendorAnswer } from '../providers/vendors.js';

const HOSTS = ['one.example', 'two.example'];

/** @param earlier the upstream's id of the response that this one continues. */
const response = (id: string, earlier: string | null = null) => ({
  id,
  object: 'response',
  previous_response_id: earlier,
  created_at: 1,
  status: 'completed',
  model: 'm-1',
  output: [{ id: 'msg_1', type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hi!' }] }],
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
});

/** Answers like OpenAI's server, with ids that only this host knows. */
const server =
  (host: string): VendorAnswer =>
  ({ line, body }, answer) => {
    const id = `resp_${host.split('.')[0]}`;
    const [method, url = ''] = line.split(' ');
    const path = new URL(url).pathname;
    const known = path.startsWith(`/v1/responses/${id}`);
    const earlier = /"previous_response_id":"([^"]*)"/.exec(body)?.[1] ?? null;
    if (path === '/v1/moderations') {
      json({ id: 'modr-1', model: 'omni-moderation-latest', results: [{ flagged: false }] })(
        { line, headers: {}, body },
        answer,
      );
      return;
    }
    if (!['/v1/responses', '/v1/responses/compact'].includes(path) && !known) {
      json({ error: { message: `Response with id '${path.split('/')[3]}' not found.`, type: 'x' } }, 404)(
        { line, headers: {}, body },
        answer,
      );
      return;
    }
    if (body.includes('"stream":true') || url.includes('stream=true')) {
      answer.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const [index, type] of ['response.created', 'response.completed'].entries())
        answer.write(
          `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: index, response: response(id, earlier) })}\n\n`,
        );
      answer.end();
      return;
    }
    const value = path.endsWith('/input_items')
      ? {
          object: 'list',
          data: [{ id: 'msg_0', type: 'message' }],
          first_id: 'msg_0',
          last_id: 'msg_0',
          has_more: false,
        }
      : method === 'DELETE'
        ? { id, object: 'response', deleted: true }
        : response(id, earlier);
    json(value)({ line, headers: {}, body }, answer);
  };

describe("OpenAI's SDK with stored responses", () => {
  let vendors: Vendors;
  let proxy: TestProxy;
  let client: OpenAI;
  const start = async () => {
    const models = HOSTS.map((host) =>
      entry('m', { model: 'openai/m-1', api_base: `https://${host}/v1`, api_key: 'sk-0123456789' }),
    );
    const moderation = {
      model: 'openai/omni-moderation-latest',
      api_base: `https://${HOSTS[1]}/v1`,
      api_key: 'sk-0123456789',
    };
    proxy = await vendors.proxy([...models, entry('omni-moderation-latest', moderation)]);
    client = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: 'any', maxRetries: 0 });
  };
  beforeAll(async () => {
    vendors = await Vendors.start(HOSTS);
    for (const host of HOSTS) vendors.answers.set(host, server(host));
    await start();
  });
  afterEach(() => void vendors.take());
  afterAll(async () => {
    await proxy.close();
    await vendors.close();
  });

  /** Creates responses until both upstreams have made one. */
  const oneOfEach = async (): Promise<ReadonlyMap<string, string>> => {
    const ids = new Map<string, string>();
    while (ids.size < 2) {
      const { id } = await client.responses.create({ model: 'm', input: 'hi' });
      ids.set(new URL(vendors.take()[0]?.line.split(' ')[1] ?? '').host, id);
    }
    return ids;
  };

  it('reads, cancels and deletes each response at its upstream, and lists its input, after a restart', async () => {
    const ids = await oneOfEach();
    await proxy.close();
    await start();
    for (const [host, id] of ids) {
      const own = `https://${host}/v1/responses/resp_${host.split('.')[0]}`;
      const read = await client.responses.retrieve(id, { include: ['reasoning.encrypted_content'] });
      expect(read).toMatchObject({ id, model: 'openai/m-1', output_text: 'Hi!' });
      expect((await client.responses.inputItems.list(id, { limit: 5 })).data).toHaveLength(1);
      expect((await client.responses.cancel(id)).id).toBe(id);
      await client.responses.delete(id);
      const lines = vendors.take().map(({ line }) => decodeURIComponent(line));
      expect(lines).toEqual([
        `GET ${own}?include[]=reasoning.encrypted_content`,
        `GET ${own}/input_items?limit=5`,
        `POST ${own}/cancel`,
        `DELETE ${own}`,
      ]);
    }
  });

  it('streams events with the same id, also of a stored response', async () => {
    const streamed: string[] = [];
    const events = await client.responses.create({ model: 'm', input: 'hi', stream: true });
    for await (const event of events) if ('response' in event) streamed.push(event.response.id);
    const [id = ''] = streamed;
    expect(streamed).toEqual([id, id]);
    expect(id).not.toMatch(/^resp_(one|two)$/);
    const { line = '' } = vendors.take()[0] ?? {};
    for await (const event of await client.responses.retrieve(id, { stream: true }))
      if ('response' in event) expect(event.response.id).toBe(id);
    expect(vendors.take()[0]?.line).toContain(new URL(line.split(' ')[1] ?? '').host);
  });

  it("continues a response at the upstream that made it, with the upstream's id", async () => {
    for (const [host, id] of await oneOfEach()) {
      for (let count = 0; count < 10; count += 1) {
        await client.responses.create({ model: 'm', input: 'more', previous_response_id: id });
        const [request] = vendors.take();
        expect(request?.line).toBe(`POST https://${host}/v1/responses`);
        expect(JSON.parse(request?.body ?? '')).toMatchObject({
          previous_response_id: `resp_${host.split('.')[0]}`,
          model: 'm-1',
        });
      }
    }
  });

  it('gets the id of the earlier response as it sent it, so that it can read that response', async () => {
    for (const [, id] of await oneOfEach()) {
      const next = await client.responses.create({ model: 'm', input: 'more', previous_response_id: id });
      expect(next.previous_response_id).toBe(id);
      const body = { model: 'm', input: 'more', previous_response_id: id, stream: true } as const;
      for await (const event of await client.responses.create(body))
        if ('response' in event) expect(event.response.previous_response_id).toBe(id);
      expect((await client.responses.retrieve(next.previous_response_id ?? '')).id).toBe(id);
    }
  });

  it.each([
    'resp_unknown',
    `resp_${Buffer.from('litellm:custom_llm_provider:openai;model_id:x;response_id:y').toString('base64')}`,
    'resp_bGl0ZWxsbTo',
  ])('gets 404 for the id %s, and nothing goes upstream', async (id) => {
    const answer = await fetch(`${proxy.url}/v1/responses/${id}`);
    expect(answer.status).toBe(404);
    expect(vendors.take()).toEqual([]);
  });

  it("gets the upstream's 404 for a response that the upstream has deleted", async () => {
    const id = [...(await oneOfEach()).values()][0] ?? '';
    for (const host of HOSTS) vendors.answers.set(host, json({ error: { message: 'gone', type: 'x' } }, 404));
    await expect(client.responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
    for (const host of HOSTS) vendors.answers.set(host, server(host));
  });

  it('shortens a conversation at the upstream that has it', async () => {
    for (const [host, id] of await oneOfEach()) {
      await client.responses.compact({ model: 'm', previous_response_id: id });
      const [request] = vendors.take();
      expect(request?.line).toBe(`POST https://${host}/v1/responses/compact`);
      expect(JSON.parse(request?.body ?? '')).toEqual({
        model: 'm-1',
        previous_response_id: `resp_${host.split('.')[0]}`,
      });
    }
  });

  it('gets 405 for a method that the path does not have', async () => {
    const answer = await fetch(`${proxy.url}/v1/responses/resp_x/cancel`);
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('sends a moderation without `model` to the default model', async () => {
    const { results } = await client.moderations.create({ input: 'hi' });
    expect(results).toHaveLength(1);
    const [request] = vendors.take();
    expect(request?.line).toBe(`POST https://${HOSTS[1]}/v1/moderations`);
    expect(JSON.parse(request?.body ?? '')).toMatchObject({ model: 'omni-moderation-latest' });
  });
});
