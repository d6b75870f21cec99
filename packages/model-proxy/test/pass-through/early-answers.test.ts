import { describe, expect, it } from '@jest/globals';
import { exchangeBytes } from '../harness/call.js';
import { passTime, stopTime } from '../harness/stopped-time.js';
import { useRawProxy } from './fixture.js';

describe('a client that stops its upload because the upstream answered', () => {
  stopTime({ timers: 'all' });
  const fixture = useRawProxy();

  it.each([
    ['in chunks', {}, 'transfer-encoding: chunked', '\r\n9\r\ntoo large\r\n0\r\n\r\n'],
    ['with a length', { 'content-length': '9' }, 'content-length: 9', '\r\n\r\ntoo large'],
  ])('gets a whole answer %s', async (_kind, headers, framing, end) => {
    const { proxy, upstream } = fixture();
    upstream.intercept = (_request, response) => {
      response.writeHead(413, headers).end('too large');
      return true;
    };
    const connection = { isClosed: false };
    const head = 'POST /openai/v1/files HTTP/1.1\r\nhost: a\r\ncontent-type: a/b\r\ncontent-length: 100000\r\n\r\n';
    const answer = exchangeBytes(proxy.port, Buffer.from(`${head}a part`)).finally(() => (connection.isClosed = true));
    while (!connection.isClosed) await passTime(500);
    const text = await answer;
    expect(text.toLowerCase()).toContain(framing);
    expect(text.endsWith(end)).toBe(true);
  });
});
