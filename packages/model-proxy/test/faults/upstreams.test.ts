/** Upstreams that reject requests, break off, send invalid answers, or are down. */
import { describe, expect, it } from '@jest/globals';
import { SAMPLE_MODEL } from '../../sample-upstream/server.js';
import type { Step } from '../harness/script.js';
import { passTime, stopTime } from '../harness/stopped-time.js';
import { errorOf, useProxy } from './fixture.js';

const JSON_TYPE = { 'content-type': 'application/json' };
const end: Step = { end: true };

describe('an upstream', () => {
  stopTime();
  const fixture = useProxy({ settings: ['request_timeout: 1', 'idle_timeout: 1'] });

  it('with a rate limit causes a 429 with its Retry-After, for plain and streamed requests', async () => {
    const { ask, stream } = fixture();
    const script: readonly Step[] = [
      { head: 429, headers: { ...JSON_TYPE, 'retry-after': '42', 'x-ratelimit-remaining-requests': '0' } },
      { write: '{"error":{"message":"slow down","type":"requests","param":null,"code":"rate_limit_exceeded"}}' },
      end,
    ];
    const plain = await ask(...script);
    const streamed = await stream(...script);
    await streamed.ended;
    for (const { status, headers, text } of [plain, streamed]) {
      expect([status, headers['retry-after'], headers['content-type']]).toEqual([
        429,
        '42',
        expect.stringMatching(/^application\/json/),
      ]);
      expect(errorOf(text)).toEqual({
        message: expect.stringMatching(/^litellm\.RateLimitError: .*slow down/s),
        type: expect.any(String),
        param: null,
        code: 'rate_limit_exceeded',
      });
    }
  });

  for (const [status, body] of [
    [400, '{"object":"error","message":"vLLM of old","type":"BadRequestError","param":null,"code":400}'],
    [404, '{"detail":"Not Found"}'],
    [418, ''],
    [500, '<html>\u0000 oh </html>'],
    [502, '{"error": "a text"}'],
    [503, '{"error":{"message":null}}'],
    [529, '['],
  ] as const) {
    it(`with the answer ${status} ${JSON.stringify(body)} gives an error in OpenAI's shape with that status`, async () => {
      const answer = await fixture().ask(
        { head: status, headers: JSON_TYPE },
        ...(body === '' ? [] : [{ write: body }]),
        end,
      );
      expect(answer.status).toBe(status);
      expect(errorOf(answer.text).message).toMatch(/^litellm\./);
    });
  }

  for (const cut of ['close', 'reset'] as const) {
    it(`causes a 500 if it breaks off (${cut}) before its answer`, async () => {
      const { ask, works } = fixture();
      const { status, text } = await ask({ cut });
      expect([status, errorOf(text).type]).toEqual([500, 'internal_server_error']);
      await works();
    });

    it(`causes a 500 if it breaks off (${cut}) inside its plain answer`, async () => {
      const { ask, works } = fixture();
      const half = `{"model":"${SAMPLE_MODEL}","choices":[`;
      const answered = await ask(
        { head: 200, headers: { ...JSON_TYPE, 'content-length': '9999' } },
        { write: half },
        { cut },
      ).then(
        ({ status, text }) => [status, errorOf(text).code],
        (error: unknown) => (error as Error).message,
      );
      // The answer is not a stream, so the client has no byte of it yet.
      expect(answered).toEqual([500, '500']);
      await works();
    });
  }

  it('causes a 500 if its answer is not valid HTTP', async () => {
    const { ask, works } = fixture();
    for (const raw of [
      'SSH-2.0-OpenSSH\r\n',
      'HTTP/1.1 xyz\r\n\r\n',
      '\u0000\u0001\u0002',
      'HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n',
    ]) {
      const { status, text } = await ask({ raw }, { cut: 'close' });
      expect([raw, status, errorOf(text).type]).toEqual([raw, 500, 'internal_server_error']);
    }
    await works();
  });

  it('causes a 500 if its chunked encoding is invalid', async () => {
    const head = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';
    const { status, text } = await fixture().ask({ raw: `${head}5\r\n{"mod\r\nzz\r\n` }, { cut: 'close' });
    expect([status, errorOf(text).code]).toEqual([500, '500']);
  });

  it('does not affect the next answer if it sends more than it announced', async () => {
    const { ask, works } = fixture();
    const surplus =
      'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen';
    await ask({ raw: surplus }, { hang: true }).catch(() => undefined); // an answer and an error are both valid
    for (let round = 0; round < 5; round++) await works();
  });

  it('may answer with JSON of another shape, which the proxy forwards unchanged', async () => {
    for (const text of ['[1,2]', '{"model": 5}', '{"a":{"model":"b"}}', 'null', '"text"', ' {} ']) {
      const answer = await fixture().ask({ head: 200, headers: JSON_TYPE }, { write: text }, end);
      expect([answer.status, answer.text]).toEqual([200, text]);
    }
  });

  it('causes a 502 if its answer is empty or not JSON', async () => {
    for (const text of ['', 'plain text', '{"id": "m"', '[1,2', '}', '<html></html>']) {
      const written = text === '' ? [] : [{ write: text }];
      const answer = await fixture().ask({ head: 200, headers: JSON_TYPE }, ...written, end);
      expect([text, answer.status, errorOf(answer.text).code]).toEqual([text, 502, '502']);
    }
  });

  it('causes a 408 that names the timeout if it does not answer in time, and the upstream request ends', async () => {
    const { ask, upstream, works } = fixture();
    const pendingAnswer = ask({ hang: true });
    await upstream.waitForRequest(({ body }) => body !== undefined);
    await passTime(1200);
    const { status, text } = await pendingAnswer;
    expect(status).toBe(408);
    expect(errorOf(text)).toMatchObject({
      type: 'timeout_error',
      message: expect.stringMatching(/^litellm\.Timeout: .*1/),
    });
    expect(await upstream.ended(upstream.last)).toBe('aborted');
    await works();
  });

  it('causes a 408 or a closed connection if it stops inside its answer, never an incomplete answer', async () => {
    const { ask, upstream } = fixture();
    const pendingAnswer = ask({ head: 200, headers: JSON_TYPE }, { write: '{"model":' }, { hang: true }).then(
      ({ status, text }) => [status, errorOf(text).code],
      () => 'broken',
    );
    await upstream.waitForRequest(({ sent }) => sent.length > 0);
    await passTime(1200);
    const outcome = await pendingAnswer;
    expect([[408, '408'], 'broken']).toContainEqual(outcome);
    expect(await upstream.ended(upstream.last)).toBe('aborted');
  });

  it('may send interim answers before its answer', async () => {
    const raw =
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';
    const { status, text } = await fixture().ask({ raw }, { hang: true });
    expect([status, text]).toEqual([200, '{}']);
  });

  for (const cut of ['close', 'reset'] as const) {
    it(`loses no request that arrives while it ends (${cut}) an idle connection`, async () => {
      const { ask, works } = fixture();
      const raw = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';
      for (let round = 0; round < 40; round++) {
        // The upstream ends the connection before, during or after the next request: 0 to 3 ms after its answer.
        expect((await ask({ raw }, ...(round % 4 === 0 ? [] : [{ waitMs: round % 4 }]), { cut })).text).toBe('{}');
        await works();
      }
    });
  }

  it('cannot redirect a request: the proxy follows no 307, so that no other server gets the API key', async () => {
    const { ask, upstream } = fixture();
    const { status } = await ask({ head: 307, headers: { location: `${upstream.apiBase}/chat/completions` } }, end);
    expect(status).toBeGreaterThanOrEqual(300);
    expect(upstream.received).toHaveLength(1);
  });

  it('causes a 500 while it is down, and serves again after its restart', async () => {
    const { ask, stream, upstream, works } = fixture();
    await works();
    await upstream.stop();
    const plain = await ask();
    expect([plain.status, errorOf(plain.text).message]).toEqual([500, expect.stringMatching(/Connection error/)]);
    const streamed = await stream();
    await streamed.ended;
    expect([streamed.status, errorOf(streamed.text).type]).toEqual([500, 'internal_server_error']);
    await upstream.restart();
    await works();
  });

  it('fails only requests in flight if it restarts under load', async () => {
    const { ask, upstream, works } = fixture();
    await Promise.all(Array.from({ length: 20 }, works));
    const hanging = Array.from({ length: 20 }, () => ask({ hang: true }));
    await upstream.waitForRequest(
      () => upstream.received.filter(({ outcome, body }) => outcome === 'open' && body !== undefined).length === 20,
    );
    await upstream.stop();
    for (const { status, text } of await Promise.all(hanging)) {
      expect([status, errorOf(text).code]).toEqual([500, '500']);
    }
    await upstream.restart();
    await Promise.all(Array.from({ length: 20 }, works));
  });
});
