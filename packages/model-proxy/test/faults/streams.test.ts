/** Streams with faults of the upstream. */
import { request, type IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { SAMPLE_MODEL } from '../../sample-upstream/server.js';
import { eventData } from '../harness/call.js';
import { ANSWERED_MODEL, PUBLIC_MODEL } from '../harness/proxy.js';
import { done, event, type Step } from '../harness/script.js';
import { passTime, stopTime } from '../harness/stopped-time.js';
import { stableCount, waitFor } from '../harness/wait.js';
import { errorOf, useProxy } from './fixture.js';

const chunk = (content: string) =>
  `{"id":"1","object":"chat.completion.chunk","model":"${SAMPLE_MODEL}","choices":[{"index":0,"delta":{"content":${JSON.stringify(content)}}}]}`;
const answered = (content: string) => chunk(content).replace(`"${SAMPLE_MODEL}"`, `"${ANSWERED_MODEL}"`);
const end: Step = { end: true };

describe('a stream', () => {
  stopTime();
  const fixture = useProxy({ params: ['stream_timeout: 1', 'idle_timeout: 1'] });

  it('in chunks of single bytes arrives unchanged, except for the model', async () => {
    const text = `: ping\n\ndata: ${chunk('grüße 😀')}\r\n\r\nevent: x\nid: 7\nretry: 10\ndata:${chunk('b')}\n\ndata: [DONE]\n\n`;
    const bytes = [...Buffer.from(text)].map((byte): Step => ({ base64: Buffer.from([byte]).toString('base64') }));
    const answer = await fixture().stream(...bytes, end);
    expect(await answer.ended).toBe('whole');
    expect(answer.text).toBe(text.replaceAll(`"${SAMPLE_MODEL}"`, `"${ANSWERED_MODEL}"`));
  });

  it('is forwarded event by event, not at its end', async () => {
    const { upstream, stream } = fixture();
    const answer = await stream(event(chunk('a')), { gate: 'second' }, event(chunk('b')), { gate: 'third' }, done, end);
    const arrived = (count: number) =>
      waitFor(
        () => (eventData(answer.text).length >= count ? eventData(answer.text) : undefined),
        () => `${count} events did not arrive: ${answer.text}`,
      );
    expect(await arrived(1)).toEqual([answered('a')]);
    upstream.gates.open('second');
    expect(await arrived(2)).toEqual([answered('a'), answered('b')]);
    upstream.gates.open('third');
    expect(await answer.ended).toBe('whole');
  });

  for (const cut of ['close', 'reset'] as const) {
    it(`with a break (${cut}) between events ends with an error event after all received events`, async () => {
      const answer = await fixture().stream(event(chunk('a')), event(chunk('b')), { cut });
      await answer.ended;
      const data = eventData(answer.text);
      expect(data.slice(0, 2)).toEqual([answered('a'), answered('b')]);
      expect(errorOf(data[2] ?? '')).toMatchObject({ code: '500', type: 'internal_server_error' });
      expect(data).toHaveLength(3);
      expect(answer.text).not.toContain('[DONE]');
      await fixture().works();
    });

    it(`with a break (${cut}) inside an event does not forward the incomplete event`, async () => {
      const answer = await fixture().stream(event(chunk('a')), { write: `data: ${chunk('b').slice(0, -9)}` }, { cut });
      await answer.ended;
      const data = eventData(answer.text);
      expect(data[0]).toBe(answered('a'));
      expect(data.slice(1).map((text) => errorOf(text).code)).toEqual(['500']);
    });

    it(`with a break (${cut}) before its first byte becomes an error with status 500`, async () => {
      const answer = await fixture().stream({ head: 200, headers: { 'content-type': 'text/event-stream' } }, { cut });
      expect(await answer.ended).toBe('whole');
      expect(answer.status).toBe(500);
      expect(answer.headers['content-type']).toMatch(/^application\/json/);
      expect(errorOf(answer.text).type).toBe('internal_server_error');
    });
  }

  it('is forwarded unchanged if it ends with a finish_reason but without [DONE]', async () => {
    const last = chunk('a').replace('}]}', ',"finish_reason":"stop"}]}');
    const answer = await fixture().stream(event(last), end);
    expect(await answer.ended).toBe('whole');
    expect(answer.text).toBe(`data: ${last.replace(SAMPLE_MODEL, ANSWERED_MODEL)}\n\n`);
  });

  it('gets an error event if the upstream ends it properly, but in the middle of an answer', async () => {
    const answer = await fixture().stream(event(chunk('a')), end);
    expect(await answer.ended).toBe('whole');
    const [first, error = ''] = eventData(answer.text);
    expect([first, errorOf(error).code]).toEqual([answered('a'), '500']);
  });

  it('loses nothing if it ends without an empty line after its last event', async () => {
    const answer = await fixture().stream(event(chunk('a')), { write: 'data: [DONE]' }, end);
    expect(await answer.ended).toBe('whole');
    expect(answer.text).toBe(`data: ${answered('a')}\n\ndata: [DONE]`);
  });

  it('ends with an error event with code 408 if the upstream is silent, and the upstream request ends', async () => {
    const { upstream, stream } = fixture();
    const answer = await stream(event(chunk('a')), { hang: true });
    await waitFor(
      () => (eventData(answer.text).length > 0 ? true : undefined),
      () => 'the first event did not arrive',
    );
    await passTime(1200);
    await answer.ended;
    const [first, error = ''] = eventData(answer.text);
    expect(first).toBe(answered('a'));
    expect(errorOf(error)).toMatchObject({ code: '408' });
    expect(await upstream.ended(upstream.last)).toBe('aborted');
  });

  it('becomes a 408 in JSON if it never starts, and the upstream request ends', async () => {
    const { upstream, stream } = fixture();
    const answering = stream({ hang: true });
    await upstream.waitForRequest(({ body }) => body !== undefined);
    await passTime(1200);
    const answer = await answering;
    expect(await answer.ended).toBe('whole');
    expect([answer.status, errorOf(answer.text).type]).toEqual([408, 'timeout_error']);
    expect(await upstream.ended(upstream.last)).toBe('aborted');
  });

  it('may last longer than the timeout if each event is in time', async () => {
    const { upstream, stream } = fixture();
    const texts = ['0', '1', '2', '3'];
    const answer = await stream(...texts.flatMap((text) => [event(chunk(text)), { gate: text }]), done, end);
    for (const text of texts) {
      await waitFor(
        () => (eventData(answer.text).length > Number(text) ? true : undefined),
        () => `event ${text} did not arrive: ${answer.text}`,
      );
      await passTime(800);
      upstream.gates.open(text);
    }
    expect(await answer.ended).toBe('whole');
    expect(eventData(answer.text)).toEqual([...texts.map(answered), '[DONE]']);
  });

  it('is forwarded unchanged if its events are not JSON', async () => {
    const garbage =
      'data: {"model": "x\n\ndata: <html>\n\nnonsense without a colon\n\ndata: \n\n\n\n:\n\ndata: [DONE]\n\n';
    const answer = await fixture().stream({ write: garbage }, end);
    expect(await answer.ended).toBe('whole');
    expect(answer.text).toBe(garbage);
  });

  it('is forwarded with the same bytes where it is binary', async () => {
    const bytes = Buffer.from([0x64, 0x61, 0x74, 0x61, 0x3a, 0xff, 0xfe, 0x00, 0xc3, 0x28, 0x0a, 0x0a]);
    const answer = await fixture().stream({ base64: bytes.toString('base64') }, event(chunk('a')), done, end);
    expect(await answer.ended).toBe('whole');
    const rest = Buffer.from(`data: ${answered('a')}\n\ndata: [DONE]\n\n`);
    expect(Buffer.concat(answer.pieces).equals(Buffer.concat([bytes, rest]))).toBe(true);
  });

  it('with an event of 5 MB arrives complete', async () => {
    const answer = await fixture().stream(event(chunk('x'.repeat(5_000_000))), done, end);
    expect(await answer.ended).toBe('whole');
    expect(answer.text).toBe(`data: ${answered('x'.repeat(5_000_000))}\n\ndata: [DONE]\n\n`);
  });

  it('is forwarded with an error among its events', async () => {
    const error = '{"error":{"message":"out of memory","type":"server_error","param":null,"code":"oom"}}';
    const answer = await fixture().stream(event(chunk('a')), event(error), end);
    expect(await answer.ended).toBe('whole');
    expect(eventData(answer.text)).toEqual([answered('a'), error]);
  });

  it('pauses while the client does not read, and the proxy does not store it', async () => {
    const { upstream, proxy, works } = fixture();
    // The stream has 150 MB: more than the kernel buffers of two connections can store, which is up to 37 MB each.
    const piece = { write: `data: ${chunk('y'.repeat(100_000))}\n\n`, times: 1500 };
    const script: readonly Step[] = [piece, done, end];
    const sent = request(`${proxy.url}/v1/chat/completions`, {
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json' },
    });
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      sent.once('response', resolve).once('error', reject);
      sent.end(JSON.stringify({ model: PUBLIC_MODEL, stream: true, messages: [], script }));
    });
    const written = () => upstream.last.sent.reduce((sum, bytes) => sum + bytes.length, 0);
    expect(await stableCount(written, () => 'the upstream continues to write')).toBeLessThan(130_000_000);
    // This is longer than the idle timeout, but the upstream did not cause the pause, so the stream must not end.
    await passTime(2000);
    let length = 0;
    for await (const bytes of response as AsyncIterable<Buffer>) length += bytes.length;
    expect(length).toBe(1500 * Buffer.byteLength(piece.write.replace(SAMPLE_MODEL, ANSWERED_MODEL)) + 14);
    await works();
  });
});
