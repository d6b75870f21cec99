/** Clients that close their connection: the upstream must stop generating. */
import { request } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { call } from '../harness/call.js';
import { PUBLIC_MODEL } from '../harness/proxy.js';
import { event, type Step } from '../harness/script.js';
import { stopTime } from '../harness/stopped-time.js';
import { waitFor } from '../harness/wait.js';
import { messages, useProxy } from './fixture.js';

const ROUNDS = 5;

describe('a client that closes its connection', () => {
  stopTime({ timers: 'all' });
  const fixture = useProxy();

  /** Sends a request, which the test can close. `answered` resolves at the first bytes of the answer's body. */
  const send = (script: readonly Step[], stream: boolean, id = 'leaver') => {
    const { proxy } = fixture();
    const headers = { 'content-type': 'application/json', 'x-request-id': id };
    const sent = request(`${proxy.url}/v1/chat/completions`, { method: 'POST', agent: false, headers });
    const answered = new Promise<void>((resolve) => {
      sent.once('response', (response) => {
        response.once('error', () => undefined);
        response.once('data', () => resolve());
      });
    });
    sent.on('error', () => undefined);
    sent.end(JSON.stringify({ model: PUBLIC_MODEL, messages, stream, script }));
    return { sent, answered };
  };

  for (const [moment, script, stream, afterFirstByte] of [
    ['before the first token of a stream', [{ hang: true }], true, false],
    ['within a stream', [event('{"model":"m"}'), { hang: true }], true, true],
    ['before a plain answer', [{ hang: true }], false, false],
  ] as const) {
    for (const reset of [false, true]) {
      it(`${moment} (${reset ? 'RST' : 'FIN'}) ends the upstream request, without a timer`, async () => {
        const { upstream } = fixture();
        for (let round = 0; round < ROUNDS; round++) {
          upstream.forget();
          const { sent, answered } = send(script, stream);
          const received = await upstream.waitForRequest(({ body }) => body !== undefined);
          if (afterFirstByte) await answered;
          if (reset) sent.socket?.resetAndDestroy();
          else sent.destroy();
          expect(await upstream.ended(received)).toBe('aborted');
        }
      });
    }
  }

  it('while it sends its body causes no request to the upstream', async () => {
    const { proxy, upstream, works } = fixture();
    for (let round = 0; round < 20; round++) {
      const headers = { 'content-type': 'application/json', 'content-length': '100000' };
      const sent = request(`${proxy.url}/v1/chat/completions`, { method: 'POST', agent: false, headers });
      sent.on('error', () => undefined);
      await new Promise<void>((resolve) => {
        sent.write(JSON.stringify({ model: PUBLIC_MODEL, messages }), () => resolve());
      });
      sent.destroy();
    }
    await works();
    expect(upstream.received).toHaveLength(1);
  });

  it('in a crowd of clients affects no other client', async () => {
    const { upstream, stream, works } = fixture();
    const crowd = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        stream(event('{"model":"m","n":1}'), { gate: 'crowd' }, event(`{"model":"m","n":${index}}`), { end: true }),
      ),
    );
    const leaving = crowd.filter((_, index) => index % 2 === 0);
    const staying = crowd.filter((_, index) => index % 2 === 1);
    for (const answer of leaving) answer.leave();
    await waitFor(
      () =>
        upstream.received.filter(({ outcome }) => outcome === 'aborted').length === leaving.length ? true : undefined,
      () => 'the upstream requests do not end',
    );
    upstream.gates.open('crowd');
    for (const answer of staying) expect(await answer.ended).toBe('whole');
    await works();
  });

  it('is logged with status 499 and without an error, and leaves no request in flight', async () => {
    const { proxy, upstream, works } = fixture();
    const { sent } = send([{ hang: true }], true, 'who-leaves');
    const received = await upstream.waitForRequest(({ body }) => body !== undefined);
    sent.destroy();
    await upstream.ended(received);
    await works();
    // The proxy logs a request only after the request has ended, so this line can come later.
    const line = await waitFor(
      () => proxy.logged().find((text) => text.includes(' who-leaves ')),
      () => `no log line of the client: ${proxy.logged().join('\n')}`,
    );
    expect(line).toMatch(/ POST \/v1\/chat\/completions 499 .* gone=true/);
    // The only request in flight is this request for the metrics.
    const { text } = await call(`${proxy.url}/metrics`, { method: 'GET' });
    expect(text).toMatch(/^litellm_in_flight_requests 1$/m);
    expect(proxy.logged().filter((line) => /\berror\b/i.test(line.slice(0, 60)))).toEqual([]);
  });
});
