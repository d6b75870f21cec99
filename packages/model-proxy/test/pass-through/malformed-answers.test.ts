/**
 * Tests unusual answers to raw requests and WebSocket handshakes. The proxy rejects invalid ones with 500, and masks
 * the key of the deployment in the others.
 */
import { describe, expect, it } from '@jest/globals';
import { errorOf } from '../faults/fixture.js';
import { call, exchangeBytes } from '../harness/call.js';
import { startTestProxy } from '../harness/proxy.js';
import { closingAfterEach } from '../upstream/closing.js';
import { HEAD_END, ScriptedServer } from '../upstream/scripted-server.js';

const closing = closingAfterEach();
const KEY = 'sk-upstream-0123456789';

/**
 * Starts a proxy. Its upstream answers `/good` with a valid answer, and all other requests with the given
 * bytes. After each answer, the upstream closes the connection.
 */
async function proxyBefore(bytes: string) {
  const server = closing(
    await ScriptedServer.start(({ socket, text }) => {
      if (!text.includes(HEAD_END)) return;
      const isGood = text.startsWith('GET /v1/good');
      socket.end(isGood ? 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ngood' : bytes, 'latin1');
    }),
  );
  const params = `{model: openai/m, api_base: '${server.apiBase}', api_key: ${KEY}, use_in_pass_through: true}`;
  const proxy = closing(await startTestProxy(`model_list: [{model_name: m, litellm_params: ${params}}]\n`));
  const get = (path: string) => call(proxy.url + path, { method: 'GET' });
  const works = async () => (await get('/openai/v1/good')).text;
  return { proxy, get, works };
}

const handshake = Buffer.from(
  [
    'GET /v1/realtime?model=m HTTP/1.1',
    'host: x',
    'connection: Upgrade',
    'upgrade: websocket',
    'sec-websocket-version: 13',
    `sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==${HEAD_END}`,
  ].join('\r\n'),
);

describe('an upstream of raw requests', () => {
  it.each([
    ['the status 000', 'HTTP/1.1 000 X\r\n\r\n', '(status 000)'],
    ['the status 099', 'HTTP/1.1 099 X\r\ncontent-length: 0\r\n\r\n', '(status 099)'],
    ['the status 600', 'HTTP/1.1 600 X\r\ncontent-length: 2\r\n\r\n{}', '(status 600)'],
    ['the status 999', 'HTTP/1.1 999 X\r\n\r\n', '(status 999)'],
    [
      'with an upgrade',
      'HTTP/1.1 101 X\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\r\n',
      '(a 101 without a request for an upgrade)',
    ],
    ['with 1000 interim answers', 'HTTP/1.1 103 X\r\n\r\n'.repeat(1000), 'The head of the answer of'],
  ])(
    'causes a 500 with the reason if it answers %s, and the next request is answered',
    async (_what, bytes, message) => {
      const { get, works } = await proxyBefore(bytes);
      const answer = await get('/openai/v1/x');
      expect([answer.status, errorOf(answer.text).message]).toEqual([500, expect.stringContaining(message)]);
      expect(await works()).toBe('good');
    },
  );

  it.each([
    ['an answer', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n'],
    ['an error', 'HTTP/1.1 401 No\r\ncontent-length: 2\r\n'],
    ['a handshake', 'HTTP/1.1 101 X\r\nupgrade: websocket\r\nconnection: Upgrade\r\n'],
  ])('has its key masked if it repeats the key in the headers of %s', async (what, head) => {
    const { proxy, get } = await proxyBefore(`${head}x-echo: Bearer ${KEY}\r\nlocation: /?key=${KEY}\r\n\r\nok`);
    const headers =
      what === 'a handshake'
        ? await exchangeBytes(proxy.port, handshake)
        : JSON.stringify((await get('/openai/v1/x')).headers);
    expect(headers).toMatch(/x-echo\W+Bearer \*{4}/);
    expect(headers).not.toContain(KEY);
  });

  it('may send interim answers first', async () => {
    const bytes = `${'HTTP/1.1 103 X\r\nlink: </x>\r\n\r\n'.repeat(3)}HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok`;
    const { get } = await proxyBefore(bytes);
    expect((await get('/openai/v1/x')).text).toBe('ok');
  });
});

describe('an upstream of WebSockets', () => {
  it.each([
    ['the status 000', 'HTTP/1.1 000 X\r\n\r\n', '(status 000)'],
    ['the status 600', 'HTTP/1.1 600 X\r\n\r\n', '(status 600)'],
    [
      'with an upgrade to HTTP/2',
      'HTTP/1.1 101 X\r\nupgrade: h2c\r\nconnection: Upgrade\r\n\r\n',
      'an upgrade to another protocol',
    ],
    ['with a 101 that upgrades to nothing', 'HTTP/1.1 101 X\r\n\r\n', '(status 101)'],
    ['with 1000 interim answers', 'HTTP/1.1 103 X\r\n\r\n'.repeat(1000), 'The head of the answer of'],
  ])(
    'causes a 500 with the reason if it answers %s, and the next request is answered',
    async (_what, bytes, message) => {
      const { proxy, works } = await proxyBefore(bytes);
      const answer = await exchangeBytes(proxy.port, handshake);
      expect(answer).toMatch(/^HTTP\/1\.1 500 /);
      expect(answer).toContain(message);
      expect(await works()).toBe('good');
    },
  );

  it('may reject with a long body, which the client gets completely', async () => {
    const page = 'x'.repeat(1_000_000);
    const { proxy } = await proxyBefore(`HTTP/1.1 403 No\r\ncontent-length: ${page.length}\r\n\r\n${page}`);
    const answer = await exchangeBytes(proxy.port, handshake);
    expect([answer.slice(0, 13), answer.endsWith(page)]).toEqual(['HTTP/1.1 403 ', true]);
  });

  it('may use header names such as __proto__', async () => {
    const head =
      'HTTP/1.1 101 X\r\nupgrade: websocket\r\nconnection: Upgrade\r\n__proto__: a\r\nconstructor: b\r\n\r\n';
    const { proxy } = await proxyBefore(head);
    const answer = await exchangeBytes(proxy.port, handshake);
    expect(answer).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n[^]*\r\n__proto__: a\r\nconstructor: b\r\n/);
  });
});
