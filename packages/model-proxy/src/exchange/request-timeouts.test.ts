import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { call, open } from '../../test/harness/call.js';
import { passTime, stopTime } from '../../test/harness/stopped-time.js';
import { waitFor } from '../../test/harness/wait.js';
import { json, serveApp, type ServedApp } from '../../test/support/app.js';
import { UNBOUNDED } from '../../test/support/deployment.js';

stopTime();
let served: ServedApp;
beforeAll(async () => {
  served = await serveApp({
    deployment: {
      timeouts: { ...UNBOUNDED, totalMs: 90_000 },
      streamTimeouts: { ...UNBOUNDED, firstByteMs: 80_500 },
      modelInfo: { input_cost_per_token: 0.001, output_cost_per_token: '2e-3' },
    },
  });
});
afterAll(() => served.close());
afterEach(() => {
  served.requests.length = 0;
  served.answering = json({ model: 'served/model' });
});

const ask = (headers: Readonly<Record<string, string>>, stream = false) =>
  call(`${served.url}/v1/chat/completions`, { headers, body: { model: 'public', messages: [], stream } });
const TIMEOUT = 'x-litellm-timeout';
const STREAM_TIMEOUT = 'x-litellm-stream-timeout';

describe("a client's timeout for a request", () => {
  it.each([
    ['no header', {}, '90.0', '80.5'],
    ['a timeout', { [TIMEOUT]: '7' }, '7.0', '7.0'],
    ['a timeout longer than the configured one', { [TIMEOUT]: ' 1e5 ' }, '100000.0', '100000.0'],
    ['a timeout for streams', { [STREAM_TIMEOUT]: '.25' }, '90.0', '0.25'],
    ['both', { [TIMEOUT]: '7', [STREAM_TIMEOUT]: '0.0001' }, '7.0', '0.001'],
  ])('decides which timeout the answer names: %s', async (_what, headers, plain, stream) => {
    expect((await ask(headers)).headers[TIMEOUT]).toBe(plain);
    expect((await ask(headers, true)).headers[TIMEOUT]).toBe(stream);
    for (const { headers: sent } of served.requests) expect(Object.keys(sent).join(' ')).not.toContain('litellm');
  });

  it.each([
    [TIMEOUT, false, 'total timeout'],
    [TIMEOUT, true, 'first-byte timeout'],
    [STREAM_TIMEOUT, true, 'first-byte timeout'],
  ])('ends the request with 408: %s (stream: %s)', async (name, stream, text) => {
    served.answering = () => undefined;
    const asked = ask({ [name]: '0.2' }, stream);
    await waitFor(
      () => served.requests[0],
      () => 'the upstream got no request',
    );
    await passTime(300);
    const answer = await asked;
    expect([answer.status, answer.headers[TIMEOUT]]).toEqual([408, '0.2']);
    expect(answer.text).toContain(`${text} - timeout value=0.2`);
  });

  it('does not end a stream that has begun', async () => {
    let finish = (): unknown => undefined;
    served.answering = (_asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"model":"served/model"}\n\n');
      finish = () => response.end('data: [DONE]\n\n');
    };
    const answer = await open(`${served.url}/v1/chat/completions`, {
      headers: { [TIMEOUT]: '0.2' },
      body: { model: 'public', messages: [], stream: true },
    });
    await waitFor(
      () => (answer.text === '' ? undefined : true),
      () => 'no event came',
    );
    await passTime(10_000);
    finish();
    expect(await answer.ended).toBe('whole');
    expect(answer.text).toMatch(/data: \[DONE\]\n\n$/);
  });

  it.each([
    [TIMEOUT, '0'],
    [TIMEOUT, '-1'],
    [TIMEOUT, 'soon'],
    [TIMEOUT, ''],
    [TIMEOUT, '0x10'],
    [TIMEOUT, '1, 2'],
    [STREAM_TIMEOUT, 'inf'],
    [STREAM_TIMEOUT, '2000001'],
  ])('is rejected if it is invalid: %s: %j', async (name, value) => {
    const answer = await ask({ [name]: value });
    expect([answer.status, answer.json()]).toEqual([
      400,
      {
        error: {
          message: `Invalid header '${name}': expected a number of seconds, more than 0 and at most 2000000.`,
          type: 'invalid_request_error',
          param: name,
          code: '400',
        },
      },
    ]);
    expect(served.requests).toEqual([]);
  });
});

describe('the cost of an answer', () => {
  const COST = 'x-litellm-response-cost';
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

  it('is a header if there are prices and the upstream counts tokens', async () => {
    served.answering = json({ model: 'served/model', usage });
    expect(Number((await ask({})).headers[COST])).toBeCloseTo(0.02, 10);
  });

  it('is missing if the upstream counts no tokens, and in a stream, whose usage comes after its head', async () => {
    expect((await ask({})).headers[COST]).toBeUndefined();
    served.answering = (_asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`data: ${JSON.stringify({ model: 'served/model', usage })}\n\ndata: [DONE]\n\n`);
    };
    expect((await ask({}, true)).headers[COST]).toBeUndefined();
  });

  it.each([{}, { input_cost_per_token: 'much' }, { output_cost_per_token: -1 }, { input_cost_per_token: null }])(
    'is not in the answer with the prices %j',
    async (modelInfo) => {
      const unpriced = await serveApp({ deployment: { modelInfo } });
      try {
        unpriced.answering = json({ model: 'served/model', usage });
        const answer = await call(`${unpriced.url}/v1/chat/completions`, { body: { model: 'public', messages: [] } });
        expect([answer.status, answer.headers[COST], answer.headers[TIMEOUT]]).toEqual([200, undefined, undefined]);
      } finally {
        await unpriced.close();
      }
    },
  );
});
