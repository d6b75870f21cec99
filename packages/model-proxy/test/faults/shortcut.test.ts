/** Compares the answers and the log of a proxy with the listener's shortcut to those of a proxy without it. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { json, serveApp, type AnswerHandler, type ServedApp } from '../support/app.js';

const KEY = 'sk-shortcut-0123456789';
let withShortcut: ServedApp;
let withoutShortcut: ServedApp;

beforeAll(async () => {
  const settings = { clientKeys: new Set([KEY]), maxRequestBytes: 100_000, useXForwardedFor: true };
  withShortcut = await serveApp({ settings });
  withoutShortcut = await serveApp({ settings, withoutShortcut: true });
  for (const app of [withShortcut, withoutShortcut]) app.answering = answer;
});
afterAll(async () => {
  await Promise.all([withShortcut.close(), withoutShortcut.close()]);
});

const events = (count: number, end = 'data: [DONE]\n\n') =>
  Array.from({ length: count }, (_, index) => `data: {"model":"served/model","choices":[{"index":${index}}]}\n\n`).join(
    '',
  ) + end;

/** Answers of the upstream, by the member `user` in the body of the request. */
const answers: Readonly<Record<string, AnswerHandler>> = {
  usual: json({ id: 'x', model: 'served/model', usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } }),
  large: json({ id: 'x', model: 'served/model', text: 'é'.repeat(15_000) }),
  huge: json({ id: 'x', model: 'served/model', text: 'x'.repeat(2_000_000) }),
  headers: json({ id: 'x' }, 200, { 'x-ratelimit-limit': '1', 'x-odd': 'a\xe9', 'set-cookie': 'a=b', server: 'y' }),
  longType: (_asked, response) => void response.writeHead(200, { 'content-type': `text/${'x'.repeat(600)}` }).end('{}'),
  status: json({ error: { message: 'no such thing', type: 'x', code: 'y' } }, 404, { 'retry-after': '3' }),
  failing: json('crash', 500),
  broken: (_asked, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"model":', () => response.destroy());
  },
  notJson: json('<html>', 200),
  empty: (_asked, response) => void response.writeHead(204).end(),
  audio: (_asked, response) => void response.writeHead(200, { 'content-type': 'audio/mp3' }).end(Buffer.alloc(70_000)),
  stream: (_asked, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(events(3, ''));
    setImmediate(() => response.end(events(500)));
  },
  brokenStream: (_asked, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(events(2, ''), () => response.destroy());
  },
  errorStream: (_asked, response) =>
    void response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end('data: {"error":{"message":"too many","code":429}}\n\n'),
};

function answer(...[asked, response]: Parameters<AnswerHandler>): void {
  // The tests of this file send JSON objects.
  const { user = 'usual' } = JSON.parse(asked.body.toString()) as { user?: string };
  (answers[user] ?? json({ error: `no case ${user}` }, 500))(asked, response);
}

interface Asked {
  readonly path?: string;
  readonly method?: string;
  readonly key?: string | null;
  readonly headers?: readonly string[];
  readonly body?: string;
  /** Place where the request is cut into two packets; null: it is sent at once. */
  readonly cut?: number | null;
}

const chat = (user: string, more = '') => `{"model":"m","messages":[],"user":"${user}"${more}}`;

/** Returns the bytes of a request. The connection stays open unless `headers` contains `Connection: close`. */
function bytesOf({
  path = '/v1/chat/completions',
  method = 'POST',
  key = KEY,
  headers = [],
  body = chat('usual'),
}: Asked) {
  return [
    `${method} ${path} HTTP/1.1`,
    'Host: proxy',
    ...(key === null ? [] : [`Authorization: Bearer ${key}`]),
    'X-Request-Id: r-1',
    ...headers,
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n');
}

/** Sends two requests on a connection; the second closes it. @returns what the proxy sent, and the lines of its log. */
async function result(app: ServedApp, asked: Asked) {
  const { cut = null } = asked;
  const socket: Socket = connect(app.port, '127.0.0.1');
  await once(socket, 'connect');
  socket.setNoDelay(true);
  let received = '';
  socket.on('data', (bytes: Buffer) => (received += bytes.toString('latin1')));
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  const first = bytesOf(asked);
  for (const piece of cut === null ? [first] : [first.slice(0, cut), first.slice(cut)]) {
    await new Promise((resolve) => socket.write(piece, resolve));
    // The proxy is in this process. It reads the piece in these turns of the event loop.
    for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }
  // The answer to the first request may have closed the connection.
  socket.write(bytesOf({ headers: ['Connection: close'] }));
  await closed;
  return { received: stable(received, app), log: app.lines().map((line) => stable(JSON.stringify(line), app)) };
}

/** Replaces what differs from run to run. */
function stable(text: string, { port, upstreamPort }: ServedApp): string {
  return text
    .replaceAll(/Date: [^\r]*/g, 'Date: -')
    .replaceAll(/(duration-ms: |"(?:ms|upstreamMs|firstTokenMs)":)[\d.]+/g, '$1-')
    .replaceAll(/"time":"[^"]*"/g, '"time":"-"')
    .replaceAll(/(within|after) [\d.]+ ?m?s/g, '$1 -')
    .replaceAll(String(upstreamPort), 'UPSTREAM')
    .replaceAll(`:${port}`, ':PORT');
}

const cases: readonly (readonly [string, Asked])[] = [
  ...Object.keys(answers).map((user): readonly [string, Asked] => [
    `an answer of the kind ${user}`,
    { body: chat(user) },
  ]),
  ['a stream with usage', { body: chat('stream', ',"stream":true,"stream_options":{"include_usage":true}') }],
  ["a stream of Anthropic's API", { path: '/v1/messages', body: chat('stream', ',"max_tokens":1,"stream":true') }],
  ['no key', { key: null }],
  ['a wrong key', { key: 'sk-wrong' }],
  ['a key in another header', { key: null, headers: [`x-api-key: ${KEY}`] }],
  ['no body', { body: '' }],
  ['a body that is not JSON', { body: 'model=m' }],
  ['an incomplete body', { body: '{"model":"m"' }],
  ['no model', { body: '{"messages":[]}' }],
  ['an unknown model', { body: '{"model":"other","messages":[]}' }],
  ['no messages', { body: '{"model":"m"}' }],
  ['a body that is too large', { body: chat('x'.repeat(100_000)) }],
  ['a form', { headers: ['Content-Type: application/x-www-form-urlencoded'] }],
  ['a content encoding', { headers: ['Content-Encoding: gzip'] }],
  ['an origin', { headers: ['Origin: http://page'] }],
  [
    'ids and tags of the client',
    { headers: ['x-litellm-call-id: c-1', 'x-litellm-tags: a,b', 'x-litellm-num-retries: 2'] },
  ],
  ['a timeout', { headers: ['x-litellm-timeout: 30'] }],
  ['a forwarded address', { headers: ['X-Forwarded-For: 192.0.2.1'] }],
  ['two Hosts', { headers: ['Host: other'] }],
  ['an expectation', { headers: ['Expect: 100-continue'] }],
  ['an invalid header', { headers: ['a b: c'] }],
  ['a list of models', { body: '{"model":"m,m","messages":[]}' }],
  ['embeddings', { path: '/embeddings', body: '{"model":"m","input":"a","user":"usual"}' }],
  ['a query', { path: '/v1/chat/completions?a=b' }],
  ['a doubled slash', { path: '//v1/chat/completions' }],
  ['an unknown path', { path: '/v1/unknown' }],
  ['another method', { method: 'PUT' }],
  ['GET of a page', { method: 'GET', path: '/v1/models' }],
  ['OPTIONS', { method: 'OPTIONS', headers: ['Origin: http://page', 'Access-Control-Request-Method: POST'] }],
];

describe('a proxy with the shortcut', () => {
  it.each(cases)('answers and logs as without it: %s', async (_what, asked) => {
    const expected = await result(withoutShortcut, asked);
    expect(expected.received).toMatch(/^HTTP\/1\.1 \d/);
    expect(expected.log).not.toEqual([]);
    expect(await result(withShortcut, asked)).toEqual(expected);
    // A request can arrive in two packets: cut in its head, between head and body, or before its last byte.
    for (const cut of [10, bytesOf(asked).indexOf('\r\n\r\n') + 4, bytesOf(asked).length - 1])
      expect(await result(withShortcut, { ...asked, cut })).toEqual(expected);
  });
});
