import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, request as requestHttp, type IncomingMessage } from 'node:http';
import { connect, createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { errorOf } from '../faults/fixture.js';
import { call, exchangeBytes, open } from '../harness/call.js';
import { startTestProxy, type TestProxyOptions } from '../harness/proxy.js';
import { closingAfterEach } from '../upstream/closing.js';
import { answerOf, requestBody, ScriptedServer } from '../upstream/scripted-server.js';
import { holdUp, passTime, stopTime } from '../harness/stopped-time.js';
import { stableCount, waitFor } from '../harness/wait.js';
import { configOf, entry, useRawProxy } from './fixture.js';
import { RawUpstream } from './raw-upstream.js';

stopTime();
const fixture = useRawProxy();
const closing = closingAfterEach();

const get = (path: string) => call(fixture().proxy.url + path, { method: 'GET' });

/** Starts a proxy with an OpenAI model for raw requests. @param apiBase default: the upstream of the suite. */
async function proxyWith(params: readonly string[], options: TestProxyOptions = {}, apiBase?: string) {
  const { upstream } = fixture();
  const model = entry('gpt', 'openai/x', upstream, params);
  const config = configOf(upstream, [apiBase === undefined ? model : model.replace(upstream.apiBase, apiBase)]);
  const proxy = closing(await startTestProxy(config, options));
  return { proxy, get: (path = '/openai/v1/x') => call(proxy.url + path, { method: 'GET' }) };
}

const messageOf = ({ text }: { text: string }) => errorOf(text).message;

describe('an upstream of raw requests', () => {
  it('causes a 500 with the reason if it cannot be reached', async () => {
    const listening = createTcpServer().listen(0, '127.0.0.1');
    await once(listening, 'listening');
    const { port } = listening.address() as AddressInfo; // a TCP server has an AddressInfo
    listening.close();
    const { get: ask } = await proxyWith([], {}, `http://127.0.0.1:${port}/v1`);
    const answer = await ask();
    expect([answer.status, errorOf(answer.text)]).toEqual([
      500,
      {
        message: `litellm.InternalServerError: InternalServerError: OpenAIException - Connection error. 127.0.0.1:${port} refused the connection. Received Model Group=gpt\nAvailable Model Group Fallbacks=None`,
        type: 'internal_server_error',
        param: null,
        code: '500',
      },
    ]);
  });

  it('is verified as ssl_verify of its deployment says, and the error names the authorities', async () => {
    const { get: ask } = await proxyWith(['ssl_verify: true']);
    const answer = await ask();
    expect([answer.status, messageOf(answer)]).toEqual([500, expect.stringContaining('the built-in authorities')]);
    expect((await (await proxyWith(['ssl_verify: false'])).get()).status).toBe(200);
    const { upstream } = fixture();
    const byVariable = await proxyWith(['ssl_verify: true'], { environment: { SSL_CERT_FILE: upstream.caFile } });
    expect((await byVariable.get()).status).toBe(200);
  });

  it('gets the client certificate of its deployment', async () => {
    const strict = closing(await RawUpstream.start({ clientCertificates: true }));
    const { certFile, keyFile } = await strict.authority.issue('client');
    const withIt = entry('gpt', 'openai/x', strict, [
      `ssl_certificate: ${certFile}`,
      `ssl_certificate_key: ${keyFile}`,
    ]);
    const proxy = closing(await startTestProxy(configOf(strict, [withIt])));
    expect((await call(`${proxy.url}/openai/v1/x`, { method: 'GET' })).status).toBe(200);
    const without = closing(await startTestProxy(configOf(strict, [entry('gpt', 'openai/x', strict)])));
    expect(messageOf(await call(`${without.url}/openai/v1/x`, { method: 'GET' }))).toContain('client certificate');
  });

  it('is verified again after a reload with another CA bundle, so no old connection is reused', async () => {
    const { upstream } = fixture();
    const bundle = join(upstream.folder, 'changing.pem');
    copyFileSync(upstream.caFile, bundle);
    const { proxy, get: ask } = await proxyWith([`ssl_verify: ${bundle}`]);
    expect((await ask()).status).toBe(200);
    const other = closing(await RawUpstream.start());
    writeFileSync(bundle, readFileSync(other.caFile));
    expect((await ask()).status).toBe(200);
    await proxy.reload();
    expect(messageOf(await ask())).toContain(`the authorities of ${bundle}`);
    writeFileSync(bundle, readFileSync(upstream.caFile));
    await proxy.reload();
    expect((await ask()).status).toBe(200);
  });

  it.each([
    ['first_byte_timeout', 'first_byte_timeout: 0.2', 'within the first-byte timeout'],
    ['timeout', 'timeout: 0.2', 'within the total timeout'],
  ])('without an answer causes a 408 after %s', async (_name, param, words) => {
    const { upstream } = fixture();
    upstream.intercept = () => true;
    const { get: ask } = await proxyWith([param]);
    const pendingAnswer = ask();
    const last = await upstream.waitForRequest();
    await passTime(300);
    const answer = await pendingAnswer;
    expect([answer.status, messageOf(answer)]).toEqual([408, expect.stringContaining(words)]);
    await waitFor(
      () => (last.request.socket.destroyed ? true : undefined),
      () => 'the request at the upstream has not ended',
    );
  });

  it('has answered in time if its answer arrived while the proxy was blocked', async () => {
    const server = closing(await ScriptedServer.start(() => undefined));
    const { get: ask } = await proxyWith(['first_byte_timeout: 0.2', 'idle_timeout: 0.2'], {}, server.apiBase);
    const pendingAnswer = ask();
    const connection = await server.waitForConnection(1);
    await waitFor(
      () => requestBody(connection.text),
      () => `only this came: ${connection.text}`,
    );
    connection.socket.write(answerOf('late'));
    holdUp(10_000);
    expect((await pendingAnswer).text).toBe('late');
  });

  it.each([
    ['x-litellm-timeout', {}, 'within the total timeout'],
    ['x-litellm-timeout', { accept: 'text/event-stream' }, 'within the first-byte timeout'],
    ['x-litellm-stream-timeout', { accept: 'text/event-stream' }, 'within the first-byte timeout'],
  ])('without an answer causes a 408 after %s of the client, with the headers %j', async (name, more, words) => {
    const { proxy, upstream } = fixture();
    upstream.intercept = () => true;
    const pendingAnswer = call(`${proxy.url}/openai/v1/x`, { method: 'GET', headers: { [name]: '0.2', ...more } });
    await upstream.waitForRequest();
    await passTime(300);
    const answer = await pendingAnswer;
    expect([answer.status, messageOf(answer), answer.headers['x-litellm-timeout']]).toEqual([
      408,
      expect.stringContaining(words),
      '0.2',
    ]);
    expect(upstream.last.headers[name]).toBeUndefined();
  });

  it("gets no request if the client's timeout is not a number", async () => {
    const { proxy, upstream } = fixture();
    const answer = await call(`${proxy.url}/openai/v1/x`, { method: 'GET', headers: { 'x-litellm-timeout': 'soon' } });
    expect([answer.status, messageOf(answer)]).toEqual([
      400,
      expect.stringContaining("Invalid header 'x-litellm-timeout'"),
    ]);
    expect(upstream.seen).toEqual([]);
  });

  it('causes a 408 after connect_timeout if it does not finish its handshake', async () => {
    const silent = createTcpServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const held: Socket[] = [];
    silent.on('connection', (socket) => held.push(socket));
    const { port } = silent.address() as AddressInfo; // a TCP server has an AddressInfo
    const { get: ask } = await proxyWith(['connect_timeout: 0.2'], {}, `https://127.0.0.1:${port}/v1`);
    const pendingAnswer = ask();
    await waitFor(
      () => held[0],
      () => 'the proxy opened no connection',
    );
    await passTime(300);
    const answer = await pendingAnswer;
    expect([answer.status, messageOf(answer)]).toEqual([408, expect.stringContaining('within the connect timeout')]);
    for (const socket of held) socket.destroy();
    silent.close();
  });

  it('causes an incomplete answer after idle_timeout if it stops in the middle of its answer', async () => {
    const { upstream } = fixture();
    upstream.intercept = (_request, response) =>
      response.writeHead(200, { 'content-type': 'text/plain' }).write('half');
    const { proxy } = await proxyWith(['idle_timeout: 0.2']);
    const answer = await open(`${proxy.url}/openai/v1/x`, { method: 'GET' });
    await waitFor(
      () => (answer.text === 'half' ? true : undefined),
      () => `this came: ${answer.text}`,
    );
    await passTime(300);
    expect([answer.status, await answer.ended, answer.text]).toEqual([200, 'cut', 'half']);
    await waitFor(
      () => proxy.logged().find((line) => line.includes('within the idle timeout')),
      () => 'the proxy logged no idle timeout',
    );
  });

  it.each(['breaks off', 'is reset'])('causes an incomplete answer at the client if its answer %s', async (how) => {
    const { upstream, proxy } = fixture();
    for (const headers of [{ 'content-length': '100' }, {}]) {
      upstream.intercept = (_request, response) => response.writeHead(200, headers).write('half');
      const answer = await open(`${proxy.url}/openai/v1/x`, { method: 'GET' });
      if (how === 'is reset') upstream.crash();
      else upstream.last.request.socket.destroy();
      expect([answer.status, await answer.ended]).toEqual([200, 'cut']);
    }
    upstream.forget();
    expect((await get('/openai/v1/works')).status).toBe(200);
  });

  it.each([
    ['bytes that are not HTTP', 'SSH-2.0-OpenSSH\r\n\r\n', 'not valid HTTP/1.1'],
    ['nothing', '', 'closed the connection before it answered'],
    ['too large a head', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(70_000)}\r\n\r\n`, 'head of the answer'],
  ])('causes a 500 with the reason if it answers %s', async (_what, bytes, words) => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(bytes));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // a TCP server has an AddressInfo
    const { get: ask } = await proxyWith([], {}, `http://127.0.0.1:${port}/v1`);
    const answer = await ask();
    expect([answer.status, messageOf(answer)]).toEqual([500, expect.stringContaining(words)]);
    server.close();
  });

  it('is reached through a forward proxy with a password: by a tunnel for https, by absolute URLs for http', async () => {
    const received: string[] = [];
    const forward = createServer((request, response) => {
      received.push(`${request.method ?? ''} ${request.url ?? ''} ${request.headers['proxy-authorization'] ?? ''}`);
      const headers = { ...request.headers };
      delete headers['proxy-authorization'];
      request.pipe(
        requestHttp(request.url ?? '', { method: request.method, headers }, (answer: IncomingMessage) => {
          response.writeHead(answer.statusCode ?? 0, answer.headers);
          answer.pipe(response);
        }),
      );
    });
    forward.on('connect', (request: IncomingMessage, socket: Socket) => {
      received.push(`CONNECT ${request.url ?? ''} ${request.headers['proxy-authorization'] ?? ''}`);
      const onward = connect(Number(request.url?.split(':')[1]), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        onward.pipe(socket).pipe(onward);
      });
      for (const end of [onward, socket]) end.on('error', () => undefined);
    });
    forward.listen(0, '127.0.0.1');
    await once(forward, 'listening');
    const { port } = forward.address() as AddressInfo; // a TCP server has an AddressInfo
    const environment = { HTTP_PROXY: `http://u:p@127.0.0.1:${port}`, HTTPS_PROXY: `http://u:p@127.0.0.1:${port}` };
    const account = `Basic ${Buffer.from('u:p').toString('base64')}`;
    const { upstream } = fixture();
    expect((await (await proxyWith([], { environment })).get()).status).toBe(200);
    const plain = closing(await RawUpstream.start({ secure: false }));
    const { get: ask } = await proxyWith([], { environment }, plain.apiBase);
    expect((await ask('/openai/v1/x?u=http://a//b')).status).toBe(200);
    expect(received).toEqual([
      `CONNECT localhost:${upstream.port} ${account}`,
      `GET http://localhost:${plain.port}/v1/x?u=http://a//b ${account}`,
    ]);
    expect([plain.last.url, plain.last.headers['proxy-authorization']]).toEqual(['/v1/x?u=http://a//b', undefined]);
    forward.closeAllConnections();
    forward.close();
  });
});

describe('a client of raw requests', () => {
  it.each(['before the answer', 'in the middle of the answer'])(
    'ends the upstream request if it disconnects %s',
    async (when) => {
      const { proxy, upstream } = fixture();
      upstream.intercept = (_request, response) => {
        if (when === 'in the middle of the answer')
          response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
        return true;
      };
      const socket = connect(proxy.port, '127.0.0.1');
      socket.write('GET /openai/v1/x HTTP/1.1\r\nhost: a\r\n\r\n');
      if (when === 'in the middle of the answer') await once(socket, 'data');
      const seen = await waitFor(
        () => upstream.seen.at(-1),
        () => 'the upstream got no request',
      );
      socket.destroy();
      await waitFor(
        () => (seen.outcome === 'aborted' ? true : undefined),
        () => 'the upstream request did not end',
      );
    },
  );

  it('ends the upstream request if it disconnects in the middle of its upload', async () => {
    const { proxy, upstream } = fixture();
    const socket = connect(proxy.port, '127.0.0.1');
    const body = '--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nhalf';
    socket.write(
      `POST /v1/files HTTP/1.1\r\nhost: a\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: 100000\r\n\r\n${body}`,
    );
    const seen = await waitFor(
      () => upstream.seen.at(-1),
      () => 'the upstream got no request',
    );
    socket.destroy();
    await waitFor(
      () => (seen.outcome === 'aborted' ? true : undefined),
      () => 'the upstream request did not end',
    );
    expect(seen.body).toBeUndefined();
  });

  it('gets its own answer after an upstream has sent a body in the answer to HEAD', async () => {
    const server = closing(
      await ScriptedServer.start(({ socket, text, index }) => {
        if (text.startsWith('HEAD')) socket.write(answerOf('evil'));
        else if (text.startsWith('GET')) socket.write(answerOf(`connection ${index}`));
      }),
    );
    const { proxy, get: ask } = await proxyWith([], {}, server.apiBase);
    const head = await call(`${proxy.url}/openai/v1/x`, { method: 'HEAD' });
    expect([head.status, head.headers['content-length'], head.text]).toEqual([200, '4', '']);
    expect((await ask()).text).toBe('connection 1');
  });

  it('gets its answer over the upstream connection of an earlier HEAD request', async () => {
    const server = closing(
      await ScriptedServer.start((connection) => {
        const isHead = connection.text.startsWith('HEAD');
        connection.text = '';
        connection.socket.write(
          isHead ? 'HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n' : answerOf(`connection ${connection.index}`),
        );
      }),
    );
    const { proxy, get: ask } = await proxyWith([], {}, server.apiBase);
    const head = await call(`${proxy.url}/openai/v1/x`, { method: 'HEAD' });
    expect([head.status, head.headers['content-length']]).toEqual([200, '1000']);
    expect((await ask()).text).toBe('connection 0');
  });

  it('gets the answer of an upstream that rejects an upload early', async () => {
    const { proxy, upstream } = fixture();
    upstream.intercept = (request, response) => {
      response.writeHead(413, { 'content-type': 'application/json', connection: 'close' });
      response.end('{"error":{"message":"too large"}}');
      // The upstream reads only the first chunk, and then closes.
      request.once('data', () => request.socket.end());
      return true;
    };
    const length = 5_000_000;
    const head = `POST /openai/v1/files HTTP/1.1\r\nhost: a\r\ncontent-type: a/b\r\ncontent-length: ${length}\r\n\r\n`;
    const answer = await exchangeBytes(proxy.port, Buffer.concat([Buffer.from(head), Buffer.alloc(length)]));
    expect(answer).toMatch(/^HTTP\/1\.1 413 [^]*connection: close[^]*too large/i);
  });

  it('gets 100 Continue only if the proxy accepts its request', async () => {
    const { proxy, upstream } = fixture();
    const wait = (path: string, method: string) =>
      exchangeBytes(
        proxy.port,
        Buffer.from(
          `${method} ${path} HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-type: a/b\r\ncontent-length: 2\r\nconnection: close\r\n\r\n`,
        ),
        { until: (answer) => answer.includes('\r\n\r\n') },
      );
    expect(await wait('/openai/v1/x', 'POST')).toMatch(/^HTTP\/1\.1 100 Continue\r\n/);
    expect(await wait('/openai/v1/x', 'PROPFIND')).toMatch(/^HTTP\/1\.1 405 /);
    expect(upstream.seen.every(({ headers }) => headers.expect === undefined)).toBe(true);
  });

  it('pauses its upstream if it reads slowly', async () => {
    const { proxy, upstream } = fixture();
    let written = 0;
    const size = 64 * 1024 * 1024;
    upstream.intercept = (_request, response) => {
      response.writeHead(200, { 'content-length': String(size) });
      const piece = Buffer.alloc(65_536);
      const more = () => {
        while (written < size) {
          written += piece.length;
          if (!response.write(piece)) {
            response.once('drain', more);
            return;
          }
        }
        response.end();
      };
      more();
      return true;
    };
    const answered = await new Promise<IncomingMessage>((resolve) =>
      requestHttp(`${proxy.url}/openai/v1/x`, { agent: false }, resolve).end(),
    );
    const before = await stableCount(
      () => written,
      () => 'the upstream did not stop writing',
    );
    expect(before).toBeLessThan(size / 2);
    let length = 0;
    answered.on('data', (chunk: Buffer) => (length += chunk.length));
    await once(answered, 'end');
    expect(length).toBe(size);
  });
});

describe('a key of OpenAI in the environment', () => {
  it('serves /openai/… without a configured OpenAI model', async () => {
    const plain = closing(await RawUpstream.start({ secure: false, apiKey: 'sk-of-environment' }));
    const { upstream } = fixture();
    const environment = { OPENAI_API_KEY: 'sk-of-environment', OPENAI_API_BASE: plain.apiBase };
    const config = configOf(upstream, [entry('oss', 'hosted_vllm/x', upstream)]);
    const proxy = closing(await startTestProxy(config, { environment }));
    const answer = await call(`${proxy.url}/openai/v1/models`, { method: 'GET' });
    expect([answer.status, plain.last.url]).toEqual([200, '/v1/models']);
    const without = closing(await startTestProxy(config));
    expect((await call(`${without.url}/openai/v1/models`, { method: 'GET' })).status).toBe(400);
  });

  it('keeps its connection to the upstream after a reload', async () => {
    const plain = closing(await RawUpstream.start({ secure: false, apiKey: 'sk-of-environment' }));
    const { upstream } = fixture();
    const environment = { OPENAI_API_KEY: 'sk-of-environment', OPENAI_API_BASE: plain.apiBase };
    const config = configOf(upstream, [entry('oss', 'hosted_vllm/x', upstream)]);
    const proxy = closing(await startTestProxy(config, { environment }));
    const ask = () => call(`${proxy.url}/openai/v1/models`, { method: 'GET' });
    // The upstream holds the first answer until after the reload. Otherwise, an idle timeout could close the
    // connection before the reload.
    let release: () => void = () => undefined;
    plain.intercept = (_request, response) => {
      release = () => response.end();
      return true;
    };
    const first = ask();
    await plain.waitForRequest();
    await proxy.reload();
    release();
    expect((await first).status).toBe(200);
    plain.intercept = () => false;
    expect([(await ask()).status, plain.seen.length, plain.connections]).toEqual([200, 2, 1]);
  });
});
