import { describe, expect, it } from '@jest/globals';
import { deploymentAt, send, sendToEnd, upstreamFor } from './sent-request.js';
import { closingAfterEach } from './closing.js';
import { answering, ScriptedServer, type ScriptedConnection } from './scripted-server.js';

const closing = closingAfterEach();

async function start(answer: (connection: ScriptedConnection) => void) {
  const server = closing(await ScriptedServer.start(answering((_body, connection) => (answer(connection), null))));
  const deployment = deploymentAt(server.apiBase);
  return { server, deployment, upstream: closing(upstreamFor([deployment])) };
}

const broken: readonly [string, string, string, string][] = [
  ['bytes that are not HTTP', 'SSH-2.0-OpenSSH_9.2\r\n', 'malformedAnswer', 'is not valid HTTP/1.1 (no status line)'],
  [
    'garbage',
    '\u0000\u0001\u0015\u0003garbage\r\n\r\n',
    'malformedAnswer',
    'is not valid HTTP/1.1 (a control character in its head)',
  ],
  [
    'a TLS alert',
    '\u0015\u0003\u0001\u0000\u0002\u0002\u0046',
    'malformedAnswer',
    'is not valid HTTP/1.1 (no status line)',
  ],
  [
    'half a head',
    'HTTP/1.1 200 OK\r\ncontent-le',
    'malformedAnswer',
    'closed the connection in the middle of its answer',
  ],
  [
    'less than its length',
    'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc',
    'malformedAnswer',
    'closed the connection in the middle of its answer',
  ],
  [
    'less than its length, closing',
    'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 9\r\n\r\nabc',
    'malformedAnswer',
    'shorter than its Content-Length',
  ],
  [
    'no last chunk',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n',
    'malformedAnswer',
    'closed the connection in the middle of its answer',
  ],
  [
    'half a chunk',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nabc',
    'malformedAnswer',
    'closed the connection in the middle of its answer',
  ],
  [
    'an invalid chunk',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nabc',
    'malformedAnswer',
    'is not valid HTTP/1.1 (an invalid chunk)',
  ],
  [
    'two lengths',
    'HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd',
    'malformedAnswer',
    'is not valid HTTP/1.1 (more than one Content-Length)',
  ],
  [
    'a length that is not a number',
    'HTTP/1.1 200 OK\r\ncontent-length: 3, 3\r\n\r\nabc',
    'malformedAnswer',
    'is not valid HTTP/1.1 (a Content-Length that is not a number)',
  ],
  [
    'an upgrade',
    'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
    'malformedAnswer',
    'is not valid HTTP/1.1 (a 101 without a request for an upgrade)',
  ],
  [
    'a head of 100 KB',
    `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`,
    'malformedAnswer',
    'is too large (more than 65536 bytes)',
  ],
  ['nothing', '', 'connection', 'closed the connection before it answered'],
];

describe('an upstream that answers', () => {
  it.each(broken)('%s is reported once, as an error that names the cause', async (_name, text, kind, words) => {
    const { deployment, upstream } = await start(({ socket }) => socket.end(text, 'latin1'));
    const { error, callbacks } = await sendToEnd(upstream, deployment);
    expect([error?.status, error?.kind, callbacks.filter((one) => one === 'error' || one === 'end')]).toEqual([
      500,
      kind,
      ['error'],
    ]);
    expect(error?.message).toContain(words);
    expect(error?.message).toMatch(
      /^litellm\.InternalServerError: InternalServerError: Hosted_vllmException - Connection error\. /,
    );
  });

  it('without a length ends its answer with its connection', async () => {
    const { deployment, upstream } = await start(({ socket }) => socket.end('HTTP/1.0 200 OK\r\n\r\nabc'));
    const sent = await sendToEnd(upstream, deployment);
    expect([sent.text, sent.callbacks]).toEqual(['abc', ['head', 'data', 'end']]);
  });

  it.each([
    ['a length', 'content-length: 900000'],
    ['chunks', 'transfer-encoding: chunked'],
    ['no length', 'connection: close'],
  ])(
    'with %s and then resets the connection causes an error, even while the client does not read',
    async (_name, header) => {
      const { server, deployment, upstream } = await start(({ socket }) => {
        socket.write(`HTTP/1.1 200 OK\r\n${header}\r\n\r\n`);
        socket.write(header.startsWith('transfer') ? '3\r\nabc\r\n' : 'abc');
      });
      const sent = send(upstream, deployment, {}, () => sent.call?.pause());
      await sent.waitForBytes(3);
      server.connections[0]?.socket.resetAndDestroy();
      await sent.waitForEnd();
      expect([sent.text, sent.error?.kind]).toEqual(['abc', 'malformedAnswer']);
      expect(sent.error?.message).toContain('reset the connection in the middle of its answer');
    },
  );

  it('completely, and then resets the connection, loses nothing: the client still gets the complete answer', async () => {
    const { server, deployment, upstream } = await start(({ socket, index }) => {
      if (index === 0) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 30003\r\n\r\nabc');
      else socket.end('HTTP/1.1 200 OK\r\n\r\n');
    });
    const sent = send(upstream, deployment, {}, () => sent.call?.pause());
    await sent.waitForBytes(3);
    const connection = await server.waitForConnection(1);
    connection.socket.write('x'.repeat(30_000));
    // The next call ends after its own bytes were read. So the 30,000 bytes before it were read as well.
    await sendToEnd(upstream, deployment);
    expect(sent.callbacks).toEqual(['head', 'data']);
    connection.socket.resetAndDestroy();
    await sent.waitForEnd();
    expect([sent.bytes.length, sent.error]).toEqual([30_003, undefined]);
  });

  it('twice to a request gets its connection closed, and the next request uses another connection', async () => {
    const ok = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}';
    const { server, deployment, upstream } = await start(({ socket }) =>
      socket.write(`${ok}HTTP/1.1 500 Late\r\ncontent-length: 0\r\n\r\n`),
    );
    for (let at = 0; at < 3; at += 1) {
      const sent = await sendToEnd(upstream, deployment);
      expect([sent.status, sent.text, sent.error]).toEqual([200, '{}', undefined]);
    }
    expect(server.connections).toHaveLength(3);
  });
});

describe('an upstream that cannot be reached', () => {
  it('is reported with its port if it refuses the connection', async () => {
    const { server, deployment, upstream } = await start(() => undefined);
    const { port } = server;
    await server.close();
    const { error, callbacks } = await sendToEnd(upstream, deployment);
    expect(error?.message).toBe(
      'litellm.InternalServerError: InternalServerError: Hosted_vllmException - Connection error. ' +
        `127.0.0.1:${port} refused the connection. Received Model Group=public-model\nAvailable Model Group Fallbacks=None`,
    );
    expect([error?.status, error?.kind, callbacks]).toEqual([500, 'connection', ['error']]);
  });

  it('is reported with its name if there is no such host', async () => {
    const deployment = deploymentAt('http://no-such-host.invalid/v1');
    const { error } = await sendToEnd(closing(upstreamFor([deployment])), deployment);
    expect(error?.kind).toBe('connection');
    expect(error?.message).toMatch(/(There is no host|The name server does not answer for) no-such-host\.invalid/);
  });
});
