import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SAMPLE_MODEL } from '../../sample-upstream/server.js';
import { done, event, type Step } from './script.js';
import { API_KEY, TestUpstream } from './upstream.js';

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
}

/** Sends a request as a client that trusts only the authority in the file `ca`. */
function ask(upstream: TestUpstream, path: string, body: object, key = API_KEY, ca = upstream.caFile): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const options = { method: 'POST', headers, agent: false, ca: readFileSync(ca) };
    const sent = request(`${upstream.apiBase}/${path}`, options, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.once('error', reject);
      response.once('end', () => resolve({ status: response.statusCode, text: Buffer.concat(pieces).toString() }));
    });
    sent.once('error', reject);
    sent.end(JSON.stringify(body));
  });
}

describe('the sample upstream', () => {
  let upstream: TestUpstream;
  beforeAll(async () => {
    upstream = await TestUpstream.start();
  });
  afterAll(() => upstream.close());
  const chat = { model: SAMPLE_MODEL, messages: [{ role: 'user', content: 'three small words' }] };

  it('answers with the chat completion object of the contract, including its null fields', async () => {
    const { status, text } = await ask(upstream, 'chat/completions', chat);
    expect(status).toBe(200);
    expect(JSON.parse(text)).toEqual({
      id: expect.stringMatching(/^chatcmpl-/),
      created: expect.any(Number),
      model: SAMPLE_MODEL,
      object: 'chat.completion',
      system_fingerprint: null,
      choices: [
        {
          finish_reason: 'stop',
          index: 0,
          message: { role: 'assistant', content: 'You said: three small words', tool_calls: null, function_call: null },
        },
      ],
      usage: {
        prompt_tokens: 3,
        completion_tokens: 5,
        total_tokens: 8,
        prompt_tokens_details: null,
        completion_tokens_details: null,
      },
      service_tier: null,
      prompt_logprobs: null,
    });
  });

  it('answers with the text completion object of the contract, including its null fields', async () => {
    const { text } = await ask(upstream, 'completions', { model: SAMPLE_MODEL, prompt: 'one two', max_tokens: 3 });
    expect(JSON.parse(text)).toEqual({
      id: expect.stringMatching(/^cmpl-/),
      object: 'text_completion',
      created: expect.any(Number),
      model: SAMPLE_MODEL,
      choices: [
        {
          index: 0,
          text: 'You said: one',
          logprobs: null,
          finish_reason: 'length',
          stop_reason: null,
          prompt_logprobs: null,
        },
      ],
      usage: {
        prompt_tokens: 2,
        completion_tokens: 3,
        total_tokens: 5,
        prompt_tokens_details: null,
        completion_tokens_details: null,
      },
    });
  });

  it('rejects a wrong key, and clients without its authority reject its certificate', async () => {
    const { status, text } = await ask(upstream, 'chat/completions', chat, 'wrong');
    expect(status).toBe(401);
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'invalid_api_key' } });
    const other = await TestUpstream.start();
    try {
      await expect(ask(upstream, 'chat/completions', chat, API_KEY, other.caFile)).rejects.toThrow(/certificate/);
    } finally {
      await other.close();
    }
  });

  it('streams tokens, the usage if requested, and [DONE]', async () => {
    const { text } = await ask(upstream, 'chat/completions', {
      ...chat,
      stream: true,
      stream_options: { include_usage: true },
    });
    const events = text.split('\n\n').filter((block) => block !== '');
    expect(events.at(-1)).toBe('data: [DONE]');
    expect(events).toHaveLength(1 + 5 + 1 + 1 + 1);
    expect(events.at(-2)).toContain('"total_tokens":8');
  });

  it('runs the script of a request, and records the request and its answer', async () => {
    const script: readonly Step[] = [{ write: ': hello\n\n' }, event('{"n": 1.0}'), done, { end: true }];
    const { text } = await ask(upstream, 'chat/completions', { ...chat, stream: true, script });
    expect(text).toBe(': hello\n\ndata: {"n": 1.0}\n\ndata: [DONE]\n\n');
    const { last } = upstream;
    expect(Buffer.concat(last.sent).toString()).toBe(text);
    expect(last.json).toMatchObject({ script });
    expect(await upstream.ended(last)).toBe('answered');
  });

  it('can reset a connection below TLS in the middle of an answer', async () => {
    await expect(
      ask(upstream, 'chat/completions', { ...chat, script: [{ write: 'half' }, { cut: 'reset' }] }),
    ).rejects.toMatchObject({ code: 'ECONNRESET' });
    expect(await upstream.ended(upstream.last)).toBe('aborted');
  });
});
