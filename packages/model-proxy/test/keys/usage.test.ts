/** Usage and spend over HTTP: what is counted, and LiteLLM's reports. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestLog } from '../../../daemon/test/support/log.js';
import { createPassThrough } from '../../src/pass-through/index.js';
import { digestOf } from '../../src/store/keys.js';
import { dayOf } from '../../src/store/usage.js';
import { createUpstream, type PooledUpstream } from '../../src/upstream/send.js';
import { call, open } from '../harness/call.js';
import { findProvider } from '../../src/providers/index.js';
import { waitFor } from '../harness/wait.js';
import { documentedStreams } from '../providers/anthropic-samples.js';
import { MASTER, serveKeys, type KeyedApp } from './fixture.js';
import { readUsage } from '../store/samples.js';

const prices = { modelInfo: { input_cost_per_token: 0.01, output_cost_per_token: 0.02 } };
let app: KeyedApp;
let today: string;
beforeEach(async () => {
  app = await serveKeys({ deployment: prices, settings: { countsUsage: true } });
  today = dayOf(app.clock.ms);
});
afterEach(() => app.close());

const rowsOf = async (subject = 'key') =>
  (await readUsage(app.store, today, today)).filter((row) => row.subject === subject);
const chunk = (more: object) => `data: ${JSON.stringify({ id: 'x', model: 'served/model', ...more })}\n\n`;
const words = ['a', 'b', 'c'].map((content) => chunk({ choices: [{ index: 0, delta: { content } }] }));
const last = chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
const usageEvent = chunk({ choices: [], usage });
const DONE = 'data: [DONE]\n\n';
const renamed = (text: string) => text.replaceAll('"served/model"', '"hosted_vllm/served/model"');

/**
 * Lets the upstream send a stream, in writes of these texts. The upstream reports usage only if the request has
 * `include_usage`.
 */
function upstreamStreams(writes: readonly string[]): void {
  app.answering = ({ body }, response) => void send(body, response);
  const send = async (body: Buffer, response: ServerResponse): Promise<void> => {
    const { stream_options: options } = JSON.parse(body.toString()) as { stream_options?: { include_usage?: boolean } };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const text of writes) {
      const sent = options?.include_usage === true ? text : text.replace(usageEvent, '');
      if (sent !== '' && !response.write(sent)) await once(response, 'drain');
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  };
}
const requestStream = (key: string, body: object = {}) => app.chat(key, { stream: true, ...body });
const sentOptions = () =>
  (JSON.parse(app.requests.at(-1)?.body.toString() ?? '') as { stream_options?: unknown }).stream_options;

describe('a stream', () => {
  it.each([
    ['one write for each event', [...words, last, usageEvent, DONE]],
    ['one write', [[...words, last, usageEvent, DONE].join('')]],
    ['the usage with the end', [...words, last, usageEvent + DONE]],
    ['the usage with the answer', [...words, last + usageEvent, DONE]],
    [
      'writes that cut the usage',
      [...words, last + usageEvent.slice(0, 20), usageEvent.slice(20, 60), usageEvent.slice(60) + DONE],
    ],
    ['no [DONE] at its end', [...words, last, usageEvent]],
  ])(
    'is counted, and reaches the client without the usage event, if the client does not request usage: %s',
    async (_what, writes) => {
      upstreamStreams(writes);
      const key = await app.create();
      const answer = await requestStream(key);
      expect(answer.text).toBe(renamed(writes.join('').replace(usageEvent, '')));
      expect(sentOptions()).toEqual({ include_usage: true });
      expect(await rowsOf()).toEqual([
        expect.objectContaining({
          name: digestOf(key),
          requests: 1,
          failed: 0,
          inputTokens: 7,
          outputTokens: 3,
          totalTokens: 10,
          cost: 0.07 + 0.06,
        }),
      ]);
    },
  );

  it('contains the usage if the client requests it', async () => {
    upstreamStreams([...words, last, usageEvent, DONE]);
    const key = await app.create();
    const answer = await requestStream(key, { stream_options: { include_usage: true } });
    expect(answer.text).toContain('"usage"');
    expect((await rowsOf())[0]?.totalTokens).toBe(10);
  });

  it('is also counted if the client sets include_usage to false', async () => {
    upstreamStreams([...words, last, usageEvent, DONE]);
    const key = await app.create();
    const answer = await requestStream(key, { stream_options: { include_usage: false, x: 1 } });
    expect(answer.text).not.toContain('"usage"');
    expect(sentOptions()).toEqual({ include_usage: true, x: 1 });
    expect((await rowsOf())[0]?.totalTokens).toBe(10);
  });

  it('omits the usage that only the tpm limit of the deployment needs, unless the client requests it', async () => {
    await app.close();
    app = await serveKeys({ deployment: { ...prices, tpm: 1000 }, settings: {} });
    upstreamStreams([...words, last, usageEvent, DONE]);
    const key = await app.create();
    expect((await requestStream(key)).text).toBe(renamed([...words, last, DONE].join('')));
    expect(sentOptions()).toEqual({ include_usage: true });
    const answer = await requestStream(key, { stream_options: { include_usage: true } });
    expect(answer.text).toContain('"usage"');
  });

  it('contains the usage if the configuration of the deployment requests it', async () => {
    await app.close();
    const defaults = { stream_options: { include_usage: true } };
    app = await serveKeys({ deployment: { ...prices, tpm: 1000, defaults }, settings: {} });
    upstreamStreams([...words, last, usageEvent, DONE]);
    expect((await requestStream(await app.create())).text).toContain('"usage"');
  });

  it('loses neither usage in an event with choices nor text that looks like usage', async () => {
    const strange = chunk({ choices: [{ index: 0, delta: { content: '"usage":{} "choices":[]' } }] });
    const both = chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage });
    upstreamStreams([strange, both, DONE]);
    const answer = await requestStream(await app.create());
    expect(answer.text).toBe(renamed(strange + both + DONE));
    expect((await rowsOf())[0]?.totalTokens).toBe(10);
  });

  it('is counted by its events and the size of the request if the client disconnects before the usage', async () => {
    app.answering = (_asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const text of words) response.write(text);
    };
    const key = await app.create();
    const body = JSON.stringify({ model: 'public', stream: true, messages: [] });
    const socket = connect(app.port, '127.0.0.1');
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    let received = '';
    socket.on('data', (bytes: Buffer) => (received += bytes.toString()));
    await waitFor(
      () => (received.includes('"c"') ? true : undefined),
      () => `the third event did not arrive: ${received}`,
    );
    socket.destroy();
    const row = await waitFor(
      async () => (await rowsOf())[0],
      () => 'no usage was stored',
    );
    expect(row).toMatchObject({ inputTokens: Math.ceil(body.length / 4), outputTokens: 3 });
    expect(app.store.spendOf(digestOf(key)).spend).toBeCloseTo(0.01 * Math.ceil(body.length / 4) + 0.06);
  });

  it('is counted with the usage that the upstream reported before the client disconnected', async () => {
    app.answering = (_asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write([...words, last, usageEvent].join(''));
    };
    const key = await app.create();
    const answer = await open(`${app.url}/v1/chat/completions`, {
      headers: { authorization: `Bearer ${key}` },
      body: { model: 'public', stream: true, messages: [] },
    });
    await waitFor(
      () => (answer.text.includes('"stop"') ? true : undefined),
      () => `the last event did not arrive: ${answer.text}`,
    );
    answer.leave();
    const row = await waitFor(
      async () => (await rowsOf())[0],
      () => 'no usage was stored',
    );
    expect(row).toMatchObject({ inputTokens: 7, outputTokens: 3, totalTokens: 10 });
  });

  it('is counted as failed and without tokens if its first event is an error', async () => {
    upstreamStreams(['data: {"error":{"message":"overloaded","code":503}}\n\n']);
    const key = await app.create();
    expect((await requestStream(key)).status).toBe(503);
    expect(await rowsOf()).toEqual([expect.objectContaining({ failed: 1, totalTokens: 0 })]);
  });

  it.each([
    ['one write', [documentedStreams.tools], 472, 89],
    ['one write for each event', documentedStreams.tools.split(/(?<=\n\n)/), 472, 89],
    [
      'writes that cut the first event',
      [documentedStreams.tools.slice(0, 200), documentedStreams.tools.slice(200)],
      472,
      89,
    ],
    ['one write, with a comment before the first event', [`: hello\n\n${documentedStreams.text}`], 25, 15],
  ])("is counted with the cached tokens, if any, of Anthropic's API: %s", async (_what, writes, input, output) => {
    await app.close();
    app = await serveKeys({ deployment: { ...prices, provider: findProvider('anthropic') } });
    upstreamStreams(writes);
    const key = await app.create();
    const answer = await call(`${app.url}/v1/messages`, {
      headers: { authorization: `Bearer ${key}` },
      body: { model: 'public', stream: true, max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] },
    });
    expect(answer.status).toBe(200);
    expect(await rowsOf()).toEqual([
      expect.objectContaining({ inputTokens: input, outputTokens: output, totalTokens: input + output }),
    ]);
  });
});

describe('usage', () => {
  it('is counted for the first ten tags of the key, the header and the body together', async () => {
    const key = await app.create({ tags: ['of-key'] });
    const metadata = { tags: ['body', 5, 'a\nb', ...Array.from({ length: 20 }, (_, n) => `t${n}`)] };
    await app.chat(key, { metadata }, { 'x-litellm-tags': 'head, of-key,' });
    expect((await rowsOf('tag')).map(({ name }) => name)).toEqual([
      ...['of-key', 'head', 'body', 'a?b'],
      ...Array.from({ length: 6 }, (_, n) => `t${n}`),
    ]);
    expect(app.requests[0]?.body.toString()).not.toContain('of-key');
  });

  it('is counted for the tags in the metadata of a key, unless the key has the member tags', async () => {
    await app.chat(await app.create({ metadata: { tags: ['in-metadata'] } }));
    await app.chat(await app.create({ tags: ['own'], metadata: { tags: ['ignored'] } }));
    await app.chat(await app.create({ metadata: { tags: 'no list' } }));
    expect((await rowsOf('tag')).map(({ name }) => name)).toEqual(['in-metadata', 'own']);
  });

  it('is counted for the first ten tags of a key with more tags', async () => {
    const tags = Array.from({ length: 12 }, (_, n) => `t${n}`);
    await app.chat(await app.create({ tags }));
    expect((await rowsOf('tag')).map(({ name }) => name)).toEqual(tags.slice(0, 10));
  });

  it('is counted only for the tags of keys if reject_clientside_metadata_tags is set', async () => {
    await app.close();
    app = await serveKeys({ settings: { rejectClientTags: true } });
    const key = await app.create({ tags: ['of-key'] });
    const refused = await app.chat(key, { metadata: { tags: ['mine'] } });
    expect([refused.status, refused.text]).toEqual([
      400,
      expect.stringContaining("Client-side 'metadata.tags' not allowed"),
    ]);
    expect((await app.chat(key, {}, { 'x-litellm-tags': 'mine' })).status).toBe(200);
    expect((await rowsOf('tag')).map(({ name }) => name)).toEqual(['of-key']);
  });

  it('includes requests with the master key, in a row without a name, and failed requests', async () => {
    await app.chat(MASTER);
    app.answering = (_asked, response) =>
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}');
    expect((await app.chat(MASTER)).status).toBe(400);
    expect(await rowsOf()).toEqual([expect.objectContaining({ name: '', requests: 2, failed: 1, totalTokens: 15 })]);
  });
});

describe('a request to two models', () => {
  it('is counted as two requests, with the tokens of the answered one, when the client disconnects', async () => {
    const answered = app.answering;
    let requestCount = 0;
    app.answering = (request, response) => {
      requestCount += 1;
      if (requestCount === 1) answered(request, response);
    };
    const key = await app.create();
    const leaving = new AbortController();
    const request = fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'public,public', messages: [{ role: 'user', content: 'Hello' }] }),
      signal: leaving.signal,
    });
    await waitFor(
      () => (requestCount === 2 ? true : undefined),
      () => `the upstream got ${requestCount} requests instead of two`,
    );
    leaving.abort();
    await expect(request).rejects.toThrow();
    const row = await waitFor(
      async () => (await rowsOf()).find(({ requests }) => requests === 2),
      () => 'the usage of both requests was not stored',
    );
    expect(row).toMatchObject({ inputTokens: 10, outputTokens: 5, totalTokens: 15 });
  });
});

describe('reports', () => {
  let key: string;
  let digest: string;
  beforeEach(async () => {
    key = await app.create({ key_alias: '=HYPERLINK("x")', team_id: 'core' });
    digest = digestOf(key);
    await app.chat(key, {}, { 'x-litellm-tags': 'blue' });
    await app.chat(MASTER);
  });
  const report = async (path: string, by = MASTER) => app.manage('GET', path, undefined, by);

  it('need the master key', async () => {
    for (const path of ['/spend/logs', '/spend/tags', '/global/spend/report', '/usage/daily', '/usage/export'])
      expect([path, (await report(path, key)).status]).toEqual([path, 401]);
  });

  it('at /spend/logs have sums of days, or rows', async () => {
    const dates = `?start_date=${today}&end_date=${today}`;
    expect((await report(`/spend/logs${dates}`)).json()).toEqual([
      { startTime: today, spend: 0.4, users: {}, models: { public: 0.4 }, [digest]: 0.2, '': 0.2 },
    ]);
    const rows = (await report(`/spend/logs${dates}&summarize=false&api_key=${key}`)).json();
    expect(rows).toEqual([
      expect.objectContaining({
        api_key: digest,
        key_alias: '=HYPERLINK("x")',
        model: 'public',
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 15,
        spend: 0.2,
        requests: 1,
      }),
    ]);
    expect((await report('/spend/logs?start_date=yesterday')).status).toBe(400);
    expect((await report('/spend/logs?start_date=2026-13-45')).status).toBe(400);
  });

  it('at /global/spend/report are grouped by team, key, model or tag', async () => {
    const path = `/global/spend/report?start_date=${today}&end_date=${today}`;
    const total = { total_cost: 0.2, total_input_tokens: 10, total_output_tokens: 5 };
    expect((await report(path)).json()).toEqual([
      {
        group_by_day: `${today}T00:00:00+00:00`,
        teams: [
          {
            team_name: 'core',
            total_spend: 0.2,
            metadata: [{ model: 'public', api_key: digest, spend: 0.2, total_tokens: 15 }],
          },
          {
            team_name: 'Unassigned Team',
            total_spend: 0.2,
            metadata: [{ model: 'public', api_key: '', spend: 0.2, total_tokens: 15 }],
          },
        ],
      },
    ]);
    const details = [{ model: 'public', ...total }];
    expect((await report(`${path}&api_key=${key}`)).json()).toEqual([
      { api_key: digest, ...total, model_details: details },
    ]);
    expect((await report(`${path}&group_by=tag`)).json()).toEqual([{ tag: 'blue', ...total, model_details: details }]);
    expect((await report(`${path}&group_by=model`)).json()).toEqual([
      expect.objectContaining({ model: 'public', total_cost: 0.4 }),
    ]);
    expect((await report(`${path}&group_by=customer`)).status).toBe(400);
    expect((await report('/global/spend/report')).status).toBe(400);
    expect((await report('/spend/tags')).json()).toEqual([
      { individual_request_tag: 'blue', log_count: 1, total_spend: 0.2 },
    ]);
  });

  it('contain only the keys that a filter selects, ignore empty filters, and reject unsupported filters', async () => {
    const other = await app.create({ team_id: 'other', user_id: 'ada' });
    await app.chat(other);
    const dates = `start_date=${today}&end_date=${today}`;
    const keysOf = async (filter: string) =>
      // The proxy sends these rows.
      ((await report(`/spend/logs?${filter}`)).json() as { api_key: string }[]).map((row) => row.api_key);
    expect(await keysOf('team_id=core')).toEqual([digest]);
    expect(await keysOf('user_id=ada')).toEqual([digestOf(other)]);
    expect(await keysOf(`user_id=ada&api_key=${key}`)).toEqual([]);
    expect((await report(`/global/spend/report?${dates}&team_id=core`)).json()).toEqual([
      expect.objectContaining({ teams: [expect.objectContaining({ team_name: 'core', total_spend: 0.2 })] }),
    ]);
    const ofUser = await report(`/global/spend/report?${dates}&internal_user_id=ada&group_by=api_key`);
    expect(ofUser.json()).toEqual([expect.objectContaining({ api_key: digestOf(other) })]);
    for (const empty of ['team_id=', 'user_id=', 'internal_user_id=', 'api_key=', 'customer_id='])
      expect([empty, await keysOf(empty)]).toEqual([empty, await keysOf('')]);
    for (const path of ['/spend/logs?request_id=x', `/global/spend/report?${dates}&customer_id=x`])
      expect([path, (await report(path)).status]).toEqual([path, 400]);
  });

  it('at /usage/export are JSON, or CSV in which no cell is a formula', async () => {
    // Some languages of Excel also run a formula that begins with a full-width sign.
    await app.chat(key, { metadata: { tags: ['\uFF1D1+1'] } });
    expect((await report('/usage/export')).json()).toHaveLength(4);
    const csv = await report('/usage/export?format=csv');
    expect(csv.headers['content-type']).toBe('text/csv; charset=utf-8');
    expect(csv.text.split('\r\n')).toEqual([
      'day,subject,name,key_alias,model,requests,failed_requests,prompt_tokens,completion_tokens,total_tokens,spend',
      `${today},key,${digest},"'=HYPERLINK(""x"")",public,2,0,20,10,30,0.4`,
      `${today},tag,blue,,public,1,0,10,5,15,0.2`,
      `${today},key,,,public,1,0,10,5,15,0.2`,
      `${today},tag,'\uFF1D1+1,,public,1,0,10,5,15,0.2`,
      '',
    ]);
    const refused = await open(`${app.url}/usage/export?format=xml`, {
      method: 'GET',
      headers: { authorization: `Bearer ${MASTER}` },
    });
    expect(refused.status).toBe(400);
    await refused.ended;
  });
});

describe('a stored response', () => {
  const usageOf = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
  const stored = { id: 'resp_1', object: 'response', status: 'completed', output: [], usage: usageOf };
  const queued = { ...stored, status: 'queued', usage: null };
  let upstream: PooledUpstream;
  let keyed: KeyedApp;
  let key: string;
  beforeEach(async () => {
    const log = createTestLog({ level: 'debug', format: 'json', write: () => undefined });
    upstream = createUpstream({ deployments: [], environment: {}, log });
    keyed = await serveKeys({ deployment: prices, app: { passThrough: createPassThrough({ upstream }) } });
    key = await keyed.create();
  });
  afterEach(async () => {
    await upstream.close();
    await keyed.close();
  });

  const spent = () => keyed.store.spendOf(digestOf(key)).spend;
  /** Lets the upstream answer with a response: as JSON, or as the last event of a stream. */
  function answerWithResponse(value: object): void {
    keyed.answering = ({ url }, response) => {
      if (!url.includes('stream=true')) {
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const event = { type: 'response.completed', sequence_number: 0, response: value };
      response.end(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    };
  }
  async function create(body: object = {}): Promise<string> {
    const created = await keyed.manage('POST', '/v1/responses', { model: 'public', input: 'hi', ...body }, key);
    return (created.json() as { id: string }).id; // the upstream's answer above has an id
  }
  async function use(id: string, method = 'GET', rest = ''): Promise<void> {
    expect((await keyed.manage(method, `/v1/responses/${id}${rest}`, undefined, key)).status).toBe(200);
  }

  it('is counted when a client creates it, and not when clients read or cancel it', async () => {
    answerWithResponse(stored);
    const id = await create();
    expect(spent()).toBeCloseTo(0.2);
    await use(id);
    await use(id, 'GET', '?stream=true');
    await use(id, 'POST', '/cancel');
    expect(spent()).toBeCloseTo(0.2);
  });

  it.each(['', '?stream=true'])('with background: true is counted at the first read with usage (%j)', async (rest) => {
    answerWithResponse(queued);
    const id = await create({ background: true });
    await use(id);
    expect(spent()).toBe(0);
    answerWithResponse(stored);
    await use(id, 'GET', rest);
    expect(spent()).toBeCloseTo(0.2);
    await use(id);
    await use(id, 'GET', '?stream=true');
    expect(spent()).toBeCloseTo(0.2);
  });
});
