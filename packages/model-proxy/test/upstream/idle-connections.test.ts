import { describe, expect, it } from '@jest/globals';
import { passTime, stopTime } from '../harness/stopped-time.js';
import { waitFor } from '../harness/wait.js';
import { deploymentAt, send, sendToEnd, upstreamFor } from './sent-request.js';
import { closingAfterEach } from './closing.js';
import { answering, answerOf, requestBody, ScriptedServer, type ScriptedConnection } from './scripted-server.js';

const closing = closingAfterEach();
stopTime();

async function start(onData: (connection: ScriptedConnection) => void) {
  const server = closing(await ScriptedServer.start(onData));
  const deployment = deploymentAt(server.apiBase);
  return { server, deployment, upstream: closing(upstreamFor([deployment])) };
}

/**
 * Answers the first request of each connection. At the second request, calls `end` instead of sending an answer.
 */
function endingSecond(end: (connection: ScriptedConnection) => void): (connection: ScriptedConnection) => void {
  return answering((_body, connection, request) => {
    if (request === 0) return answerOf(`{"connection":${connection.index}}`);
    end(connection);
    return null;
  });
}

describe('a connection that the upstream closes as the next request arrives', () => {
  it.each([
    ['FIN', ({ socket }: ScriptedConnection) => void socket.end()],
    ['RST', ({ socket }: ScriptedConnection) => void socket.resetAndDestroy()],
  ])('loses no request: the proxy retries it on a new connection after a %s', async (_name, end) => {
    const { server, deployment, upstream } = await start(endingSecond(end));
    for (let at = 0; at < 5; at += 1) {
      const sent = await sendToEnd(upstream, deployment, { body: `{"request":${at}}` });
      expect([sent.error?.message, sent.text]).toEqual([undefined, `{"connection":${at}}`]);
    }
    expect(server.connections).toHaveLength(5);
  });

  it('loses no chunk of a body: the proxy repeats all of them', async () => {
    const { server, deployment, upstream } = await start(endingSecond(({ socket }) => void socket.resetAndDestroy()));
    await sendToEnd(upstream, deployment);
    const body = Array.from({ length: 20 }, (_, at) => Buffer.alloc(65_536, 65 + at));
    expect((await sendToEnd(upstream, deployment, { body })).text).toBe('{"connection":1}');
    expect(requestBody(server.connections[1]?.text ?? '') === Buffer.concat(body).toString()).toBe(true);
  });

  it('loses no request, even if the upstream closed it before the request', async () => {
    const { server, deployment, upstream } = await start(answering(() => answerOf('{}')));
    await sendToEnd(upstream, deployment);
    for (let at = 1; at < 4; at += 1) {
      // The first and the third time, the proxy gets a request in the turn in which the upstream closes the connection,
      // so it cannot have seen the end.
      server.connections[at - 1]?.socket.end();
      if (at % 2 === 0)
        await waitFor(
          () => server.open === 0 || undefined,
          () => 'the connection is still open',
        );
      expect((await sendToEnd(upstream, deployment)).error).toBeUndefined();
    }
  });

  it('causes only one retry: if the server closes again, the client gets an error', async () => {
    const { server, deployment, upstream } = await start(
      answering((_body, connection, request) => {
        if (connection.index === 0 && request === 0) return answerOf('{}');
        connection.socket.end();
        return null;
      }),
    );
    await sendToEnd(upstream, deployment);
    const { error, callbacks } = await sendToEnd(upstream, deployment);
    expect([error?.status, error?.kind, callbacks]).toEqual([500, 'connection', ['error']]);
    expect(error?.message).toContain(`127.0.0.1:${server.port} closed the connection before it answered`);
    expect(server.connections).toHaveLength(2);
  });
});

describe('a request that must not be repeated', () => {
  it('is a request on a new connection, because the upstream received it', async () => {
    const { server, deployment, upstream } = await start(
      answering((_body, { socket }) => (socket.resetAndDestroy(), null)),
    );
    const { error } = await sendToEnd(upstream, deployment);
    expect([error?.status, error?.kind]).toEqual([500, 'connection']);
    expect(error?.message).toBe(
      'litellm.InternalServerError: InternalServerError: Hosted_vllmException - Connection error. ' +
        `127.0.0.1:${server.port} reset the connection before it answered. ` +
        'Received Model Group=public-model\nAvailable Model Group Fallbacks=None',
    );
    expect(server.connections).toHaveLength(1);
  });

  it('is a request whose answer had begun', async () => {
    const { server, deployment, upstream } = await start(
      answering((_body, { socket }, request) => {
        if (request === 0) return answerOf('{}');
        socket.end('HTTP/1.1 2');
        return null;
      }),
    );
    await sendToEnd(upstream, deployment);
    expect((await sendToEnd(upstream, deployment)).error?.kind).toBe('malformedAnswer');
    expect(server.connections).toHaveLength(1);
  });

  it('is a request that the upstream worked on for more than a second', async () => {
    let reset: (() => unknown) | undefined;
    const { server, deployment, upstream } = await start(
      answering((_body, { socket }, request) => {
        if (request === 0) return answerOf('{}');
        reset = () => socket.resetAndDestroy();
        return null;
      }),
    );
    await sendToEnd(upstream, deployment);
    const sent = send(upstream, deployment);
    const resets = await waitFor(
      () => reset,
      () => 'the upstream got no second request',
    );
    await passTime(1500);
    resets();
    expect((await sent.waitForEnd()).error?.kind).toBe('connection');
    expect(server.connections).toHaveLength(1);
  });

  it('is a request that was aborted before its connection ended', async () => {
    const { server, deployment, upstream } = await start(
      answering((_body, _visit, request) => (request === 0 ? answerOf('{}') : null)),
    );
    await sendToEnd(upstream, deployment);
    const sent = send(upstream, deployment);
    await waitFor(
      () => (server.connections[0]?.text.match(/POST/g)?.length === 2 ? true : undefined),
      () => 'the upstream got no second request',
    );
    sent.call?.abort();
    server.connections[0]?.socket.resetAndDestroy();
    expect((await sendToEnd(upstream, deployment)).text).toBe('{}');
    expect([sent.callbacks, server.connections.length]).toEqual([[], 2]);
  });
});
