import { afterEach, describe, expect, it } from '@jest/globals';
import { ask, deploymentAt, send, upstreamFor } from './asking.js';
import { answerOf, requestBody, ScriptedServer } from './scripted-server.js';

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A server that answers every whole request with `{"ok":true}`, on connections that it keeps. */
async function start(answer: (body: string) => string = () => answerOf('{"ok":true}')) {
  const answered = new Map<number, number>();
  const server = await ScriptedServer.start((visit) => {
    const from = answered.get(visit.index) ?? 0;
    const body = requestBody(visit.text.slice(from));
    if (body === undefined) return;
    answered.set(visit.index, visit.text.length);
    visit.socket.write(answer(body), 'latin1');
  });
  closing.push(() => server.close());
  const deployment = deploymentAt(server.apiBase);
  const upstream = upstreamFor([deployment]);
  closing.push(() => upstream.close());
  return { server, deployment, upstream };
}

describe('a request', () => {
  it('arrives whole with its own headers, an exact length and identity as the only coding (C6)', async () => {
    const { server, deployment, upstream } = await start();
    const asked = await ask(upstream, deployment, { body: [Buffer.from('{"a":'), Buffer.from('"é"}')] });
    expect(asked).toMatchObject({ status: 200, text: '{"ok":true}', ended: true, error: undefined });
    expect(server.visits[0]?.text).toBe(
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

  it('goes over the same connection as the one before (C8)', async () => {
    const { server, deployment, upstream } = await start();
    for (let at = 0; at < 20; at += 1) expect((await ask(upstream, deployment)).text).toBe('{"ok":true}');
    expect(server.visits).toHaveLength(1);
  });
});
