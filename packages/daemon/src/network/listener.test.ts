import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import {
  Agent,
  get,
  request as httpRequest,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { connect, createServer } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { once } from 'node:events';
import { networkInterfaces } from 'node:os';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { selfSigned } from '../../test/support/self-signed.js';
import { ListenError, listen as listenOn, openListener, type Listener, type ListenOptions } from './listener.js';

const openListeners: Listener[] = [];

/** Whether this host has IPv6, which some containers lack. Without it, the tests of IPv6 addresses are left out. */
const hasIpv6 = Object.values(networkInterfaces()).some(
  (list) => list?.some(({ family }) => family === 'IPv6') === true,
);
const usable = (ip: string) => hasIpv6 || !ip.includes(':');

/** The `onClientError` of all listeners. A test may replace it. */
let refuse: (error: NodeJS.ErrnoException, socket: Duplex) => void;

beforeEach(() => {
  refuse = (_error, socket) => socket.destroy();
});
afterEach(async () => {
  await Promise.all(openListeners.splice(0).map((listener) => listener.close(0)));
});

/** Opens a listener that closes after the test. */
async function listen(
  handle: RequestListener,
  ip = '127.0.0.1',
  port = 0,
  more: Pick<ListenOptions, 'onUpgrade' | 'onExpectContinue' | 'onPlainHttp' | 'server' | 'interfaces' | 'tls'> = {},
): Promise<Listener> {
  const listener = await openListener({
    ...more,
    ip,
    port,
    handle,
    onClientError: (error, socket) => refuse(error, socket),
    onError: () => undefined,
  });
  openListeners.push(listener);
  return listener;
}

/** Sends a GET request. Returns the response as soon as its header arrives, and discards its body. */
async function begin(url: string, agent: Agent): Promise<IncomingMessage> {
  const request = get(url, { agent });
  const [response] = (await once(request, 'response')) as [IncomingMessage]; // what Node documents for this event
  response.resume();
  return response;
}

describe('the listening socket', () => {
  const single: [string, RegExp][] = [
    ['127.0.0.1', /^http:\/\/127\.0\.0\.1:\d+$/],
    ['::1', /^http:\/\/\[::1\]:\d+$/],
    ['localhost', /^http:\/\/localhost:\d+$/],
  ];
  it.each(single.filter(([ip]) => usable(ip)))('reports a URL that clients can use, on %s', async (ip, pattern) => {
    const { addresses } = await listen((_request, response) => response.end('hello'), ip);
    expect(addresses).toEqual([expect.stringMatching(pattern)]);
    expect(await (await fetch(addresses[0] ?? '')).text()).toBe('hello');
  });

  it.each(['', '0.0.0.0', '::'].filter(usable))(
    'reports only URLs that clients can use, with 127.0.0.1 among them, on %j',
    async (ip) => {
      const { addresses } = await listen((_request, response) => response.end('hello'), ip);
      expect(addresses).toContainEqual(expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/));
      for (const address of addresses) expect(await (await fetch(address)).text()).toBe('hello');
    },
  );

  it('reports only 127.0.0.1 if a sandbox hides the network interfaces, and accepts connections there', async () => {
    const interfaces = () => {
      throw new Error('A system error occurred: uv_interface_addresses returned 97');
    };
    const { addresses } = await listen((_request, response) => response.end('hello'), '', 0, { interfaces });
    expect(addresses).toEqual([expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/)]);
    expect(await (await fetch(addresses[0] ?? '')).text()).toBe('hello');
  });

  it('fails with a ListenError that has the reason, and names the setting to correct', async () => {
    const other = createServer();
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const fault = async (ip: string, at: number) =>
      listen(() => undefined, ip, at).then(
        () => undefined,
        (error: unknown) => (error instanceof ListenError ? [error.message, error.about] : error),
      );
    expect(await fault('127.0.0.1', port)).toEqual([`listening at 127.0.0.1 port ${port}: the port is in use`, 'port']);
    expect(await fault('192.0.2.1', 8000)).toEqual([
      'listening at 192.0.2.1 port 8000: this machine has no such address',
      'ip',
    ]);
    expect(await fault('no.such.host.invalid', 8000)).toEqual([
      'listening at no.such.host.invalid port 8000: there is no such host name',
      'ip',
    ]);
    other.close();
    await once(other, 'close');
  });

  it('reports that the name server does not answer, not a wrong host name, at EAI_AGAIN', async () => {
    const server = createServer();
    server.listen = () => {
      queueMicrotask(() => server.emit('error', Object.assign(new Error('EAI_AGAIN'), { code: 'EAI_AGAIN' })));
      return server;
    };
    await expect(listenOn(server, 'bmc.example', 8000)).rejects.toThrow(
      'listening at bmc.example port 8000: the name server does not answer',
    );
  });
});

describe('a request that Node rejects by default', () => {
  const ask = async (head: string) => {
    const listener = await listen((_request, response) => response.end('ours'));
    const socket = connect(Number(new URL(listener.addresses[0] ?? '').port), '127.0.0.1');
    socket.end(head);
    let answer = '';
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
    await once(socket, 'close');
    return answer;
  };

  it.each([
    ['no Host', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['an unknown expectation', 'GET / HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nConnection: close\r\n\r\n'],
  ])('reaches the handler if it has %s', async (_what, head) => {
    expect(await ask(head)).toMatch(/^HTTP\/1\.1 200 [^]*ours/);
  });

  it('is passed to onClientError with HPE_INVALID_METHOD if its method is CONNECT', async () => {
    refuse = (error, socket) => socket.end(`HTTP/1.1 501 ${error.code ?? ''}\r\n\r\n`);
    expect(await ask('CONNECT example:443 HTTP/1.1\r\nHost: x\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 501 HPE_INVALID_METHOD\r\n/,
    );
  });
});

describe('a request for another protocol', () => {
  const head = 'GET /realtime HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
  const open = async (more: Pick<ListenOptions, 'onUpgrade'>) => {
    const listener = await listen((request, response) => response.end(`plain ${request.url}`), '127.0.0.1', 0, more);
    const socket = connect(Number(new URL(listener.addresses[0] ?? '').port), '127.0.0.1');
    socket.setEncoding('latin1');
    socket.write(`${head}more`);
    return { listener, socket };
  };

  it('goes to onUpgrade with its socket and the bytes after its header, if the protocol is WebSocket', async () => {
    const { socket } = await open({
      onUpgrade: (request, taken, rest) => taken.end(`HTTP/1.1 101 \r\n\r\n${request.url} ${rest.toString()}`),
    });
    let answer = '';
    socket.on('data', (text: string) => (answer += text));
    await once(socket, 'end');
    expect(answer).toBe('HTTP/1.1 101 \r\n\r\n/realtime more');
  });

  it('is answered as plain HTTP if there is no onUpgrade', async () => {
    const { socket } = await open({});
    const [answer] = (await once(socket, 'data')) as [string]; // what Node documents for this event
    expect(answer).toMatch(/^HTTP\/1\.1 200 [^]*plain \/realtime/);
    socket.destroy();
  });

  it('goes to the handler as plain HTTP, with its body, if the protocol is not WebSocket', async () => {
    const onUpgrade = jest.fn();
    const bodies: string[] = [];
    const handle: RequestListener = (request, response) => {
      void text(request).then((body) => {
        bodies.push(`${request.url} ${body} ${request.headers.connection}`);
        response.end('answer');
      });
    };
    const { addresses } = await listen(handle, '127.0.0.1', 0, { onUpgrade });
    const offer = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n';
    const answers = await exchange(
      addresses[0] ?? '',
      `POST /a HTTP/1.1\r\nHost: x\r\n${offer}Content-Length: 4\r\n\r\nbody` +
        `POST /b HTTP/1.1\r\nHost: x\r\n${offer}Transfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n0\r\n\r\n` +
        'GET /c HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: tea\r\n\r\n',
    );
    expect(answers.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(3);
    expect(bodies).toEqual(['/a body undefined', '/b xy undefined', '/c  close']);
    expect(onUpgrade).not.toHaveBeenCalled();
  });

  it.each([
    ['after it', `${head}\0\0 no HTTP\r\n\r\n`, 1],
    ['in its body', head.replace('GET', 'POST').replace('\r\n\r\n', '\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'), 0],
  ])('does not hide malformed bytes %s: onClientError is called and can answer', async (_where, bytes, answered) => {
    const codes: (string | undefined)[] = [];
    refuse = (error, socket) => {
      codes.push(error.code);
      socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
    };
    const handle: RequestListener = (request, response) => {
      if (request.method === 'GET') response.end('answer');
      else request.on('error', () => undefined).resume();
    };
    for (const tls of [undefined, selfSigned()]) {
      const { addresses } = await listen(handle, '127.0.0.1', 0, tls === undefined ? {} : { tls });
      const answers = await exchange(addresses[0] ?? '', bytes);
      expect(answers.match(/HTTP\/1\.1 200 OK/g) ?? []).toHaveLength(answered);
      expect(answers).toMatch(/HTTP\/1\.1 400 Bad Request\r\nConnection: close\r\n\r\n$/);
    }
    expect(codes).toHaveLength(2);
  });

  it('is answered after the earlier requests of its connection', async () => {
    const waiting: ServerResponse[] = [];
    const handle: RequestListener = (request, response) => {
      if (request.url === '/slow') waiting.push(response);
      else response.end(`answer ${request.url}`);
    };
    const { addresses } = await listen(handle);
    const slow = 'GET /slow HTTP/1.1\r\nHost: x\r\n\r\n';
    const last = 'GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    const answers = exchange(addresses[0] ?? '', `${slow}${slow}${head}${last}`);
    for (let answered = 0; answered < 2; answered += 1) {
      while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
      waiting.shift()?.end(`slow ${answered}`);
    }
    expect((await answers).match(/slow \d|answer \/(?:realtime|last)/g)).toEqual([
      'slow 0',
      'slow 1',
      'answer /realtime',
      'answer /last',
    ]);
  });

  it('loses no packet that arrives on its connection while earlier requests wait', async () => {
    const waiting: ServerResponse[] = [];
    const handle: RequestListener = (request, response) => {
      if (request.url === '/slow') waiting.push(response);
      else response.end(`answer ${request.url}`);
    };
    const { addresses } = await listen(handle);
    const socket = connect({ port: Number(new URL(addresses[0] ?? '').port), host: '127.0.0.1', allowHalfOpen: true });
    const answers = text(socket);
    const write = (bytes: string) => new Promise((resolve) => socket.write(bytes, resolve));
    await write(`${'GET /slow HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2)}${head}`);
    const answer = async () => {
      while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
      waiting.shift()?.end('slow');
    };
    await answer();
    await write('GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    await answer();
    expect((await answers).match(/slow|answer \/(?:realtime|last)/g)).toEqual([
      'slow',
      'slow',
      'answer /realtime',
      'answer /last',
    ]);
  });

  it('may come 200 times on one connection without a leak of event listeners', async () => {
    const warnings: Error[] = [];
    const warned = (warning: Error): void => void warnings.push(warning);
    process.on('warning', warned);
    const { addresses } = await listen((_request, response) => response.end('answer'));
    const last = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    const answers = await exchange(addresses[0] ?? '', `${head.repeat(200)}${last}`);
    process.removeListener('warning', warned);
    expect(answers.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(201);
    expect(warnings.filter(({ name }) => name === 'MaxListenersExceededWarning')).toEqual([]);
  });

  it('is disconnected when the listener closes, even if onUpgrade has its socket', async () => {
    const { listener, socket } = await open({ onUpgrade: (_request, taken) => taken.write('HTTP/1.1 101 \r\n\r\n') });
    await once(socket, 'data');
    const ended = once(socket, 'close');
    await listener.close(0);
    await ended;
  });
});

describe('a request with Expect: 100-continue', () => {
  const post = async (more: Pick<ListenOptions, 'onExpectContinue'>) => {
    const handle: RequestListener = (request, response) => {
      request.resume().once('end', () => response.end('taken'));
    };
    const listener = await listen(handle, '127.0.0.1', 0, more);
    const socket = connect(Number(new URL(listener.addresses[0] ?? '').port), '127.0.0.1');
    socket.setEncoding('latin1');
    socket.write(
      'POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n',
    );
    const [first] = (await once(socket, 'data')) as [string]; // what Node documents for this event
    if (first.startsWith('HTTP/1.1 100 ')) socket.write('body');
    let rest = first;
    socket.on('data', (text: string) => (rest += text));
    await once(socket, 'close');
    return rest.split('\r\n').filter((line) => line.startsWith('HTTP/1.1 '));
  };

  it('gets 100 Continue, then its answer, if there is no onExpectContinue', async () => {
    expect(await post({})).toEqual(['HTTP/1.1 100 Continue', 'HTTP/1.1 200 OK']);
  });

  it('can be rejected by onExpectContinue before the client sends the body', async () => {
    const onExpectContinue: RequestListener = (_request, response) => {
      response.writeHead(413, { Connection: 'close' }).end();
    };
    expect(await post({ onExpectContinue })).toEqual(['HTTP/1.1 413 Payload Too Large']);
  });
});

describe('the server options', () => {
  it('replace the defaults of Node, such as the maximum size of a header', async () => {
    const listener = await listen((_request, response) => response.end(), '127.0.0.1', 0, {
      server: { maxHeaderSize: 2000 },
    });
    const big = await fetch(listener.addresses[0] ?? '', { headers: { 'x-long': 'x'.repeat(3000) } }).then(
      ({ status }) => status,
      () => 'refused',
    );
    expect(big).toBe('refused');
  });

  it('keep the 60 s deadline for headers if they remove the deadline for requests', async () => {
    let server: Partial<Server> = {};
    const handle: RequestListener = ({ socket }, response) => {
      // Node's socket has a property `server`, which is missing in Node's types.
      ({ server } = socket as typeof socket & { readonly server: Server });
      response.end();
    };
    const listener = await listen(handle, '127.0.0.1', 0, { server: { requestTimeout: 0 } });
    await fetch(listener.addresses[0] ?? '');
    expect([server.requestTimeout, server.headersTimeout]).toEqual([0, 60_000]);
  });
});

describe('closing a listener', () => {
  it('rejects new connections, waits for running requests, and ends before the deadline', async () => {
    let finish: ((response: ServerResponse) => void) | undefined;
    const started = new Promise<ServerResponse>((resolve) => (finish = resolve));
    const listener = await listen((request, response) => {
      if (request.url === '/slow') finish?.(response);
      else response.end('fast');
    });
    const agent = new Agent({ keepAlive: true });
    const url = listener.addresses[0] ?? '';
    await once(await begin(`${url}/fast`, agent), 'end');
    const slow = begin(`${url}/slow`, agent);
    const response = await started;
    const closed = listener.close(60_000);
    await expect(fetch(url)).rejects.toThrow('fetch failed');
    response.end('done');
    const answer = await slow;
    await once(answer, 'end');
    expect(answer.statusCode).toBe(200);
    // The listener closes long before its deadline of 60 s, because only the request delayed it.
    await closed;
    agent.destroy();
  });

  it('destroys connections with an unanswered request at the deadline', async () => {
    const listener = await listen(() => undefined);
    const socket = connect(Number(new URL(listener.addresses[0] ?? '').port), '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(socket, 'connect');
    const ended = once(socket, 'close');
    await listener.close(100);
    await ended;
  });

  it('does not wait until the deadline for connections without a request', async () => {
    const listener = await listen((_request, response) => response.end());
    const socket = connect(Number(new URL(listener.addresses[0] ?? '').port), '127.0.0.1');
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    const ended = once(socket, 'close');
    // This deadline is longer than the timeout of the test.
    await listener.close(60_000);
    await ended;
  });

  it('does not wait until the deadline for TLS handshakes, nor for unused or idle TLS connections', async () => {
    const listener = await listen((_request, response) => response.end('hello'), '127.0.0.1', 0, { tls: selfSigned() });
    const port = Number(new URL(listener.addresses[0] ?? '').port);
    const trusting = { port, host: '127.0.0.1', rejectUnauthorized: false };
    const [mute, agreed, used] = [connect(port, '127.0.0.1'), connectTls(trusting), connectTls(trusting)];
    for (const socket of [mute, agreed, used]) socket.on('error', () => undefined);
    await Promise.all([once(mute, 'connect'), once(agreed, 'secureConnect'), once(used, 'secureConnect')]);
    used.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const [answer] = (await once(used, 'data')) as [Buffer]; // what Node documents for this event
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 /);
    const ended = Promise.all([mute, agreed, used].map((socket) => once(socket, 'close')));
    await listener.close(60_000);
    await ended;
  });
});

describe('a further address of the listening socket', () => {
  const hello: RequestListener = (request, response) => {
    response.end(`to ${request.socket.localAddress ?? ''}`);
  };
  const portOf = ({ addresses }: Listener): string => new URL(addresses[0] ?? '').port;
  const ask = async (url: string, agent: Agent): Promise<string> => {
    // Node documents this argument of the event.
    const [response] = (await once(get(url, { agent }), 'response')) as [IncomingMessage];
    let text = '';
    for await (const part of response.setEncoding('utf8')) text += String(part);
    return text;
  };

  it('accepts connections until it is removed, and serves its open connections even after that', async () => {
    const listener = await listen(hello);
    const url = `http://127.0.0.2:${portOf(listener)}/`;
    const agent = new Agent({ keepAlive: true });
    await expect(ask(url, agent)).rejects.toThrow('ECONNREFUSED');
    const leave = await listener.addAddress('127.0.0.2');
    await expect(ask(url, agent)).resolves.toBe('to 127.0.0.2');
    leave();
    // The open connection still works.
    await expect(ask(url, agent)).resolves.toBe('to 127.0.0.2');
    await expect(ask(url, new Agent())).rejects.toThrow('ECONNREFUSED');
    agent.destroy();
  });

  it('still accepts connections after its removal if the own address of the listener covers it', async () => {
    const listener = await listen(hello, '0.0.0.0');
    const leave = await listener.addAddress('127.0.0.2');
    leave();
    await expect(ask(`http://127.0.0.2:${portOf(listener)}/`, new Agent())).resolves.toBe('to 127.0.0.2');
  });

  it('is rejected with a ListenError if the host does not have it', async () => {
    const listener = await listen(hello);
    await expect(listener.addAddress('192.0.2.77')).rejects.toThrow(ListenError);
  });

  it('still answers its running requests while the listener closes', async () => {
    const held: ServerResponse[] = [];
    const listener = await listen((_request, response) => void held.push(response));
    await listener.addAddress('127.0.0.2');
    const answer = ask(`http://127.0.0.2:${portOf(listener)}/`, new Agent());
    while (held.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const closed = listener.close(60_000);
    for (const response of held) response.end('late');
    await expect(answer).resolves.toBe('late');
    await closed;
  });
});

describe('a TLS port', () => {
  const onPlainHttp: RequestListener = ({ url, headers }, response) => {
    response.writeHead(308, { Location: `https://${headers.host ?? ''}${url ?? ''}` }).end();
  };
  const secured = async (handle: RequestListener = (_request, response) => response.end('secret')) => {
    const listener = await listen(handle, '127.0.0.1', 0, { tls: selfSigned(), onPlainHttp });
    return { listener, port: Number(new URL(listener.addresses[0] ?? '').port) };
  };
  const all = async (socket: Duplex): Promise<string> => {
    let answer = '';
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
    await once(socket, 'close');
    return answer;
  };

  it('answers plain HTTP with onPlainHttp, once per connection', async () => {
    const { port } = await secured();
    const socket = connect(port, '127.0.0.1');
    const ask = `GET /redfish/v1?a=b HTTP/1.1\r\nHost: bmc:${port}\r\n\r\n`;
    socket.write(ask + ask);
    const answer = await all(socket);
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 308']);
    expect(answer).toContain(`\r\nLocation: https://bmc:${port}/redfish/v1?a=b\r\n`);
    expect(answer).toContain('\r\nConnection: close\r\n');
  });

  it('never answers plain HTTP with 100 Continue', async () => {
    const { port } = await secured();
    const socket = connect(port, '127.0.0.1');
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 6\r\n\r\n');
    expect((await all(socket)).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 308']);
  });

  it('with onPlainHttp still serves several TLS requests on one connection, with long bodies both ways', async () => {
    const { port } = await secured((request, response) => request.pipe(response));
    const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
    const body = 'x'.repeat(300_000);
    const head = (connection: string) =>
      `POST / HTTP/1.1\r\nHost: x\r\nConnection: ${connection}\r\nContent-Length: ${body.length}\r\n\r\n`;
    socket.write(head('keep-alive') + body + head('close') + body);
    const answer = await all(socket);
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 200']);
    expect(answer.match(/x/g)?.length).toBeGreaterThanOrEqual(600_000);
  });

  it('detects plain HTTP even if its first byte arrives alone', async () => {
    const { port } = await secured();
    const socket = connect(port, '127.0.0.1');
    socket.setNoDelay(true);
    socket.write('G');
    // When the server has answered a later connection, it has read the byte of this one.
    await once(httpRequest({ host: '127.0.0.1', port }).end(), 'response');
    socket.write('ET / HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await all(socket)).toMatch(/^HTTP\/1\.1 308 /);
  });

  it('closes connections with bytes that are neither TLS nor HTTP, or without any bytes', async () => {
    const { port } = await secured();
    const [nonsense, empty] = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
    nonsense.write('\x00\x01\x02');
    empty.end();
    expect(await Promise.all([all(nonsense), all(empty)])).toEqual(['', '']);
  });

  it.each([
    ['no byte for a minute', '', 60_000],
    ['no complete request within ten seconds', 'GET / HTTP/1.1\r\nHost', 10_000],
  ])('closes a connection that sends %s', async (_what, bytes, ms) => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'] });
    try {
      const { port } = await secured();
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      socket.write(bytes);
      const ended = all(socket);
      // When the server has answered a later connection, it has read the bytes of this one.
      await once(httpRequest({ host: '127.0.0.1', port }).end(), 'response');
      jest.advanceTimersByTime(ms - 1);
      expect(socket.destroyed).toBe(false);
      jest.advanceTimersByTime(1);
      expect(await ended).toBe('');
    } finally {
      jest.useRealTimers();
    }
  });

  it('destroys connections without a complete request at the deadline when the listener closes', async () => {
    const { listener, port } = await secured();
    const [mute, half] = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
    for (const socket of [mute, half]) socket.on('error', () => undefined);
    half.write('GET / HTTP/1.1\r\n');
    await Promise.all([once(mute, 'connect'), once(half, 'connect')]);
    // `once` would throw at a reset, which is also correct: it happens if the server has not read all bytes.
    const ended = Promise.all([mute, half].map((socket) => new Promise((resolve) => socket.once('close', resolve))));
    await listener.close(100);
    await ended;
  });

  it('closes connections with plain HTTP if there is no onPlainHttp, and does not call the handler', async () => {
    const listener = await listen((_request, response) => response.end('secret'), '127.0.0.1', 0, {
      tls: selfSigned(),
    });
    const socket = connect(Number(new URL(listener.addresses[0] ?? '').port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await all(socket)).not.toContain('secret');
  });
});

describe('a blocked event loop', () => {
  it('loses none of 1,000 new connections', async () => {
    const { port } = new URL((await listen((_request, response) => response.end())).addresses[0] ?? '');
    const client = `
      let left = 1000;
      for (let each = 0; each < 1000; each += 1) {
        require('node:net').connect(${port}, '127.0.0.1', () => (left -= 1) === 0 && process.exit(0));
      }`;
    // The wait for the client blocks this process, so only the kernel accepts the connections.
    const { status } = spawnSync(process.execPath, ['-e', client], { timeout: 30_000 });
    expect(status).toBe(0);
  });
});

/** Sends bytes to a listener. Returns everything that the listener sends until it closes the connection. */
async function exchange(address: string, bytes: string): Promise<string> {
  const { protocol, port, hostname: host } = new URL(address);
  const options = { port: Number(port), host, rejectUnauthorized: false };
  const socket = protocol === 'https:' ? connectTls(options) : connect(options);
  socket.on('error', () => undefined);
  socket.write(bytes, 'latin1');
  let answer = '';
  socket.setEncoding('latin1').on('data', (piece: string) => (answer += piece));
  await once(socket, 'close');
  return answer;
}
