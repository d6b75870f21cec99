import { describe, expect, it } from '@jest/globals';
import type { Timeouts } from '../../src/providers/deployment.js';
import { BodyStream } from '../../src/upstream/body-stream.js';
import { holdUp, passTime, stopTime } from '../harness/stopped-time.js';
import { waitFor } from '../harness/wait.js';
import { deploymentAt, send, upstreamFor } from './sent-request.js';
import { UNBOUNDED } from '../support/deployment.js';
import { closingAfterEach } from './closing.js';
import { answering, answerOf, requestBody, ScriptedServer, type ScriptedConnection } from './scripted-server.js';

const closing = closingAfterEach();
stopTime();

async function start(timeouts: Partial<Timeouts>, onData: (connection: ScriptedConnection) => void) {
  const server = closing(await ScriptedServer.start(onData));
  const deployment = deploymentAt(server.apiBase, { timeouts: { ...UNBOUNDED, ...timeouts } });
  return { server, deployment, upstream: closing(upstreamFor([deployment])) };
}

/** Waits until the server has read a complete request. */
async function waitForRequest(server: ScriptedServer): Promise<void> {
  const connection = await server.waitForConnection(1);
  await waitFor(
    () => requestBody(connection.text),
    () => `only this came: ${connection.text}`,
  );
}

/** Returns the message without the parts that differ between runs. */
function messageOf(sent: { error?: Error | undefined }, port: number): string | undefined {
  return sent.error?.message.replace(/taken=\d+\.\d\d/, 'taken=T').replaceAll(String(port), 'PORT');
}

const GROUP = 'Received Model Group=public-model\nAvailable Model Group Fallbacks=None';
const HEAD = 'litellm.Timeout: APITimeoutError - Request timed out.';
const STREAM_HEAD = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

describe('a timeout', () => {
  it('for the first byte causes a 408, and ends the upstream request', async () => {
    const { server, deployment, upstream } = await start({ firstByteMs: 200 }, () => undefined);
    const sent = send(upstream, deployment);
    await waitForRequest(server);
    await passTime(150);
    expect(sent.callbacks).toEqual([]);
    await passTime(200);
    await sent.waitForEnd();
    expect(messageOf(sent, server.port)).toBe(
      `${HEAD} 127.0.0.1:PORT did not send the first byte of its answer within the first-byte timeout - timeout value=0.2, time taken=T seconds. ${GROUP}`,
    );
    expect([sent.error?.status, sent.error?.kind, sent.callbacks]).toEqual([408, 'timeout', ['error']]);
    await waitFor(
      () => server.open === 0 || undefined,
      () => 'the connection is still open',
    );
  });

  it.each([
    ['a small body', [Buffer.from('{}')]],
    ['a large body', [Buffer.alloc(100_000)]],
  ])('for the first byte includes a wait before the request, with %s', async (_what, body) => {
    const { server, deployment, upstream } = await start({ firstByteMs: 3000 }, () => undefined);
    const sent = send(upstream, deployment, { body, waitedMs: 2500 });
    await waitForRequest(server);
    expect(sent.callbacks).toEqual([]);
    await passTime(700);
    await sent.waitForEnd();
    expect(sent.error?.message).toContain('first-byte timeout - timeout value=3.0');
  });

  it('for the first byte no longer includes a wait before the request once the upload makes progress', async () => {
    const { server, deployment, upstream } = await start({ firstByteMs: 3000 }, () => undefined);
    const body = new BodyStream({ byteLength: 4, beginning: [Buffer.from('a')], onRoom: () => undefined });
    const sent = send(upstream, deployment, { body, waitedMs: 2500 });
    const connection = await server.waitForConnection(1);
    for (const text of ['a', 'ab', 'abc']) {
      await waitFor(
        () => connection.text.endsWith(text) || undefined,
        () => `only this came: ${connection.text}`,
      );
      await passTime(700);
      expect(sent.callbacks).toEqual([]);
      body.add(Buffer.from(String.fromCharCode(text.charCodeAt(text.length - 1) + 1)));
    }
    body.finish();
    await waitForRequest(server);
    await passTime(700);
    connection.socket.write(answerOf('in time'));
    expect([(await sent.waitForEnd()).error, sent.text]).toEqual([undefined, 'in time']);
  });

  it('for the first byte includes the wait for the body after a head', async () => {
    const { deployment, upstream } = await start(
      { firstByteMs: 200 },
      answering(() => STREAM_HEAD),
    );
    const sent = await send(upstream, deployment).waitForHead();
    await passTime(300);
    await sent.waitForEnd();
    expect(sent.callbacks).toEqual(['head', 'error']);
    expect(sent.error?.message).toContain('first-byte timeout');
  });

  it('for the time between two chunks is reported', async () => {
    const { server, deployment, upstream } = await start(
      { idleMs: 200 },
      answering(() => `${STREAM_HEAD}1\r\na\r\n`),
    );
    const sent = await send(upstream, deployment).waitForBytes(1);
    await passTime(300);
    await sent.waitForEnd();
    expect([sent.text, messageOf(sent, server.port)]).toEqual([
      'a',
      `${HEAD} 127.0.0.1:PORT sent nothing more of its answer within the idle timeout - timeout value=0.2, time taken=T seconds. ${GROUP}`,
    ]);
  });

  it('for the whole answer is reported if the answer does not end', async () => {
    const { server, deployment, upstream } = await start(
      { idleMs: 10_000, totalMs: 300 },
      answering(() => STREAM_HEAD),
    );
    const sent = await send(upstream, deployment).waitForHead();
    for (let bytes = 1; bytes <= 3; bytes += 1) {
      server.connections[0]?.socket.write('1\r\na\r\n');
      await sent.waitForBytes(bytes);
      await passTime(50);
    }
    await passTime(300);
    await sent.waitForEnd();
    expect(sent.text).toBe('aaa');
    expect(messageOf(sent, server.port)).toBe(
      `${HEAD} 127.0.0.1:PORT did not finish its answer within the total timeout - timeout value=0.3, time taken=T seconds. ${GROUP}`,
    );
  });

  it('for the first byte is reported if the upstream stops reading the request', async () => {
    const { server, deployment, upstream } = await start({ firstByteMs: 300 }, ({ socket }) => socket.pause());
    const body = Array.from({ length: 320 }, () => Buffer.alloc(65_536));
    const sent = send(upstream, deployment, { body });
    await server.waitForConnection(1);
    // Bytes that the kernel accepts meanwhile restart the limit.
    await waitFor(
      async () => {
        await passTime(400);
        return sent.error;
      },
      () => 'the request does not fail',
    );
    expect(sent.error?.message).toContain('read nothing more of the request for the whole first-byte timeout');
  });

  it('for the connection is reported if the TLS handshake does not end', async () => {
    // TLS needs an answer: with a silent server, the handshake does not end.
    const server = closing(await ScriptedServer.start(() => undefined));
    const deployment = deploymentAt(`https://127.0.0.1:${server.port}/v1`, {
      timeouts: { ...UNBOUNDED, connectMs: 200 },
    });
    const sent = send(closing(upstreamFor([deployment])), deployment);
    await server.waitForConnection(1);
    await passTime(300);
    await sent.waitForEnd();
    expect(messageOf(sent, server.port)).toBe(
      `${HEAD} No connection to 127.0.0.1:PORT was made within the connect timeout - timeout value=0.2, time taken=T seconds. ${GROUP}`,
    );
    await waitFor(
      () => server.open === 0 || undefined,
      () => 'the connection is still open',
    );
  });

  it('does not pass while a slow client does not read', async () => {
    const { server, deployment, upstream } = await start(
      { idleMs: 200 },
      answering(() => `${STREAM_HEAD}1\r\na\r\n`),
    );
    const sent = send(upstream, deployment, {}, () => sent.call?.pause());
    const other = send(upstream, deployment);
    await Promise.all([sent.waitForBytes(1), other.waitForBytes(1)]);
    await passTime(300);
    // Only the request with a reading client times out.
    await other.waitForEnd();
    expect([sent.callbacks, other.error?.kind]).toEqual([['head', 'data'], 'timeout']);
    server.connections[0]?.socket.write('0\r\n\r\n');
    sent.call?.resume();
    expect((await sent.waitForEnd()).error).toBeUndefined();
  });

  it('does not pass if the answer arrived while this process was blocked', async () => {
    const { server, deployment, upstream } = await start({ firstByteMs: 200, totalMs: 60_000 }, () => undefined);
    const sent = send(upstream, deployment);
    await waitForRequest(server);
    server.connections[0]?.socket.write(answerOf('late'));
    holdUp(10_000);
    expect([(await sent.waitForEnd()).error, sent.text]).toEqual([undefined, 'late']);
  });

  it('does not occur after an answer in time, nor if there is no limit', async () => {
    const longTimeouts = { connectMs: 5000, firstByteMs: 5000, idleMs: 5000, totalMs: 5000 };
    const { deployment, upstream } = await start(
      longTimeouts,
      answering(() => `${STREAM_HEAD}1\r\na\r\n0\r\n\r\n`),
    );
    for (const timeouts of [deployment.timeouts, UNBOUNDED]) {
      const sent = await send(upstream, deployment, { timeouts }).waitForEnd();
      await passTime(10_000);
      expect(sent.callbacks).toEqual(['head', 'data', 'end']);
    }
  });
});
