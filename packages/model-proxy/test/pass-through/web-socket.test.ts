import { once } from 'node:events';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { WebSocket } from 'ws';
import { call, exchangeBytes } from '../harness/call.js';
import { startTestProxy } from '../harness/proxy.js';
import { passTime, stopTime } from '../harness/stopped-time.js';
import { stableCount, waitFor } from '../harness/wait.js';
import { configOf, entry, useRawProxy } from './fixture.js';
import { RAW_KEY, refuseUpgrade } from './raw-upstream.js';

stopTime({ timers: 'all' });

const MASTER = 'sk-master-0123456789';
/** The text that a server appends to the key of a handshake (RFC 6455 §1.3). */
const WEBSOCKET_ID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const KEY_LINE = 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
const VERSION_LINE = 'sec-websocket-version: 13\r\n';
const MAX_PAYLOAD_BYTES = 64 * 1024 * 1024;
const fixture = useRawProxy({
  config: (upstream) =>
    configOf(
      upstream,
      [entry('gpt', 'openai/gpt-upstream', upstream), entry('oss', 'hosted_vllm/org/oss', upstream)],
      ['  idle_timeout: 600', 'general_settings:', `  master_key: ${MASTER}`],
    ),
});

interface Opening {
  readonly protocols?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly port?: number;
}

const withKey = { authorization: `Bearer ${MASTER}` };

function opening(path: string, { protocols = [], headers = withKey, port = fixture().proxy.port }: Opening = {}) {
  return new WebSocket(`ws://127.0.0.1:${port}${path}`, [...protocols], { headers, maxPayload: MAX_PAYLOAD_BYTES });
}

async function opened(path = '/v1/realtime?model=gpt', options: Opening = {}): Promise<WebSocket> {
  const socket = opening(path, options);
  await once(socket, 'open');
  return socket;
}

/** Returns the answer to a rejected handshake. */
async function refused(path: string, options: Opening = {}) {
  const socket = opening(path, options);
  socket.on('error', () => undefined);
  // The package `ws` documents these arguments.
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, import('node:http').IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer); // no encoding is set
  return { status: response.statusCode, headers: response.headers, text: Buffer.concat(chunks).toString() };
}

async function message(socket: WebSocket): Promise<{ data: Buffer; isBinary: boolean }> {
  const [data, isBinary] = (await once(socket, 'message')) as [Buffer, boolean]; // the documented arguments of this event
  return { data, isBinary };
}

async function closed(socket: WebSocket): Promise<{ code: number; reason: string }> {
  socket.on('error', () => undefined);
  const [code, reason] = (await once(socket, 'close')) as [number, Buffer]; // the documented arguments of this event
  return { code, reason: reason.toString() };
}

/** Returns the upstream's end of the last WebSocket. */
const upstreamEnd = () =>
  waitFor(
    () => fixture().upstream.webSockets.at(-1),
    () => 'the upstream has no WebSocket',
  );

/** Answers a handshake as an upstream, without a library: the socket stays as the test sets it. */
function acceptHandshake({ headers }: IncomingMessage, socket: Duplex): void {
  const accept = createHash('sha1').update(`${headers['sec-websocket-key'] ?? ''}${WEBSOCKET_ID}`);
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n' +
      `sec-websocket-accept: ${accept.digest('base64')}\r\n\r\n`,
  );
}

const lineOf = (part: string) =>
  waitFor(
    () =>
      fixture()
        .proxy.logged()
        .find((line) => line.includes(part)),
    () => `no line with ${part}`,
  );

describe('a WebSocket', () => {
  it('transfers text, binary and large frames in both directions, and the close with its code', async () => {
    const socket = await opened();
    socket.send('hello');
    expect(await message(socket)).toEqual({ data: Buffer.from('hello'), isBinary: false });
    const large = Buffer.alloc(1_048_576, 7);
    for (let round = 0; round < 5; round += 1) {
      socket.send(large);
      const back = await message(socket);
      expect([back.isBinary, back.data.equals(large)]).toEqual([true, true]);
    }
    const atUpstream = closed(await upstreamEnd());
    socket.close(4001, 'enough');
    expect(await closed(socket)).toEqual({ code: 4001, reason: 'enough' });
    expect(await atUpstream).toEqual({ code: 4001, reason: 'enough' });
  });

  it('reaches /v1/responses of the upstream of its model', async () => {
    const socket = await opened('/v1/responses?model=gpt');
    socket.send('{"type":"response.create"}');
    expect((await message(socket)).data.toString()).toBe('{"type":"response.create"}');
    expect(fixture().upstream.last.url).toBe('/v1/responses?model=gpt-upstream');
    socket.close();
  });

  it('reaches /v1/responses of the upstream for raw requests if the URL has no model', async () => {
    const socket = await opened('/v1/responses?custom_llm_provider=openai');
    socket.send('{"type":"response.create","model":"gpt-upstream"}');
    expect((await message(socket)).data.toString()).toBe('{"type":"response.create","model":"gpt-upstream"}');
    expect(fixture().upstream.last.url).toBe('/v1/responses');
    socket.close();
    expect((await refused('/v1/realtime')).status).toBe(400);
  });

  it("reaches the path of Azure's responses", async () => {
    const { upstream } = fixture();
    const azure = entry('gpt', 'azure/deployed', upstream).replace('/v1\n', '\n');
    const proxy = await startTestProxy(configOf(upstream, [azure], ['general_settings:', `  master_key: ${MASTER}`]));
    try {
      // This upstream rejects Azure's header for the key.
      expect((await refused('/v1/responses?model=gpt', { port: proxy.port })).status).toBe(401);
      expect(upstream.last.url).toBe('/openai/v1/responses?model=deployed&api-version=preview');
    } finally {
      await proxy.close();
    }
  });

  it('can be closed by the upstream with its code', async () => {
    const socket = await opened();
    (await upstreamEnd()).close(1011, 'session expired');
    expect(await closed(socket)).toEqual({ code: 1011, reason: 'session expired' });
  });

  it('transfers pings, and frames before the first frame of the other side', async () => {
    const { upstream } = fixture();
    upstream.onWebSocket = (socket) => socket.send('{"type":"session.created"}');
    const socket = opening('/realtime?model=gpt');
    expect((await message(socket)).data.toString()).toBe('{"type":"session.created"}');
    socket.ping('p');
    expect((await once(socket, 'pong'))[0]).toEqual(Buffer.from('p'));
    socket.terminate();
  });

  it.each([
    ['/v1/realtime?model=gpt&x=a%20b', '/v1/realtime?model=gpt-upstream&x=a%20b'],
    ['/realtime?model=oss', '/v1/realtime?model=org%2Foss'],
    ['/v1/realtime?intent=transcription', '/v1/realtime?intent=transcription'],
    ['/openai/v1/realtime?model=gpt', '/v1/realtime?model=gpt-upstream'],
    ['/openai/realtime?model=gpt-realtime', '/v1/realtime?model=gpt-realtime'],
    ['/vllm/v1/realtime?model=oss', '/v1/realtime?model=org%2Foss'],
  ])('to %s requests %s from the upstream, with the key of its deployment', async (path, url) => {
    const socket = await opened(path, { headers: { ...withKey, 'OpenAI-Beta': 'realtime=v1', cookie: 'a=client' } });
    const { last } = fixture().upstream;
    expect([last.url, last.headers.authorization, last.headers['openai-beta'], last.headers.cookie]).toEqual([
      url,
      `Bearer ${RAW_KEY}`,
      'realtime=v1',
      undefined,
    ]);
    expect(last.headers.host).toBe(`localhost:${fixture().upstream.port}`);
    socket.terminate();
  });

  it("accepts the proxy's key as browsers send it, and does not send it to the upstream", async () => {
    const protocols = ['realtime', `openai-insecure-api-key.${MASTER}`, 'openai-beta.realtime-v1'];
    const socket = await opened('/v1/realtime?model=gpt', { protocols, headers: {} });
    expect(socket.protocol).toBe('realtime');
    const { last } = fixture().upstream;
    expect(last.headers['sec-websocket-protocol']).toBe('realtime, openai-beta.realtime-v1');
    expect(last.headers.authorization).toBe(`Bearer ${RAW_KEY}`);
    expect(last.rawHeaders.join(' ')).not.toContain(MASTER);
    socket.terminate();
  });

  it.each<Opening>([
    { headers: {} },
    { headers: { authorization: 'Bearer wrong' } },
    { headers: { 'api-key': 'wrong' } },
    { headers: {}, protocols: ['realtime', 'openai-insecure-api-key.wrong'] },
  ])("needs the proxy's key, and gets 401 with %j", async (options) => {
    const { status, headers, text } = await refused('/v1/realtime?model=gpt', options);
    expect([status, headers['www-authenticate'], headers.connection]).toEqual([401, 'Bearer', 'close']);
    expect(JSON.parse(text)).toMatchObject({ error: { code: '401' } });
    expect(fixture().upstream.seen).toEqual([]);
  });

  it.each([
    ['/v1/realtime', 400, 'Invalid model name passed in model=None'],
    ['/v1/realtime?model=nobody', 400, 'Invalid model name passed in model=nobody'],
    ['/v1/files', 404, 'There is no WebSocket'],
    ['/nowhere', 404, 'There is no WebSocket'],
  ])('at %s is rejected with %d', async (path, status, words) => {
    const answer = await refused(path);
    expect([answer.status, answer.headers['content-type'], answer.headers['x-request-id'] !== undefined]).toEqual([
      status,
      'application/json',
      true,
    ]);
    expect((JSON.parse(answer.text) as { error: { message: string } }).error.message).toContain(words);
    expect(fixture().upstream.seen).toEqual([]);
  });

  it('gets 405 with another method than GET', async () => {
    const { proxy } = fixture();
    const head = `POST /v1/realtime?model=gpt HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${MASTER}\r\n`;
    const handshake = `${head}connection: upgrade\r\nupgrade: websocket\r\ncontent-length: 0\r\n\r\n`;
    expect(await exchangeBytes(proxy.port, Buffer.from(handshake))).toMatch(/^HTTP\/1\.1 405 [^]*\r\nallow: GET\r\n/);
  });

  it.each([
    ['no version', 'HTTP/1.1', KEY_LINE, 426, '\r\nsec-websocket-version: 13\r\n'],
    ['version 8', 'HTTP/1.1', `${KEY_LINE}sec-websocket-version: 8\r\n`, 426, '\r\nupgrade: websocket\r\n'],
    ['no key', 'HTTP/1.1', VERSION_LINE, 400, 'Sec-WebSocket-Key of 16 bytes'],
    ['a short key', 'HTTP/1.1', `${VERSION_LINE}sec-websocket-key: AAAA\r\n`, 400, 'Sec-WebSocket-Key of 16 bytes'],
    ['two keys', 'HTTP/1.1', `${VERSION_LINE}${KEY_LINE.repeat(2)}`, 400, 'Sec-WebSocket-Key of 16 bytes'],
    ['HTTP/1.0', 'HTTP/1.0', `${VERSION_LINE}${KEY_LINE}`, 400, 'must have HTTP/1.1'],
    ['a body', 'HTTP/1.1', `${VERSION_LINE}${KEY_LINE}content-length: 3\r\n`, 400, 'must have no body'],
    ['a body in chunks', 'HTTP/1.1', `${VERSION_LINE}${KEY_LINE}transfer-encoding: chunked\r\n`, 400, 'no body'],
  ])(
    'with %s in its handshake is rejected, and the upstream gets no request',
    async (_what, version, lines, status, words) => {
      const { proxy, upstream } = fixture();
      const head = `GET /v1/realtime?model=gpt ${version}\r\nhost: a\r\nauthorization: Bearer ${MASTER}\r\n`;
      const handshake = `${head}connection: upgrade\r\nupgrade: websocket\r\n${lines}\r\n`;
      const answer = await exchangeBytes(proxy.port, Buffer.from(handshake));
      expect([answer.startsWith(`HTTP/1.1 ${status} `), answer.includes(words)]).toEqual([true, true]);
      expect(upstream.seen).toEqual([]);
    },
  );

  it('may have its key in the subprotocols, and other requests with such a key get 401', async () => {
    const { proxy, upstream } = fixture();
    const offered = `sec-websocket-protocol: openai-insecure-api-key.${MASTER}\r\n`;
    for (const more of ['', 'upgrade: websocket\r\n', 'connection: close\r\n']) {
      for (const path of ['POST /v1/chat/completions', 'GET /v1/models', 'GET /openai/v1/x']) {
        const handshake = `${path} HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n${offered}${more}\r\n{}`;
        const until = (text: string) => text.includes('\r\n\r\n');
        expect(await exchangeBytes(proxy.port, Buffer.from(handshake), { until })).toMatch(/^HTTP\/1\.1 401 /);
      }
    }
    expect(upstream.seen).toEqual([]);
  });

  it('is rejected, like raw requests that could run a model, if enforce_user_param is set', async () => {
    const { upstream } = fixture();
    const proxy = await startTestProxy(
      configOf(upstream, [entry('gpt', 'openai/x', upstream)], ['general_settings:', '  enforce_user_param: true']),
    );
    try {
      const { status, text } = await refused('/v1/realtime?model=gpt', { port: proxy.port });
      expect([status, text]).toEqual([403, expect.stringContaining("'enforce_user_param' cannot be checked there")]);
      const ask = async (method: string) => (await call(`${proxy.url}/openai/v1/x`, { method })).status;
      const statuses: number[] = [];
      for (const method of ['POST', 'PUT', 'PATCH', 'GET', 'HEAD', 'DELETE']) statuses.push(await ask(method));
      expect(statuses).toEqual([403, 403, 403, 200, 200, 200]);
    } finally {
      await proxy.close();
    }
  });

  it('closes its connection if an earlier request on it has no answer yet; another WebSocket still opens', async () => {
    const { proxy, upstream } = fixture();
    upstream.intercept = () => true;
    const key = `host: a\r\nauthorization: Bearer ${MASTER}\r\n`;
    const behind = `GET /v1/realtime?model=gpt HTTP/1.1\r\n${key}connection: upgrade\r\nupgrade: websocket\r\n\r\n`;
    const bytes = Buffer.from(`GET /openai/v1/x HTTP/1.1\r\n${key}\r\n${behind}`);
    expect(await exchangeBytes(proxy.port, bytes)).toBe('');
    (await opened()).terminate();
  });

  it('is rejected with the status, body and headers of its upstream', async () => {
    const { upstream } = fixture();
    const error = { error: { message: 'no such model', type: 'invalid_request_error', param: null, code: null } };
    for (const status of [401, 403, 404, 429, 503]) {
      upstream.onUpgrade = (_request, socket) => {
        refuseUpgrade(socket, status, error);
        return true;
      };
      const answer = await refused('/v1/realtime?model=gpt');
      expect([
        answer.status,
        JSON.parse(answer.text),
        answer.headers['x-why'],
        answer.headers['x-litellm-model-group'],
      ]).toEqual([status, error, 'key', 'gpt']);
    }
  });

  it('gets a 500 with the reason if its upstream cannot be reached', async () => {
    const listening = createServer();
    listening.listen(0, '127.0.0.1');
    await once(listening, 'listening');
    const { port } = listening.address() as AddressInfo; // a TCP server has an AddressInfo
    listening.close();
    const { upstream } = fixture();
    const gone = entry('gone', 'openai/x', upstream).replace(upstream.apiBase, `http://127.0.0.1:${port}/v1`);
    const wrongCa = entry('wrong', 'openai/x', upstream, ['ssl_verify: true']);
    const proxy = await startTestProxy(configOf(upstream, [gone, wrongCa]));
    try {
      const refusedBy = async (model: string) => {
        const { status, text } = await refused(`/v1/realtime?model=${model}`, { port: proxy.port });
        return [status, (JSON.parse(text) as { error: { message: string } }).error.message];
      };
      expect(await refusedBy('gone')).toEqual([
        500,
        expect.stringContaining(`127.0.0.1:${port} refused the connection`),
      ]);
      expect(await refusedBy('wrong')).toEqual([
        500,
        expect.stringContaining('set ssl_verify to the path of a CA bundle'),
      ]);
    } finally {
      await proxy.close();
    }
  });

  it('ends at the client, too, if its upstream crashes', async () => {
    const socket = await opened();
    await upstreamEnd();
    const ended = closed(socket);
    fixture().upstream.crash();
    expect((await ended).code).toBe(1006);
    const again = await opened();
    again.send('still here');
    expect((await message(again)).data.toString()).toBe('still here');
    again.terminate();
  });

  it('ends at the upstream, too, if its client resets the connection', async () => {
    const socket = await opened();
    const atUpstream = closed(await upstreamEnd());
    socket.terminate();
    expect((await atUpstream).code).toBe(1006);
  });

  it('ends after 30 s if its client closes its side, and its upstream ignores this', async () => {
    const sockets: Duplex[] = [];
    fixture().upstream.onUpgrade = (request, socket) => {
      acceptHandshake(request, socket);
      socket.allowHalfOpen = true;
      socket.on('error', () => undefined).resume();
      return sockets.push(socket) > 0;
    };
    const head = `GET /v1/realtime?model=gpt&half=1 HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${MASTER}\r\n`;
    const client = connect({ port: fixture().proxy.port, host: '127.0.0.1', allowHalfOpen: true });
    client.write(`${head}connection: Upgrade\r\nupgrade: websocket\r\n${VERSION_LINE}${KEY_LINE}\r\n`);
    await once(client, 'data');
    client.resume();
    const [ended, atUpstream] = [once(client, 'end'), once(sockets[0] ?? client, 'end')];
    client.end();
    await atUpstream;
    // Frames of the upstream do not extend the 30 s.
    await passTime(29_000);
    sockets[0]?.write(Buffer.from([0x89, 0]));
    expect(client.readableEnded).toBe(false);
    await passTime(2000);
    await ended;
    for (const socket of sockets) socket.destroy();
  });

  it('ends the handshake at the upstream if its client closes before the answer', async () => {
    const { upstream } = fixture();
    const ended = new Promise<void>((resolve) => {
      upstream.onUpgrade = (_request, upstreamSocket) => {
        upstreamSocket
          .on('error', () => undefined)
          .on('close', () => resolve())
          .resume();
        return true;
      };
    });
    const socket = opening('/v1/realtime?model=gpt&early=1');
    socket.on('error', () => undefined);
    await waitFor(
      () => (upstream.seen.length > 0 ? true : undefined),
      () => 'the upstream got no request',
    );
    socket.terminate();
    await ended;
    expect(await lineOf('/v1/realtime 499')).toContain('gone=true');
  });

  it('gets 408 if its upstream does not answer the handshake within the timeout', async () => {
    const { upstream } = fixture();
    const proxy = await startTestProxy(
      configOf(upstream, [entry('slow', 'openai/x', upstream, ['stream_timeout: 0.2'])]),
    );
    try {
      upstream.onUpgrade = (_request, socket) => !socket.on('error', () => undefined).resume().destroyed;
      const refusal = refused('/v1/realtime?model=slow', { port: proxy.port });
      await upstream.waitForRequest();
      await passTime(300);
      const { status, text } = await refusal;
      expect([status, text]).toEqual([408, expect.stringContaining('within the first-byte timeout')]);
    } finally {
      await proxy.close();
    }
  });

  it("gets 408 if its upstream does not answer the handshake within the client's timeout", async () => {
    const { upstream } = fixture();
    upstream.onUpgrade = (_request, socket) => !socket.on('error', () => undefined).resume().destroyed;
    const headers = { ...withKey, 'x-litellm-stream-timeout': '0.2' };
    const refusal = refused('/v1/realtime?model=gpt', { headers });
    await upstream.waitForRequest();
    await passTime(300);
    const { status, text } = await refusal;
    expect([status, text]).toEqual([408, expect.stringContaining('within the first-byte timeout')]);
  });

  it('is closed after idle_timeout if its upstream rejects it with an endless body', async () => {
    const { upstream } = fixture();
    const proxy = await startTestProxy(
      configOf(upstream, [entry('slow', 'openai/x', upstream, ['idle_timeout: 0.3'])]),
    );
    let socket: Duplex | undefined;
    upstream.onUpgrade = (_request, refusing) => {
      socket = refusing.on('error', () => undefined);
      return refusing.write('HTTP/1.1 403 Refused\r\ntransfer-encoding: chunked\r\n\r\n');
    };
    try {
      const cut = expect(refused('/v1/realtime?model=slow', { port: proxy.port })).rejects.toThrow('aborted');
      await upstream.waitForRequest();
      const sent = await waitFor(
        () => socket,
        () => 'the upstream got no request',
      );
      const ended = once(sent, 'close');
      // Each byte restarts the time limit.
      for (let piece = 0; piece < 3; piece += 1) {
        sent.write('1\r\nx\r\n');
        await passTime(200);
        expect(sent.destroyed).toBe(false);
      }
      await passTime(200);
      await cut;
      await ended;
    } finally {
      await proxy.close();
    }
  });

  it('without frames ends after idle_timeout', async () => {
    const { upstream } = fixture();
    const proxy = await startTestProxy(
      configOf(upstream, [entry('idle', 'openai/x', upstream, ['idle_timeout: 0.3'])]),
    );
    try {
      const socket = await opened('/v1/realtime?model=idle', { port: proxy.port });
      const [atClient, atUpstream] = [closed(socket), closed(await upstreamEnd())];
      // Each byte restarts the time limit.
      await passTime(250);
      socket.send('hello');
      await message(socket);
      await passTime(250);
      expect(socket.readyState).toBe(WebSocket.OPEN);
      await passTime(200);
      expect((await atClient).code).toBe(1006);
      expect((await atUpstream).code).toBe(1006);
      await waitFor(
        () => proxy.logged().find((line) => line.includes('sent nothing more of its answer within the idle timeout')),
        () => 'the proxy logged no idle timeout',
      );
    } finally {
      await proxy.close();
    }
  });

  describe('when the proxy ends', () => {
    const leaving = { code: 1001, reason: 'the proxy is shutting down' };
    /**
     * Starts a proxy that sends close frames a second after its shutdown begins, and closes the
     * connections another second later. The test moves the time.
     */
    const shortLived = () => {
      const { upstream } = fixture();
      return startTestProxy(configOf(upstream, [entry('gpt', 'openai/x', upstream)]), {
        environment: { DRAIN_TIMEOUT: '2' },
      });
    };

    it('gets a close frame with the code 1001 on both sides', async () => {
      const proxy = await shortLived();
      const socket = await opened('/v1/realtime?model=gpt', { port: proxy.port });
      const ends = [closed(socket), closed(await upstreamEnd())];
      const ended = proxy.close();
      await passTime(1000);
      expect(await Promise.all(ends)).toEqual([leaving, leaving]);
      await ended;
    });

    it('gets a close frame at the client only after a complete frame', async () => {
      const sockets: Duplex[] = [];
      fixture().upstream.onUpgrade = (request, socket) => {
        acceptHandshake(request, socket);
        // A text frame of ten bytes, of which four are missing.
        socket.write(Buffer.from([0x81, 10, ...Buffer.from('012345')]));
        // The first bytes of the proxy are the close frame. The upstream then sends the rest.
        socket.once('data', () => socket.write('6789'));
        socket.on('error', () => undefined);
        return sockets.push(socket) > 0;
      };
      const proxy = await shortLived();
      const socket = await opened('/v1/realtime?model=gpt', { port: proxy.port });
      const [firstMessage, end] = [message(socket), closed(socket)];
      const ended = proxy.close();
      await passTime(1000);
      expect([(await firstMessage).data.toString(), await end]).toEqual(['0123456789', leaving]);
      await ended;
      for (const one of sockets) one.destroy();
    });

    it('is closed even inside an incomplete frame', async () => {
      const proxy = await shortLived();
      const port = proxy.port;
      const head =
        'GET /v1/realtime?model=gpt HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\n' +
        'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
      const client = connect(port, '127.0.0.1');
      client.write(head);
      await once(client, 'data');
      const atUpstream = closed(await upstreamEnd());
      // A masked text frame of ten bytes, of which one arrives.
      client.write(Buffer.from([0x81, 0x8a, 0, 0, 0, 0, 0x30]));
      const received: Buffer[] = [];
      client.on('data', (chunk: Buffer) => received.push(chunk));
      const gone = once(client, 'close');
      const ended = proxy.close();
      await passTime(1000);
      await waitFor(
        () => (Buffer.concat(received).length >= 4 ? true : undefined),
        () => `the client received ${Buffer.concat(received).toString('hex')}`,
      );
      await passTime(1000);
      await ended;
      await gone;
      expect(Buffer.concat(received).subarray(0, 4)).toEqual(Buffer.from([0x88, 28, 0x03, 0xe9]));
      expect((await atUpstream).code).toBe(1006);
    });
  });

  describe('of a client that may no longer use the proxy', () => {
    const revoked = { code: 1008, reason: 'the client may no longer use the proxy' };
    /** Starts a proxy with virtual keys. */
    const keyed = async () => {
      const { upstream } = fixture();
      const folder = mkdtempSync(join(tmpdir(), 'rackless-keys-'));
      const yaml = (master: string, ...further: readonly string[]) =>
        configOf(
          upstream,
          [entry('gpt', 'openai/x', upstream)],
          ['general_settings:', `  master_key: ${master}`, `  store: ${folder}`, ...further],
        );
      const proxy = await startTestProxy(yaml(MASTER));
      const manage = async (path: string, body: object) => {
        const answer = await call(proxy.url + path, { headers: withKey, body });
        expect(answer.status).toBe(200);
        return answer.json() as { key: string }; // the answer has the key, as documented
      };
      const close = async () => {
        await proxy.close();
        rmSync(folder, { recursive: true });
      };
      return { proxy, yaml, manage, close };
    };

    it.each(['/key/block', '/key/delete'])('is closed with 1008 on both sides soon after %s', async (path) => {
      const { proxy, manage, close } = await keyed();
      try {
        const [{ key }, other] = [await manage('/key/generate', {}), await manage('/key/generate', {})];
        const open = (bearer: string) =>
          opened('/v1/realtime?model=gpt', { headers: { authorization: `Bearer ${bearer}` }, port: proxy.port });
        const staying = await open(other.key);
        const socket = await open(key);
        const ends = [closed(socket), closed(await upstreamEnd())];
        await passTime(6000);
        expect(socket.readyState).toBe(WebSocket.OPEN);
        await manage(path, path === '/key/block' ? { key } : { keys: [key] });
        await passTime(6000);
        expect(await Promise.all(ends)).toEqual([revoked, revoked]);
        staying.send('still here');
        expect((await message(staying)).data.toString()).toBe('still here');
        staying.terminate();
        const line = await waitFor(
          () => proxy.logged().find((text) => text.includes('Authentication Error')),
          () => 'the proxy logged no authentication error',
        );
        expect(line).toMatch(path === '/key/block' ? / 101 .*Key is blocked/ : / 101 .*Invalid proxy server token/);
      } finally {
        await close();
      }
    });

    it('is closed soon after a reload with another master key, also while its handshake still runs', async () => {
      const { upstream } = fixture();
      const { proxy, yaml, close } = await keyed();
      try {
        const open = await opened('/v1/realtime?model=gpt', { port: proxy.port });
        const ended = closed(open);
        upstream.onUpgrade = (_request, socket) => !socket.on('error', () => undefined).resume().destroyed;
        const refusal = refused('/v1/realtime?model=gpt', { port: proxy.port });
        await waitFor(
          () => (upstream.seen.length > 1 ? true : undefined),
          () => 'the upstream got no second request',
        );
        proxy.configure(yaml('sk-another-master-0123456789'));
        await proxy.reload();
        await passTime(6000);
        expect(await ended).toEqual(revoked);
        expect((await refusal).status).toBe(401);
      } finally {
        await close();
      }
    });

    it.each(["allowed_ips: ['192.0.2.1']", "allowed_routes: ['/v1/models']"])(
      'is closed soon after a reload with %s',
      async (line) => {
        const { proxy, yaml, close } = await keyed();
        try {
          const open = await opened('/v1/realtime?model=gpt', { port: proxy.port });
          const ends = [closed(open), closed(await upstreamEnd())];
          proxy.configure(yaml(MASTER, `  ${line}`));
          await proxy.reload();
          await passTime(6000);
          expect(await Promise.all(ends)).toEqual([revoked, revoked]);
        } finally {
          await close();
        }
      },
    );

    it('is closed inside an incomplete frame if the frame is still incomplete a second later', async () => {
      const { proxy, manage, close } = await keyed();
      try {
        const { key } = await manage('/key/generate', {});
        const head = `GET /v1/realtime?model=gpt HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\n`;
        const client = connect(proxy.port, '127.0.0.1');
        client.write(`${head}connection: Upgrade\r\nupgrade: websocket\r\n${VERSION_LINE}${KEY_LINE}\r\n`);
        await once(client, 'data');
        const atUpstream = closed(await upstreamEnd());
        // A masked text frame of ten bytes, of which one arrives.
        client.write(Buffer.from([0x81, 0x8a, 0, 0, 0, 0, 0x30]));
        client.resume();
        const gone = once(client, 'close');
        await manage('/key/delete', { keys: [key] });
        await passTime(7000);
        await gone;
        expect((await atUpstream).code).toBe(1006);
      } finally {
        await close();
      }
    });
  });

  it('pauses its upstream if its client reads slowly, and loses nothing', async () => {
    const { upstream } = fixture();
    const frames = 64;
    const size = 1_048_576;
    upstream.onWebSocket = (socket) => {
      for (let index = 0; index < frames; index += 1) socket.send(Buffer.alloc(size, index));
      socket.close(1000, 'all');
    };
    const socket = opening('/v1/realtime?model=gpt');
    const ended = closed(socket);
    const seen: number[] = [];
    socket.on('message', (data: Buffer) => seen.push(data[0] ?? -1, data.length));
    await once(socket, 'open');
    socket.pause();
    const upstreamSocket = await upstreamEnd();
    // All buffers on the way are full, so the rest of the frames waits at the upstream.
    const before = await stableCount(
      () => upstreamSocket.bufferedAmount,
      () => 'the upstream was never paused',
    );
    expect(before).toBeGreaterThan((frames / 4) * size);
    socket.resume();
    expect(await ended).toEqual({ code: 1000, reason: 'all' });
    expect(seen).toEqual(Array.from({ length: frames }, (_none, index) => [index, size]).flat());
  });

  it('is in the log and in the metrics with status 101 after its end', async () => {
    const socket = await opened('/v1/realtime?model=gpt&logged=1');
    socket.close();
    await closed(socket);
    expect(await lineOf(' 101')).toMatch(/GET \/v1\/realtime .*gpt/);
    const metrics = await fetch(`${fixture().proxy.url}/metrics`, { headers: withKey });
    expect(await metrics.text()).toMatch(
      /route="pass-through"[^}]*status_code="101"|status_code="101"[^}]*route="pass-through"/,
    );
  });
});
