/**
 * Upstreams that send long heads: clients must be able to read the answer, and the metrics count
 * dropped headers.
 */
import { describe, expect, it } from '@jest/globals';
import { call } from '../harness/call.js';
import { startTestProxy } from '../harness/proxy.js';
import { waitFor } from '../harness/wait.js';
import { closingAfterEach } from '../upstream/closing.js';
import { answering, ScriptedServer } from '../upstream/scripted-server.js';
import { messages } from './fixture.js';

const closing = closingAfterEach();
const MAX_HEAD_BYTES = 4096;

/**
 * Sends a request to a proxy whose upstream answers with the given header lines. Then waits for the metrics, because
 * the proxy counts a request after its answer.
 * @returns the answer, and the number of dropped headers in the metrics.
 */
async function ask(lines: readonly string[], { status = '200 OK', body = '{}', path = '/v1/chat/completions' } = {}) {
  const head = [`HTTP/1.1 ${status}`, ...lines, `content-length: ${body.length}`].join('\r\n');
  const server = closing(await ScriptedServer.start(answering(() => `${head}\r\n\r\n${body}`)));
  const params = `{model: openai/m, api_base: '${server.apiBase}', api_key: k, use_in_pass_through: true}`;
  const proxy = closing(await startTestProxy(`model_list: [{model_name: m, litellm_params: ${params}}]\n`));
  const answer = await call(proxy.url + path, { body: { model: 'm', messages, input: 'Hi' } });
  const text = await waitFor(
    async () => {
      const { text: metrics } = await call(`${proxy.url}/metrics`, { method: 'GET' });
      return /^litellm_proxy_total_requests_metric_total\{/m.test(metrics) ? metrics : undefined;
    },
    () => `${path} is not counted in /metrics`,
  );
  const dropped = /^rackless_dropped_response_headers_total\{.*\} (\d+)$/m.exec(text)?.[1] ?? '0';
  return { ...answer, dropped: Number(dropped) };
}

/** Returns the approximate size of a head: JSON needs 2 bytes more for each header than HTTP. */
const headBytes = (headers: object) => JSON.stringify(headers).length;
const json = 'content-type: application/json';

describe('a head of 60 KB', () => {
  it.each([
    ['of a chat', { type: json }],
    ['of an error', { type: json, status: '429 Too Many', body: '{"error":{"message":"slow"}}' }],
    ['of audio', { type: 'content-type: audio/mpeg', path: '/v1/audio/speech', body: 'sound' }],
  ])('%s loses its longest header, and the metric counts it', async (_what, { type, ...options }) => {
    const lines = [type, `x-long: ${'x'.repeat(60_000)}`, 'x-ratelimit-remaining-requests: 9', 'x-short: 1'];
    const { headers, dropped } = await ask(lines, options);
    expect([headBytes(headers) < MAX_HEAD_BYTES, dropped]).toEqual([true, 1]);
    expect(headers).toMatchObject({ 'llm_provider-x-short': '1', 'x-ratelimit-remaining-requests': '9' });
    expect(headers['llm_provider-x-long']).toBeUndefined();
  });

  it('with 900 short headers loses more than 800 of them', async () => {
    const many = Array.from({ length: 900 }, (_, index) => `x-ratelimit-${index}: ${'9'.repeat(40)}`);
    const { status, headers, dropped } = await ask([json, ...many], { status: '429 Too Many' });
    expect([status, headBytes(headers) < MAX_HEAD_BYTES + 2048, dropped > 800]).toEqual([429, true, true]);
  });

  it('reaches the client with application/json instead of a long content type', async () => {
    const { status, headers, dropped } = await ask([`${json}; x=${'x'.repeat(60_000)}`]);
    expect([status, headers['content-type'], dropped]).toEqual([200, 'application/json', 1]);
  });
});

describe('a raw answer', () => {
  it.each([14_000, 60_000])('loses a header of %d bytes, and the metric counts it', async (length) => {
    const lines = ['content-type: text/plain', 'etag: "1"', `x-long: ${'x'.repeat(length)}`, 'x-b: 2'];
    const { headers, dropped, text } = await ask(lines, { path: '/openai/v1/x', body: 'raw' });
    expect([headBytes(headers) < MAX_HEAD_BYTES, text]).toEqual([true, 'raw']);
    expect(headers).toMatchObject({ etag: '"1"', 'content-type': 'text/plain', 'x-b': '2' });
    expect([headers['x-long'], dropped]).toEqual([undefined, 1]);
  });
});
