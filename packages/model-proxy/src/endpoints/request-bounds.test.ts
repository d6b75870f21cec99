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
  served.asked.length = 0;
  served.answering = json({ model: 'served/model' });
});

const ask = (headers: Readonly<Record<string, string>>, stream = false) =>
  call(`${served.url}/v1/chat/completions`, { headers, body: { model: 'public', messages: [], stream } });
const TIMEOUT = 'x-litellm-timeout';
const STREAM_TIMEOUT = 'x-litellm-stream-timeout';

describe("a client's bound for one request", () => {
  it.each([
    ['nothing', {}, '90.0', '80.5'],
    ['a timeout', { [TIMEOUT]: '7' }, '7.0', '7.0'],
    ['one longer than the configured', { [TIMEOUT]: ' 1e5 ' }, '100000.0', '100000.0'],
    ['a timeout for streams', { [STREAM_TIMEOUT]: '.25' }, '90.0', '0.25'],
    ['both', { [TIMEOUT]: '7', [STREAM_TIMEOUT]: '0.0001' }, '7.0', '0.001'],
  ])('by %s takes the place of the configured one, and is told (C11, C12)', async (_what, headers, plain, stream) => {
    expect((await ask(headers)).headers[TIMEOUT]).toBe(plain);
    expect((await ask(headers, true)).headers[TIMEOUT]).toBe(stream);
    for (const { headers: sent } of served.asked) expect(Object.keys(sent).join(' ')).not.toContain('litellm');
  });

  it.each([
    [TIMEOUT, false, 'total timeout'],
    [TIMEOUT, true, 'first-byte timeout'],
    [STREAM_TIMEOUT, true, 'first-byte timeout'],
  ])('by %s (stream: %s) ends it with 408 (C11)', async (name, stream, bound) => {
    served.answering = () => undefined;
    const asked = ask({ [name]: '0.2' }, stream);
    await waitFor(
      () => served.asked[0],
      () => 'the upstream was not asked',
    );
    await passTime(300);
    const answer = await asked;
    expect([answer.status, answer.headers[TIMEOUT]]).toEqual([408, '0.2']);
    expect(answer.text).toContain(`${bound} - timeout value=0.2`);
  });

  it('of a stream does not end it once it has begun (C7)', async () => {
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
  ])('of %s: %j is refused (C11)', async (name, value) => {
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
    expect(served.asked).toEqual([]);
  });
});

describe('what an answer cost', () => {
  const COST = 'x-litellm-response-cost';
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

  it('is told where there are prices and the upstream counts (C12)', async () => {
    served.answering = json({ model: 'served/model', usage });
    expect(Number((await ask({})).headers[COST])).toBeCloseTo(0.02, 10);
  });

  it('is not told where the upstream does not count, nor of a stream, which ends behind its head (C12)', async () => {
    expect((await ask({})).headers[COST]).toBeUndefined();
    served.answering = (_asked, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`data: ${JSON.stringify({ model: 'served/model', usage })}\n\ndata: [DONE]\n\n`);
    };
    expect((await ask({}, true)).headers[COST]).toBeUndefined();
  });

  it.each([{}, { input_cost_per_token: 'much' }, { output_cost_per_token: -1 }, { input_cost_per_token: null }])(
    'is not told by the prices %j (C12)',
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
