/** What an upstream sends without being asked: no client may get it (RFC 9112 §9.2, undici's GHSA-35p6-xmwp-9g52). */
import { describe, expect, it } from '@jest/globals';
import { waitFor } from '../harness/wait.js';
import { ask, deploymentAt, send, upstreamFor } from './asking.js';
import { closingAfterEach } from './closing.js';
import { answering, answerOf, ScriptedServer } from './scripted-server.js';

const closing = closingAfterEach();

async function start() {
  const server = closing(await ScriptedServer.start(answering((body) => answerOf(`"to ${body}"`))));
  const deployment = deploymentAt(server.apiBase);
  return { server, deployment, upstream: closing(upstreamFor([deployment])) };
}

const unasked = answerOf('"to nobody"');

describe('a kept connection', () => {
  it('does not give an answer that nobody asked for to the next request, though it comes at that moment (P1)', async () => {
    const { server, deployment, upstream } = await start();
    const texts: string[] = [];
    for (let round = 0; round < 20; round += 1) {
      await ask(upstream, deployment, { body: 'the one before' });
      // With this process' system before the next line: between them nothing can be read.
      for (const { socket } of server.visits) if (!socket.destroyed) socket.write(unasked);
      const asked = await ask(upstream, deployment, { body: `${round}` });
      texts.push(asked.text);
    }
    expect(texts).toEqual(Array.from({ length: 20 }, (_, round) => `"to ${round}"`));
  });

  it('ends with an answer that nobody asked for (P1)', async () => {
    const { server, deployment, upstream } = await start();
    await ask(upstream, deployment);
    const visit = await server.visited(1);
    visit.socket.write(unasked);
    await waitFor(
      () => visit.socket.destroyed || undefined,
      () => 'the connection is still open',
    );
    expect((await ask(upstream, deployment, { body: 'x' })).text).toBe('"to x"');
  });

  it('that the upstream has closed at that moment is not written to (C8)', async () => {
    const { server, deployment, upstream } = await start();
    await ask(upstream, deployment);
    const first = await server.visited(1);
    first.socket.end();
    expect((await ask(upstream, deployment, { body: 'x' })).text).toBe('"to x"');
    // It has read one request: the second went over another connection.
    expect([first.text.match(/POST/g)?.length, server.visits.length]).toEqual([1, 2]);
  });

  it('is not written to by a request that is given up at once (C7)', async () => {
    const { server, deployment, upstream } = await start();
    await ask(upstream, deployment);
    const asked = send(upstream, deployment, { body: 'given up' });
    asked.call?.abort();
    const first = await server.visited(1);
    await waitFor(
      () => first.socket.destroyed || undefined,
      () => 'the connection is still open',
    );
    expect([asked.told, first.text.includes('given up')]).toEqual([[], false]);
    expect((await ask(upstream, deployment, { body: 'x' })).text).toBe('"to x"');
  });
});
