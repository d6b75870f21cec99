/**
 * Bytes that an upstream sends without a request: no client may get them (RFC 9112 §9.2, undici's
 * GHSA-35p6-xmwp-9g52).
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { startTestProxy } from '../harness/proxy.js';
import { waitFor } from '../harness/wait.js';
import { deploymentAt, send, sendToEnd, upstreamFor } from './sent-request.js';
import { closingAfterEach } from './closing.js';
import { answering, answerOf, ScriptedServer } from './scripted-server.js';

const closing = closingAfterEach();

async function start() {
  const server = closing(await ScriptedServer.start(answering((body) => answerOf(`"to ${body}"`))));
  const deployment = deploymentAt(server.apiBase);
  return { server, deployment, upstream: closing(upstreamFor([deployment])) };
}

const unsolicited = answerOf('"unexpected"');

describe('an idle connection', () => {
  it('does not give an unexpected answer to the next request, even if both come at the same time', async () => {
    const { server, deployment, upstream } = await start();
    const texts: string[] = [];
    for (let round = 0; round < 20; round += 1) {
      await sendToEnd(upstream, deployment, { body: 'the one before' });
      // The kernel has these bytes before the next request is sent, and nothing is read in between.
      for (const { socket } of server.connections) if (!socket.destroyed) socket.write(unsolicited);
      const sent = await sendToEnd(upstream, deployment, { body: `${round}` });
      texts.push(sent.text);
    }
    expect(texts).toEqual(Array.from({ length: 20 }, (_, round) => `"to ${round}"`));
  });

  it('is closed after an unexpected answer', async () => {
    const { server, deployment, upstream } = await start();
    await sendToEnd(upstream, deployment);
    const connection = await server.waitForConnection(1);
    connection.socket.write(unsolicited);
    await waitFor(
      () => connection.socket.destroyed || undefined,
      () => 'the connection is still open',
    );
    expect((await sendToEnd(upstream, deployment, { body: 'x' })).text).toBe('"to x"');
  });

  it('is not used if the upstream has just closed it', async () => {
    const { server, deployment, upstream } = await start();
    await sendToEnd(upstream, deployment);
    const first = await server.waitForConnection(1);
    first.socket.end();
    expect((await sendToEnd(upstream, deployment, { body: 'x' })).text).toBe('"to x"');
    // The connection carried a single request: the second used another connection.
    expect([first.text.match(/POST/g)?.length, server.connections.length]).toEqual([1, 2]);
  });

  it('is not used by a request that is aborted at once', async () => {
    const { server, deployment, upstream } = await start();
    await sendToEnd(upstream, deployment);
    const sent = send(upstream, deployment, { body: 'given up' });
    sent.call?.abort();
    const first = await server.waitForConnection(1);
    await waitFor(
      () => first.socket.destroyed || undefined,
      () => 'the connection is still open',
    );
    expect([sent.callbacks, first.text.includes('given up')]).toEqual([[], false]);
    expect((await sendToEnd(upstream, deployment, { body: 'x' })).text).toBe('"to x"');
  });
});

/**
 * Sends two requests over one connection, one after the other.
 * @param between called right after the second request was sent.
 * @returns the names in their answers.
 */
async function sendTwice(port: number, path: string, between: () => void): Promise<readonly string[]> {
  const client = connect({ port, host: '127.0.0.1', noDelay: true });
  let text = '';
  client.on('data', (bytes: Buffer) => (text += bytes.toString()));
  const body = (name: string) => `{"model":"m","messages":[],"name":"${name}"}`;
  const sendRequest = (name: string) =>
    client.write(
      `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body(name).length}\r\n\r\n${body(name)}`,
    );
  const bodies = () => [...text.matchAll(/"to (\w+)"/g)].map(([, name = '']) => name);
  sendRequest('first');
  await waitFor(
    () => bodies().length === 1 || undefined,
    () => `no answer came: ${text}`,
  );
  // The kernel has the second request, and then the bytes of `between`, before the proxy reads.
  sendRequest('second');
  between();
  await waitFor(
    () => bodies().length === 2 || undefined,
    () => `no second answer came: ${text}`,
  );
  client.destroy();
  await once(client, 'close');
  return bodies();
}

describe('a client whose request arrives together with an unexpected answer', () => {
  it.each(['/v1/chat/completions', '/openai/v1/x'])('gets the answer to its request at %s', async (path) => {
    const name = (body: string) => /"name":"(\w+)"/.exec(body)?.[1] ?? '';
    const server = closing(await ScriptedServer.start(answering((body) => answerOf(`"to ${name(body)}"`))));
    const proxy = closing(
      await startTestProxy(
        `model_list: [{model_name: m, litellm_params: {model: openai/m, api_base: '${server.apiBase}', api_key: k, use_in_pass_through: true}}]\n`,
      ),
    );
    for (let round = 0; round < 10; round += 1) {
      const sendUnsolicited = () => {
        for (const { socket } of server.connections) if (!socket.destroyed) socket.write(unsolicited);
      };
      expect(await sendTwice(proxy.port, path, sendUnsolicited)).toEqual(['first', 'second']);
    }
  });
});
