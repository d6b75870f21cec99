import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { stopTime } from '../harness/stopped-time.js';
import { waitFor } from '../harness/wait.js';
import { deploymentAt, send, sendToEnd, upstreamFor } from './sent-request.js';
import { closingAfterEach } from './closing.js';
import { answering, answerOf, ScriptedServer, type ScriptedConnection } from './scripted-server.js';

const closing = closingAfterEach();
stopTime({ timers: 'all' });

async function start(onData: (connection: ScriptedConnection) => void) {
  const server = closing(await ScriptedServer.start(onData));
  const deployment = deploymentAt(server.apiBase);
  return { server, deployment, upstream: closing(upstreamFor([deployment])) };
}

/**
 * Aborts a request, and waits for the end of its connection. All timers are stopped, so only the
 * abort can end the connection.
 */
async function abortAndWait({ socket }: ScriptedConnection, abort: () => void): Promise<void> {
  const closed = once(socket, 'close');
  abort();
  await closed;
}

describe('an aborted request', () => {
  it('closes its connection before the answer begins, and causes no callback', async () => {
    const { server, deployment, upstream } = await start(() => undefined);
    const sent = send(upstream, deployment);
    const connection = await server.waitForConnection(1);
    await waitFor(
      () => connection.text.includes('{}') || undefined,
      () => 'the upstream got no request',
    );
    await abortAndWait(connection, () => sent.call?.abort());
    expect(sent.callbacks).toEqual([]);
  });

  it('closes its connection in the middle of the answer, and causes no more callbacks', async () => {
    const { server, deployment, upstream } = await start(
      answering(() => 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc'),
    );
    const sent = send(upstream, deployment);
    await sent.waitForBytes(3);
    const connection = await server.waitForConnection(1);
    await abortAndWait(connection, () => sent.call?.abort());
    expect(sent.callbacks).toEqual(['head', 'data']);
  });

  it('closes its connection while its body is still being written', async () => {
    let reads = false;
    const { server, deployment, upstream } = await start(({ socket }) => {
      if (!reads) socket.pause();
    });
    const sent = send(upstream, deployment, { body: Array.from({ length: 320 }, () => Buffer.alloc(65_536)) });
    const connection = await server.waitForConnection(1);
    await waitFor(
      () => connection.text !== '' || undefined,
      () => 'the upstream got no data',
    );
    const closed = once(connection.socket, 'close');
    sent.call?.abort();
    // The server must read the buffered bytes before it sees the end.
    reads = true;
    connection.socket.resume();
    await closed;
    expect(connection.text.length).toBeLessThan(20_000_000);
    expect(sent.callbacks).toEqual([]);
  });

  it('is not sent if it was aborted while connecting', async () => {
    const { server, deployment, upstream } = await start(answering(() => answerOf('{}')));
    const sent = send(upstream, deployment);
    sent.call?.abort();
    // Without the abort, the first request would arrive before the second one has ended.
    expect((await sendToEnd(upstream, deployment)).text).toBe('{}');
    expect(server.connections.map(({ text }) => text).filter((text) => text !== '')).toHaveLength(1);
    expect(sent.callbacks).toEqual([]);
  });

  it('may be aborted from its own callbacks, twice, and after its end', async () => {
    const { deployment, upstream } = await start(answering(() => answerOf('{"a":1}')));
    const sent = send(upstream, deployment, {}, () => {
      sent.call?.abort();
      sent.call?.abort();
    });
    await waitFor(
      () => sent.callbacks.includes('data') || undefined,
      () => 'no data came',
    );
    const other = await sendToEnd(upstream, deployment);
    other.call?.abort();
    other.call?.resume();
    expect([sent.callbacks, other.callbacks]).toEqual([
      ['head', 'data'],
      ['head', 'data', 'end'],
    ]);
  });
});

describe('a client that does not read', () => {
  it('pauses the upstream, and gets the whole answer later', async () => {
    const total = 64 * 1024 * 1024;
    let written = 0;
    const piece = Buffer.alloc(65_536, 'x');
    const { server, deployment, upstream } = await start(
      answering((_body, { socket }) => {
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${total}\r\n\r\n`);
        const more = () => {
          while (written < total) {
            written += piece.length;
            if (!socket.write(piece)) {
              socket.once('drain', more);
              return;
            }
          }
        };
        more();
        return null;
      }),
    );
    let received = 0;
    const sent = send(upstream, deployment, {}, (chunk) => {
      received += chunk.length;
      sent.chunks.length = 0;
      if (received < 1024 * 1024) sent.call?.pause();
    });
    await waitFor(
      () => received > 0 || undefined,
      () => 'the client got no data',
    );
    // The server cannot write anymore, because all buffers are full.
    let before = -1;
    await waitFor(
      () => {
        const stands = before === server.bytesAccepted() && server.connections[0]?.socket.writableNeedDrain === true;
        before = server.bytesAccepted();
        return stands || undefined;
      },
      () => 'the upstream continues to write',
    );
    expect(received).toBeLessThan(1024 * 1024);
    expect(written).toBeLessThan(total / 2);
    while (!sent.ended) {
      sent.call?.resume();
      await new Promise(setImmediate);
    }
    expect(received).toBe(total);
  });

  it('gets one more chunk at each resume if it pauses after each chunk', async () => {
    const begin = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n';
    const answers = [begin, `${begin}0\r\n\r\n`];
    const { server, deployment, upstream } = await start(answering(() => answers.shift() ?? null));
    const sent = send(upstream, deployment, {}, () => sent.call?.pause());
    await sent.waitForBytes(1);
    server.connections[0]?.socket.write('1\r\nb\r\n');
    server.connections[0]?.socket.write('1\r\nc\r\n0\r\n\r\n');
    // Meanwhile another request ends, so the paused one had time to get more.
    await sendToEnd(upstream, deployment);
    expect(sent.text).toBe('a');
    for (const text of ['ab', 'abc']) {
      sent.call?.resume();
      expect((await sent.waitForBytes(text.length)).text).toBe(text);
    }
    sent.call?.resume();
    await sent.waitForEnd();
    expect(sent.callbacks).toEqual(['head', 'data', 'data', 'data', 'end']);
  });
});
