import { describe, expect, it } from '@jest/globals';
import { BodyStream } from '../../src/upstream/body-stream.js';
import { deploymentAt, send, sendToEnd, upstreamFor } from './sent-request.js';
import { waitFor } from '../harness/wait.js';
import { closingAfterEach } from './closing.js';
import { answering, answerOf, ScriptedServer, type ScriptedConnection } from './scripted-server.js';

const closing = closingAfterEach();

/** Starts a server that answers complete requests, and an upstream client for it. */
async function start(
  answer: (body: string, connection: ScriptedConnection) => string | null = () => answerOf('{"ok":true}'),
) {
  const server = closing(await ScriptedServer.start(answering(answer)));
  const deployment = deploymentAt(server.apiBase);
  const upstream = closing(upstreamFor([deployment]));
  return { server, deployment, upstream };
}

describe('a request to an upstream', () => {
  it('arrives complete with its headers, an exact length and identity as the only coding', async () => {
    const { server, deployment, upstream } = await start();
    const sent = await sendToEnd(upstream, deployment, { body: [Buffer.from('{"a":'), Buffer.from('"é"}')] });
    expect([sent.status, sent.text, sent.callbacks]).toEqual([200, '{"ok":true}', ['head', 'data', 'end']]);
    expect(server.connections[0]?.text).toBe(
      [
        'POST /v1/chat/completions HTTP/1.1',
        `host: 127.0.0.1:${server.port}`,
        'connection: keep-alive',
        'content-type: application/json',
        'accept-encoding: identity',
        'content-length: 10',
        '',
        Buffer.from('{"a":"é"}').toString('latin1'),
      ].join('\r\n'),
    );
  });

  it.each([
    ['no chunk', []],
    ['an empty chunk', [Buffer.alloc(0)]],
    ['one chunk', [Buffer.alloc(100_000, 'a')]],
    ['small chunks', [Buffer.from('a'), Buffer.alloc(0), Buffer.from('b')]],
    ['chunks of 10 MB together', Array.from({ length: 160 }, (_, at) => Buffer.alloc(65_536, at))],
    ['large chunks, empty ones among them', [Buffer.alloc(0), Buffer.alloc(9_000_000, 'b'), Buffer.alloc(0)]],
  ])('arrives unchanged, sent as %s', async (_name, body) => {
    const { server, deployment, upstream } = await start();
    await sendToEnd(upstream, deployment, { body });
    const text = server.connections[0]?.text ?? '';
    const whole = Buffer.concat(body);
    expect(text).toContain(`\r\ncontent-length: ${whole.length}\r\n`);
    expect(text.slice(text.indexOf('\r\n\r\n') + 4) === whole.toString('latin1')).toBe(true);
  });

  it('frees the body when the kernel has all of it, and not before', async () => {
    const { deployment, upstream } = await start();
    const sent = await sendToEnd(upstream, deployment, { body: [Buffer.alloc(9_000_000, 'a')] });
    expect(sent.call?.isBodyFree).toBe(true);

    // The server answers after the head, and reads no more.
    const hasty = closing(
      await ScriptedServer.start(({ socket }) => {
        socket.pause();
        socket.write(answerOf('{}'));
      }),
    );
    const early = await sendToEnd(upstream, deploymentAt(hasty.apiBase), { body: [Buffer.alloc(64_000_000, 'a')] });
    expect([early.text, early.call?.isBodyFree]).toEqual(['{}', false]);
  });

  it('uses the connection of the previous request', async () => {
    const { server, deployment, upstream } = await start();
    for (let at = 0; at < 20; at += 1) expect((await sendToEnd(upstream, deployment)).text).toBe('{"ok":true}');
    expect(server.connections).toHaveLength(1);
  });

  it('does not wait for other requests: 300 requests at once use 300 connections', async () => {
    const waiting: ScriptedConnection[] = [];
    const { server, deployment, upstream } = await start((_body, connection) => {
      waiting.push(connection);
      // The server answers only after the last request has arrived.
      if (waiting.length === 300) for (const { socket } of waiting) socket.write(answerOf('{}'));
      return null;
    });
    const sent = Array.from({ length: 300 }, () => send(upstream, deployment));
    await Promise.all(sent.map((one) => one.waitForEnd()));
    expect(sent.filter(({ ended, status }) => ended && status === 200)).toHaveLength(300);
    expect(server.connections).toHaveLength(300);
  });

  it('has the path, the query and the host of its URL, but neither its user nor its fragment', async () => {
    const { server, deployment, upstream } = await start();
    await sendToEnd(upstream, deployment, {
      method: 'GET',
      url: `http://user:secret@localhost:${server.port}/v1/x%2Fy?a=1&b=/#part`,
      body: [],
    });
    expect(server.connections[0]?.text.split('\r\n').slice(0, 2)).toEqual([
      'GET /v1/x%2Fy?a=1&b=/ HTTP/1.1',
      `host: localhost:${server.port}`,
    ]);
  });

  it('fails if its stream has more bytes than announced, and sends no byte beyond this size', async () => {
    const { server, deployment, upstream } = await start(() => null);
    const body = new BodyStream({ byteLength: 5, beginning: [Buffer.from('abc')], onRoom: () => undefined });
    const sent = send(upstream, deployment, { body });
    const connection = await server.waitForConnection(1);
    await waitFor(
      () => connection.text.endsWith('abc') || undefined,
      () => 'the beginning of the body did not arrive',
    );
    body.add(Buffer.from('dePOST /v1/other HTTP/1.1\r\n\r\n'));
    const { error } = await sent.waitForEnd();
    expect(error?.message).toContain('a body of 32 bytes, announced as 5');
    await waitFor(
      () => connection.socket.destroyed || undefined,
      () => 'the connection is still open',
    );
    expect(connection.text.endsWith('content-length: 5\r\n\r\nabc')).toBe(true);
  });

  it('cannot contain a header with a line break: the error names the header, not its value', async () => {
    const { server, deployment, upstream } = await start();
    const sent = send(upstream, deployment, { headers: ['authorization', 'Bearer secret\r\nx-evil: 1'] });
    expect(sent.callbacks).toEqual([]);
    const { error } = await sent.waitForEnd();
    expect(error?.kind).toBe('internal');
    expect(error?.message).toContain('invalid authorization header');
    expect(error?.message).not.toContain('secret');
    expect(server.connections).toHaveLength(0);
  });
});

describe('an answer', () => {
  it('is reported with lower-case names and all repeated headers', async () => {
    const head = 'HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\nX-Two: a\r\nX-TWO: b';
    const { deployment, upstream } = await start(() => answerOf('no', head));
    const sent = await sendToEnd(upstream, deployment);
    expect([sent.status, sent.headers]).toEqual([
      429,
      ['retry-after', '7', 'x-two', 'a', 'x-two', 'b', 'content-length', '2'],
    ]);
  });

  it('is reported without the interim answers before it', async () => {
    const interim = 'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n';
    const { deployment, upstream } = await start(() => interim + answerOf('{}'));
    const sent = await sendToEnd(upstream, deployment);
    expect([sent.status, sent.callbacks]).toEqual([200, ['head', 'data', 'end']]);
  });

  it('is reported without an unexpected 100 Continue, with its bytes cut in two at many places', async () => {
    const interim = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 100 Again\r\nx: y\r\n\r\n';
    const body = 'HTTP/1.1 100 Continue\r\n\r\n is text here';
    const text = interim + answerOf(body);
    for (let at = 0; at < interim.length + 20; at += 7) {
      const { deployment, upstream } = await start((_body, { socket }) => {
        socket.write(text.slice(0, at));
        // This write becomes a separate segment.
        setImmediate(() => socket.write(text.slice(at)));
        return null;
      });
      for (let request = 0; request < 2; request += 1) {
        const sent = await sendToEnd(upstream, deployment);
        expect([sent.status, sent.text, sent.error]).toEqual([200, body, undefined]);
      }
    }
  });

  it('is reported unchanged if it is a redirect, which the client does not follow', async () => {
    const { server, deployment, upstream } = await start(() =>
      answerOf('', 'HTTP/1.1 307 Moved\r\nLocation: /elsewhere'),
    );
    const sent = await sendToEnd(upstream, deployment);
    expect([sent.status, sent.header('location'), sent.ended]).toEqual([307, '/elsewhere', true]);
    expect(server.connections).toHaveLength(1);
  });

  it('ends without a body if it has none', async () => {
    const { deployment, upstream } = await start(() => 'HTTP/1.1 204 No Content\r\n\r\n');
    expect((await sendToEnd(upstream, deployment)).callbacks).toEqual(['head', 'end']);
  });

  it('arrives chunk by chunk as it is sent', async () => {
    const { server, deployment, upstream } = await start(() => 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
    const sent = send(upstream, deployment);
    await sent.waitForHead();
    for (let at = 1; at <= 5; at += 1) {
      server.connections[0]?.socket.write('3\r\nabc\r\n');
      await sent.waitForBytes(3 * at);
    }
    server.connections[0]?.socket.write('0\r\n\r\n');
    expect((await sent.waitForEnd()).text).toBe('abc'.repeat(5));
  });

  it('may arrive before the upstream has read the whole request', async () => {
    const server = closing(
      await ScriptedServer.start(({ socket }) => {
        socket.pause();
        socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno');
      }),
    );
    const deployment = deploymentAt(server.apiBase);
    const sent = await sendToEnd(closing(upstreamFor([deployment])), deployment, {
      body: Array.from({ length: 320 }, () => Buffer.alloc(65_536)),
    });
    expect([sent.status, sent.text, sent.callbacks]).toEqual([413, 'no', ['head', 'data', 'end']]);
  });
});

describe('closing the upstream client', () => {
  it('waits for the answers in flight, and rejects new requests', async () => {
    const { server, deployment, upstream } = await start(() => 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nab');
    const sent = send(upstream, deployment);
    await sent.waitForBytes(2);
    let closed = false;
    const end = upstream.close().then(() => (closed = true));
    const refused = await sendToEnd(upstream, deployment);
    expect([refused.error?.status, refused.error?.kind]).toEqual([503, 'unavailable']);
    expect(closed).toBe(false);
    server.connections[0]?.socket.write('cd');
    expect((await sent.waitForEnd()).text).toBe('abcd');
    await end;
  });
});
