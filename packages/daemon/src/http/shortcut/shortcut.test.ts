import { afterEach, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { connect, type Server, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { openListener, type Listener, type ListenOptions } from '../../network/listener.js';
import { PlainRequest, takeWholeBody } from './plain-request.js';
import { openShortcut } from './shortcut.js';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

/** When the listener uses the shortcut. `never`: Node's server answers, for a comparison. */
type Use = 'always' | 'never';

async function listen(
  handle: RequestListener,
  use: Use,
  more: Pick<ListenOptions, 'tls' | 'onUpgrade'> = {},
): Promise<{ readonly port: number; readonly listener: Listener }> {
  const listener = await openListener({
    ...more,
    ip: '127.0.0.1',
    port: 0,
    handle,
    takesShortcut: () => use === 'always',
    onClientError: (_error, socket) =>
      void socket.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n'),
    onError: () => undefined,
  });
  closing.push(() => listener.close(0));
  return { port: Number(new URL(listener.addresses[0] ?? '').port), listener };
}

/** Answers with what it has read. */
const echo: RequestListener = (request, response) => {
  const answer = (body: string): void => {
    const text = JSON.stringify([request.method, request.url, request.headers, request.rawHeaders, body]);
    response.writeHead(200, ['content-type', 'application/json', 'content-length', String(Buffer.byteLength(text))]);
    response.end(text);
  };
  const whole = takeWholeBody(request);
  if (whole !== null) {
    answer(whole.toString('latin1'));
    return;
  }
  let body = '';
  request.on('data', (bytes: Buffer) => (body += bytes.toString('latin1')));
  request.on('end', () => answer(body));
};

function post(body: string, ...headers: string[]): string {
  return ['POST /v1/a HTTP/1.1', 'Host: a', `Content-Length: ${body.length}`, ...headers, '', body].join('\r\n');
}

/** Replaces what differs from run to run. */
const stable = (text: string) => text.replaceAll(/Date: [^\r]*/g, 'Date: -');

/** A client that collects everything that it receives. */
class Client {
  readonly socket: Socket;
  received = '';

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', () => undefined);
    socket.on('data', (bytes: Buffer) => (this.received += bytes.toString('latin1')));
  }

  static async connect(port: number): Promise<Client> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    await once(socket, 'connect');
    socket.setNoDelay(true);
    return new Client(socket);
  }

  /** Waits until the received text matches, and returns it. @throws {Error} if the connection ends before. */
  async receive(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.received)) {
      if (this.socket.destroyed || this.socket.readableEnded) throw new Error(`ended: ${this.received}`);
      await Promise.race([once(this.socket, 'data'), once(this.socket, 'close'), once(this.socket, 'end')]);
    }
    return stable(this.received);
  }

  /** Waits until the server closes the connection, and returns all that was received. */
  async end(): Promise<string> {
    if (!this.socket.readableEnded && !this.socket.destroyed)
      await Promise.race([once(this.socket, 'end'), once(this.socket, 'close')]);
    this.socket.destroy();
    return stable(this.received);
  }
}

/** Sends pieces, each in its own packet, and returns everything that the server sends until it closes. */
async function exchange(port: number, pieces: readonly string[]): Promise<string> {
  const client = await Client.connect(port);
  for (const piece of pieces) {
    await new Promise((resolve) => client.socket.write(piece, 'latin1', resolve));
    // Two turns of the event loop, in which the server in the same process reads the piece.
    for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }
  return client.end();
}

/** Returns what a server answers with the shortcut and without. */
async function both(handle: RequestListener, ...pieces: string[]): Promise<readonly [string, string]> {
  const [shortcut, node] = await Promise.all([listen(handle, 'always'), listen(handle, 'never')]);
  return [await exchange(shortcut.port, pieces), await exchange(node.port, pieces)];
}

const closes = post('last', 'Connection: close');

describe('the shortcut', () => {
  it('serves plain requests, and leaves a connection to Node from the first other request on', async () => {
    const kinds: boolean[] = [];
    const { port } = await listen((request, response) => {
      kinds.push(request instanceof PlainRequest);
      echo(request, response);
    }, 'always');
    await exchange(port, [post('a'), closes]);
    await exchange(port, [`GET / HTTP/1.1\r\nHost: a\r\n\r\n${closes}`]);
    expect(kinds).toEqual([true, true, false, false]);
  });

  it('gives the same answer as Node for a request that arrives in two pieces, or byte by byte', async () => {
    const request = post('{"model":"a"}', 'Content-Type: application/json', 'Connection: close');
    const [shortcut, node] = await Promise.all([listen(echo, 'always'), listen(echo, 'never')]);
    const expected = await exchange(node.port, [request]);
    expect(expected).toMatch(/^HTTP\/1\.1 200 OK\r\ncontent-type/);
    for (let at = 1; at < request.length; at += 1)
      expect(await exchange(shortcut.port, [request.slice(0, at), request.slice(at)])).toBe(expected);
    expect(await exchange(shortcut.port, request.split(''))).toBe(expected);
  });

  const large = post('x'.repeat(300_000));
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['two requests, one after the other', [post('one'), closes]],
    ['pipelined requests', [`${post('one')}${post('two')}${closes}`]],
    [
      'a pipelined request in pieces',
      [`${post('one')}${post('two').slice(0, 20)}`, `${post('two').slice(20)}${closes}`],
    ],
    ['an empty body', [post(''), post(''), closes]],
    ['a chunked body', ['POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n', closes]],
    [
      'a length and a coding',
      ['POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ],
    ['garbage after a request', [post('one'), 'garbage\r\n\r\n']],
    ['garbage in the same packet', [`${post('one')}\x16\x03\x01`]],
    ['a body that is longer than announced', [`${post('one')}xx`, closes]],
    ['HTTP/1.0', ['POST /v1/a HTTP/1.0\r\nContent-Length: 1\r\n\r\na']],
    ['an expectation', [post('one', 'Expect: 100-continue'), closes]],
    ['a rejected upgrade after a request', [post('one'), post('two', 'Connection: upgrade', 'Upgrade: x'), closes]],
    ['a large body in pieces', [large.slice(0, 100_000), `${large.slice(100_000)}${closes}`]],
  ];
  it.each(cases)('answers %s like Node', async (_what, pieces) => {
    const [shortcut, node] = await both(echo, ...pieces);
    expect(shortcut).toBe(node);
  });

  it.each<[string, RequestListener]>([
    ['a body in chunks', (_request, response) => void response.writeHead(200, ['a', 'b']).end('hello')],
    [
      'several chunks',
      (_request, response) => {
        response.writeHead(200, ['content-type', 'text/event-stream']);
        response.write('one');
        response.write(Buffer.from('two'));
        setImmediate(() => response.write('thré', 'latin1'));
        setImmediate(() => response.end(Buffer.alloc(20_000, 'x')));
      },
    ],
    [
      'chunks of several sizes',
      (_request, response) => {
        response.writeHead(200, ['a', 'b']);
        response.write(Buffer.alloc(100_000, 'x'));
        response.write('');
        response.end();
      },
    ],
    [
      'a body with a length',
      (_request, response) => {
        response.writeHead(200, ['content-length', '40006']);
        response.write('one');
        response.write(Buffer.alloc(40_000, 'x'));
        response.end('two');
      },
    ],
    ['204', (_request, response) => void response.writeHead(204, []).end('ignored')],
    ['304', (_request, response) => void response.writeHead(304, []).end()],
    ['an unknown status', (_request, response) => void response.writeHead(499, ['content-length', '0']).end()],
    ['its own date', (_request, response) => void response.writeHead(200, ['date', 'x', 'content-length', '0']).end()],
    ['a header in latin1', (_request, response) => void response.writeHead(200, ['a', '\xe9']).end(Buffer.from('x'))],
    ['close', (_request, response) => void response.writeHead(200, ['connection', 'close']).end('x')],
    ['its own keep-alive', (_request, response) => void response.writeHead(200, ['Connection', 'keep-alive']).end('x')],
    [
      'a head that is sent first',
      (_request, response) => {
        response.writeHead(200, ['a', 'b']).flushHeaders();
        setImmediate(() => response.end('x'));
      },
    ],
    [
      'status 401 to a request whose body was not read',
      (_request, response) => void response.writeHead(401, ['content-length', '0']).end(),
    ],
  ])('sends an answer with %s like Node', async (_what, handle) => {
    const [shortcut, node] = await both(
      (request, response) =>
        request.headers['last'] === undefined ? handle(request, response) : echo(request, response),
      post('one'),
      post('four', 'Last: 1', 'Connection: close'),
    );
    expect(node).toMatch(/^HTTP\/1\.1 \d/);
    expect(shortcut).toBe(node);
  });

  it.each([
    ['a value', ['a', 'b\r\nc: d']],
    ['a value above latin1', ['a', '\u0100']],
    ['a name', ['a\r\nb', 'c']],
    ['a coding, which it does not know', ['transfer-encoding', 'chunked']],
  ])('does not send a head with an invalid part: %s', async (_what, headers) => {
    const { port } = await listen((_request, response) => {
      expect(() => response.writeHead(200, headers)).toThrow();
      expect(response.headersSent).toBe(false);
      response.writeHead(500, ['content-length', '0', 'connection', 'close']).end();
    }, 'always');
    expect(await exchange(port, [post('a')])).toMatch(/^HTTP\/1\.1 500 /);
  });

  it('rejects a write with a callback, because the shortcut would never call the callback', async () => {
    const { port } = await listen((_request, response) => {
      response.writeHead(200, ['content-length', '1', 'connection', 'close']);
      expect(() => response.write('a', () => undefined)).toThrow('calls no callback');
      expect(() => response.write('a', 'latin1', () => undefined)).toThrow('calls no callback');
      response.end('a');
    }, 'always');
    expect(await exchange(port, [post('a')])).toMatch(/^HTTP\/1\.1 200 OK[^]*\r\n\r\na$/);
  });

  it('ignores what follows a request that closes the connection', async () => {
    let handled = 0;
    const { port } = await listen((request, response) => {
      handled += 1;
      setTimeout(() => echo(request, response), 50);
    }, 'always');
    expect(await exchange(port, [closes, post('b')])).toMatch(/^HTTP\/1\.1 200 OK[^]*"last"\]$/);
    expect(handled).toBe(1);
  });

  it('leaves to Node a WebSocket handshake that comes after a plain request', async () => {
    const onUpgrade = (_request: IncomingMessage, socket: { end(text: string): void }, head: Buffer) =>
      socket.end(`HTTP/1.1 101 Switching Protocols\r\n\r\n${head.toString()}`);
    const { port } = await listen(echo, 'always', { onUpgrade });
    const handshake = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nframe';
    expect(await exchange(port, [post('one'), handshake])).toMatch(/^HTTP\/1\.1 200 .*HTTP\/1\.1 101 .*frame$/s);
  });

  it('serves a connection with TLS', async () => {
    const [key, cert] = selfSigned();
    const { port } = await listen(
      (request, response) => {
        response.writeHead(200, ['a', String(request instanceof PlainRequest), 'connection', 'close']).end('x');
      },
      'always',
      { tls: { key, cert, minVersion: 'TLSv1.2' } },
    );
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const client = new Client(socket);
    socket.write(post('one'));
    expect(await client.end()).toMatch(/^HTTP\/1\.1 200 OK\r\na: true\r\n/);
  });
});

/** Returns a new key and its self-signed certificate, both in PEM. */
function selfSigned(): readonly [string, string] {
  const pem = execFileSync(
    'openssl',
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout - -days 1 -subj /CN=a'.split(' '),
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  );
  return [
    /-----BEGIN PRIVATE KEY.*?END PRIVATE KEY-----\n/s.exec(pem)?.[0] ?? '',
    /-----BEGIN CERT.*?END CERT[^\n]*\n/s.exec(pem)?.[0] ?? '',
  ];
}

describe('a client of the shortcut that disconnects', () => {
  const moments: readonly (readonly [string, string, RegExp | null])[] = [
    ['in its body', post('abc').slice(0, -1), null],
    ['before the answer', post('abc'), null],
    ['in the answer', post('abc', 'Answer: begin'), /\r\n\r\n3\r\none\r\n/],
  ];
  const ways = (['destroy', 'end', 'resetAndDestroy'] as const).flatMap((end) =>
    (['always', 'never'] as const).map((use) => [end, use] as const),
  );
  it.each(moments)('ends the response as with Node: %s', async (_moment, request, awaited) => {
    for (const [end, use] of ways) {
      const seen: string[] = [];
      let ended: () => void = () => undefined;
      const over = new Promise<void>((resolve) => (ended = resolve));
      let begun: () => void = () => undefined;
      const running = new Promise<void>((resolve) => (begun = resolve));
      const { port } = await listen((incoming, response) => {
        incoming.on('data', () => undefined);
        incoming.on('aborted', () => seen.push('aborted'));
        response.on('close', () => {
          seen.push(`close ${response.writableFinished} ${response.destroyed} ${response.closed}`);
          ended();
        });
        if (incoming.headers['answer'] !== undefined) response.writeHead(200, []).write('one');
        begun();
      }, use);
      const client = await Client.connect(port);
      client.socket.write(request);
      await running;
      if (awaited !== null) await client.receive(awaited);
      client.socket[end]();
      await over;
      client.socket.destroy();
      const isIncomplete = !request.includes('abc');
      expect(seen.toSorted()).toEqual([...(isIncomplete ? ['aborted'] : []), 'close false true true']);
    }
  });

  it('ends the response although many small packets of the next request have arrived', async () => {
    let closed: (isFinished: boolean) => void = () => undefined;
    const over = new Promise<boolean>((resolve) => (closed = resolve));
    let begun: () => void = () => undefined;
    const running = new Promise<void>((resolve) => (begun = resolve));
    const { port } = await listen((_incoming, response) => {
      response.on('close', () => closed(response.writableFinished));
      begun();
    }, 'always');
    const client = await Client.connect(port);
    client.socket.setNoDelay(true);
    client.socket.write(post('abc'));
    await running;
    for (let packet = 0; packet < 300; packet += 1) {
      client.socket.write('P');
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    client.socket.destroy();
    expect(await over).toBe(false);
  });

  it('before its first request leaves no connection', async () => {
    const { port, listener } = await listen(echo, 'always');
    for (const end of ['destroy', 'end', 'resetAndDestroy'] as const) (await Client.connect(port)).socket[end]();
    // This close waits until all connections have ended.
    await listener.close(60_000);
  });
});

describe('a slow reader', () => {
  it('slows the handler down, and gets everything', async () => {
    const total = 64;
    const piece = Buffer.alloc(1_048_576, 'x');
    let most = 0;
    let written = 0;
    const { port } = await listen((_request, response) => {
      response.writeHead(200, ['connection', 'close']);
      const more = (): void => {
        while (written < total) {
          written += 1;
          const hasRoom = response.write(piece);
          most = Math.max(most, response.writableLength);
          if (!hasRoom) {
            response.once('drain', more);
            return;
          }
        }
        response.end();
      };
      more();
    }, 'always');
    const socket = connect({ port, host: '127.0.0.1' });
    await once(socket, 'connect');
    socket.pause();
    socket.write(post('a'));
    await once(socket, 'readable');
    expect(written).toBeLessThan(total);
    let length = 0;
    socket.on('data', (bytes: Buffer) => (length += bytes.length));
    socket.resume();
    await once(socket, 'close');
    expect(length).toBeGreaterThan(total * piece.length);
    expect(most).toBeLessThan(3 * piece.length);
  });
});

describe('a listener with the shortcut that closes', () => {
  it('closes idle connections at once, and completes running requests', async () => {
    let respond: () => void = () => undefined;
    let begun: () => void = () => undefined;
    const running = new Promise<void>((resolve) => (begun = resolve));
    const { port, listener } = await listen((request, response) => {
      respond = () => void response.writeHead(200, ['content-length', '2']).end('ok');
      if (request.headers['wait'] === undefined) respond();
      else begun();
    }, 'always');
    const idle = await Client.connect(port);
    idle.socket.write(post('a'));
    await idle.receive(/ok$/);
    const busy = await Client.connect(port);
    busy.socket.write(post('a', 'Wait: 1'));
    await running;
    const closed = listener.close(60_000);
    expect(await idle.end()).toMatch(/ok$/);
    expect(busy.received).toBe('');
    respond();
    expect(await busy.end()).toMatch(/ok$/);
    await closed;
  });
});

describe('an idle connection of the shortcut', () => {
  /** Opens a server with short deadlines. */
  async function open(keepAliveMs: number, firstByteMs: number): Promise<number> {
    const server = createServer(echo);
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => void socket.end(`${error.code}`));
    openShortcut(server, {
      event: 'connection',
      isEligible: () => true,
      handle: echo,
      keepAliveMs,
      firstByteMs,
      checkMs: 20,
    });
    return portOf(server);
  }

  async function portOf(server: Server): Promise<number> {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push(() => new Promise((resolve) => server.close(resolve)));
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  it('causes the clientError ERR_HTTP_REQUEST_TIMEOUT if no byte arrives', async () => {
    const port = await open(60_000, 50);
    const client = await Client.connect(port);
    expect(await client.end()).toBe('ERR_HTTP_REQUEST_TIMEOUT');
  });

  it('closes when its idle time after the last answer has passed', async () => {
    const port = await open(50, 60_000);
    const client = await Client.connect(port);
    client.socket.write(post('a'));
    expect(await client.end()).toMatch(/"a"\]$/);
  });
});
