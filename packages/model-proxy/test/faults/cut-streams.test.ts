/** Streams that break off at any byte: the usage of the key, and the slots of key and deployment, stay exact. */
import { once } from 'node:events';
import { request, type ClientRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { dayOf } from '../../src/store/usage.js';
import { waitFor } from '../harness/wait.js';
import { serveKeys, type KeyedApp } from '../keys/fixture.js';
import { seededRandom } from '../../../daemon/test/support/random.js';
import { readUsage } from '../store/samples.js';

const STREAMS = 1000;
const SLOTS = 50;

const chunk = (more: object) => `data: ${JSON.stringify({ id: 'x', model: 'served/model', ...more })}\n\n`;
const words = ['a', 'b', 'ü', 'd'].map((content) => chunk({ choices: [{ index: 0, delta: { content } }] }));
const last = chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
const usage = { prompt_tokens: 700, completion_tokens: 300, total_tokens: 1000 };
const events = [...words, last, chunk({ choices: [], usage }), 'data: [DONE]\n\n'];
const whole = Buffer.from(events.join(''));
const body = JSON.stringify({ model: 'public', stream: true, stream_options: { include_usage: true }, messages: [] });

/** Returns the number of events that are complete in the first bytes of the stream. */
function eventsIn(bytes: number): number {
  let end = 0;
  return events.filter((text) => (end += Buffer.byteLength(text)) <= bytes).length;
}

/**
 * Returns the tokens that the proxy counts for a stream that ended after some bytes. If the usage has not arrived, the
 * proxy estimates the tokens: one for every 4 bytes of the request, and one for each complete event. It counts none
 * if no event is complete.
 */
function tokensIn(bytes: number): number {
  const complete = eventsIn(bytes);
  if (complete >= events.length - 1) return usage.total_tokens;
  return complete === 0 ? 0 : Math.ceil(body.length / 4) + complete;
}

let app: KeyedApp;
beforeEach(async () => {
  app = await serveKeys({
    deployment: { maxParallelRequests: SLOTS, tpm: 1_000_000_000 },
    settings: { countsUsage: true },
  });
});
afterEach(() => app.close());

/** Sends a streamed request. @param id request id; `app.answering` reads from it how to answer. */
function ask(key: string, id: string): ClientRequest {
  const headers = { authorization: `Bearer ${key}`, 'x-request-id': id };
  const sent = request(`${app.url}/v1/chat/completions`, { method: 'POST', agent: false, headers });
  sent.on('error', () => undefined);
  sent.end(body);
  return sent;
}

describe('1000 streams that break off at random bytes', () => {
  it('free their slots; the proxy counts the reported usage, or an estimate if it did not arrive', async () => {
    const key = await app.create({ max_parallel_requests: SLOTS, tpm_limit: 1_000_000_000 });
    const random = seededRandom(1);
    /** Callbacks by request id. Each is called when the upstream has written its bytes. */
    const written = new Map<string, () => void>();
    app.answering = ({ headers }, response) => {
      const [side, bytes] = String(headers['x-request-id']).split('-');
      const count = Number(bytes);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      response.write(whole.subarray(0, Math.max(1, count)), () => {
        written.get(String(headers['x-request-id']))?.();
        if (side === 'upstream') response.socket?.end();
      });
    };
    let expected = 0;
    const one = async (index: number): Promise<void> => {
      const bytes = 1 + random.integer(whole.length);
      const side = index % 2 === 0 ? 'upstream' : 'client';
      expected += tokensIn(bytes);
      const id = `${side}-${bytes}-${index}`;
      const isWritten = new Promise<void>((resolve) => void written.set(id, resolve));
      const sent = ask(key, id);
      if (eventsIn(bytes) === 0 && side === 'client') {
        await isWritten;
        sent.destroy();
        return;
      }
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      let text = '';
      response.on('data', (piece: Buffer) => (text += piece.toString('latin1')));
      response.on('error', () => undefined);
      if (side === 'upstream') {
        await once(response, 'close');
        return;
      }
      while (text.split('\n\n').length - 1 < eventsIn(bytes)) await once(response, 'data');
      sent.destroy();
    };
    let next = 0;
    const worker = async (): Promise<void> => {
      while (next < STREAMS) {
        next += 1;
        await one(next - 1);
      }
    };
    // The proxy frees the slot of a disconnected client a moment later, so the test uses only half of the slots.
    await Promise.all(Array.from({ length: SLOTS / 2 }, worker));

    const day = dayOf(app.clock.ms);
    const rows = await waitFor(
      async () => {
        const found = (await readUsage(app.store, day, day)).filter(({ subject }) => subject === 'key');
        return found[0]?.requests === STREAMS ? found : undefined;
      },
      () => 'the usage does not contain all requests',
    );
    expect(rows.map(({ totalTokens }) => totalTokens)).toEqual([expected]);

    const held: ServerResponse[] = [];
    app.answering = (_asked, response) => void held.push(response);
    const holding = Array.from({ length: SLOTS }, (_, index) => ask(key, `hold-${index}`));
    await waitFor(
      () => (held.length === SLOTS ? true : undefined),
      () => `${held.length} of ${SLOTS} slots are free`,
    );
    // Now all slots of the key and of the deployment are in use, so also another key gets 429.
    for (const limited of [key, await app.create()]) expect((await app.chat(limited)).status).toBe(429);
    for (const sent of holding) sent.destroy();
  });
});
