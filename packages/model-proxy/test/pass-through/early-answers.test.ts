import { connect } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { passTime, stopTime } from '../harness/stopped-time.js';
import { waitFor } from '../harness/wait.js';
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
    const head = 'POST /openai/v1/files HTTP/1.1\r\nhost: a\r\ncontent-type: a/b\r\ncontent-length: 100000\r\n\r\n';
    const client = connect(proxy.port, '127.0.0.1');
    let text = '';
    client.setEncoding('latin1').on('data', (part: string) => (text += part));
    client.write(`${head}a part`);
    await waitFor(
      () => (text.includes('too large') ? true : undefined),
      () => `the answer has not arrived: ${text}`,
    );
    // The proxy waits for the rest of the upload before it ends the answer and closes the connection.
    while (!client.closed) await passTime(500);
    expect(text.toLowerCase()).toContain(framing);
    expect(text.endsWith(end)).toBe(true);
  });
});
