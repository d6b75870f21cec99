/** Tests upstreams whose JSON is unusual, too large, or so deep that `JSON.stringify` would exceed the stack. */
import { describe, expect, it } from '@jest/globals';
import { ANSWER, type Behavior } from './faulty-upstream.js';
import { messages, useSetups } from './fixture.js';

const LEVELS = 6000;
const deep = '{"a":'.repeat(LEVELS) + '1' + '}'.repeat(LEVELS);
const message = '{"type":"message_start","message":{"id":"a"}}';
const block = `{"type":"redacted_thinking","data":${deep}}`;

/** The model of the upstream, its answer, and whether the client requests a stream. */
const answers: Readonly<Record<string, readonly [string, Behavior, boolean]>> = {
  'an error with a deep message': [
    'openai/m',
    { status: 429, body: `{"error":{"message":${deep},"code":"busy"}}` },
    false,
  ],
  'an error without a message': ['openai/m', { status: 500, body: `{"error":${deep}}` }, true],
  'a deep error of Anthropic': ['anthropic/m', { status: 529, body: `{"type":"error","error":${deep}}` }, false],
  'an error with status 200 and a code that is no number': [
    'openai/m',
    { status: 200, body: { error: { message: 'x', code: { toString: 1, valueOf: 1 } } } },
    false,
  ],
  'a deep message of Anthropic': [
    'anthropic/m',
    { status: 200, body: `{"id":"a","type":"message","content":[${block}]}` },
    false,
  ],
  'a deep event of Anthropic': [
    'anthropic/m',
    {
      events: `data: ${message}\n\ndata: {"type":"content_block_start","index":0,"content_block":${block}}\n\n`,
      end: 'closed',
    },
    true,
  ],
};

describe('an upstream with deep or unusual JSON', () => {
  const setUp = useSetups();
  const settings = { router_settings: { num_retries: 2 } };

  for (const [what, [model, behavior, stream]] of Object.entries(answers)) {
    it(`leaves the request to another deployment if it answers with ${what}`, async () => {
      const { ask, upstreams } = await setUp(
        [{ behavior, params: { model, order: 1 } }, { params: { order: 2 } }],
        settings,
      );
      const { status, text } = await ask({ stream });
      expect([status, upstreams[0]?.count, upstreams[1]?.count]).toEqual([200, 1, 1]);
      expect(text).toContain(ANSWER);
    });
  }

  it.each([
    [429, `{"error":{"message":${deep},"type":"busy_error","code":"busy"}}`, 'busy_error', 'busy'],
    [404, `{"error":${deep}}`, null, '404'],
  ])('causes an error with its status %d, and its type and code if it has them', async (status, body, type, code) => {
    const { ask } = await setUp([{ behavior: { status, body }, params: { model: 'openai/m' } }]);
    const answer = await ask({}, { 'x-litellm-num-retries': '0' });
    expect(answer.status).toBe(status);
    const { error } = JSON.parse(answer.text) as { error: Record<string, unknown> };
    expect(error).toMatchObject({ code, message: expect.stringContaining(`answered ${status} without a message`) });
    if (type !== null) expect(error['type']).toBe(type);
  });

  it("causes a 502 for clients of Anthropic's API, with a plain answer and with a stream", async () => {
    const thought = `"thinking_blocks":[${block}]`;
    const { proxy, upstreams } = await setUp([{ params: { model: 'openai/m' } }]);
    const ask = (stream: boolean) =>
      fetch(`${proxy.url}/v1/messages`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-litellm-num-retries': '0' },
        body: JSON.stringify({ model: 'chat', max_tokens: 9, messages, stream }),
      });
    const [upstream] = upstreams;
    if (upstream === undefined) throw new Error('the test has no upstream');
    upstream.behavior = { status: 200, body: `{"choices":[{"message":{${thought}}}]}` };
    const whole = await ask(false);
    upstream.behavior = { events: `data: {"choices":[{"delta":{${thought}}}]}\n\n`, end: 'closed' };
    const streamed = await ask(true);
    expect([whole.status, streamed.status]).toEqual([502, 502]);
    expect(await whole.text()).toContain('more than 512 objects and arrays are nested');
  });

  it.each([
    ['empty objects', `[${'{},'.repeat(1_000_000)}{}]`, 'it has more than 500000 objects and arrays'],
    ['nested arrays', '['.repeat(2_000_000) + ']'.repeat(2_000_000), 'more than 512 objects and arrays are nested'],
  ])('causes a 502 that names the limit, for an answer of %s', async (_what, body, limit) => {
    const { ask } = await setUp([{ behavior: { status: 200, body }, params: { model: 'anthropic/m' } }]);
    const { status, text } = await ask({}, { 'x-litellm-num-retries': '0' });
    expect(status).toBe(502);
    expect(text).toContain(`the JSON of the upstream is too large: ${limit}`);
  });

  it('causes less than 20,000 characters of log if it answers with 100,001 invalid blocks', async () => {
    const body = `{"id":"a","type":"message","content":[${'{},'.repeat(100_000)}{}]}`;
    const { ask, proxy } = await setUp([{ behavior: { status: 200, body }, params: { model: 'anthropic/m' } }]);
    const { status } = await ask({}, { 'x-litellm-num-retries': '0' });
    expect(status).toBe(502);
    expect(proxy.logged().join('').length).toBeLessThan(20_000);
  });

  it('does not prevent the answer to a request to a list of models', async () => {
    const body = `{"object":"chat.completion","choices":[],"x":${deep}}`;
    const { ask } = await setUp([
      { name: 'deep', behavior: { status: 200, body }, params: { model: 'openai/m' } },
      { name: 'flat' },
    ]);
    const { status, text } = await ask({ model: 'deep,flat' });
    expect([status, text.includes(deep), text.includes(ANSWER)]).toEqual([200, true, true]);
  });
});

describe('an upstream that answers a request without `stream` with a stream of 129 MB', () => {
  const setUp = useSetups();

  it('causes a 502 that names the limit', async () => {
    const text = 'x'.repeat(1024 * 1024);
    const event = `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}\n\n`;
    const behavior: Behavior = { events: `data: ${message}\n\n${event.repeat(129)}`, end: 'closed' };
    const { ask } = await setUp([{ behavior, params: { model: 'anthropic/m' } }]);
    const answer = await ask({}, { 'x-litellm-num-retries': '0' });
    expect(answer.status).toBe(502);
    expect(answer.text).toContain('Max size is 128 MB: the proxy translates no larger answer.');
  });
});
