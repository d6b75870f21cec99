import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { call } from '../../test/harness/call.js';
import { json, serveApp, type ServedApp } from '../../test/support/app.js';

const LIMIT = 65_536;
let served: ServedApp;
beforeAll(async () => {
  served = await serveApp({ settings: { maxRequestBytes: LIMIT } });
  served.answering = json({ model: 'served/model' });
});
afterAll(() => served.close());
afterEach(() => {
  served.requests.length = 0;
});

const post = (body: string | Buffer, headers: Readonly<Record<string, string>> = {}, path = '/v1/chat/completions') =>
  call(`${served.url}${path}`, { body, headers });
const fault = (message: unknown, param: string | null = null, code = '400') => ({
  error: { message, type: 'invalid_request_error', param, code },
});
const messages = '"messages":[]';

describe('a body', () => {
  it.each([
    ['', 'Invalid JSON payload: '],
    ['{"model":"public",', 'Invalid JSON payload: '],
    ['{"model":"public","messages":[}', 'Invalid JSON payload: '],
    ['[1]', 'Invalid JSON payload: '],
    ['{"model":"public"} trailing', 'Invalid JSON payload: '],
    ['{"model":"\xff"}', 'Invalid JSON payload: '],
  ])('is rejected with the position of its fault: %j', async (text, begins) => {
    const answer = await post(Buffer.from(text, 'latin1'));
    expect([answer.status, answer.json()]).toEqual([
      400,
      fault(expect.stringMatching(new RegExp(`^${begins}.* at byte \\d+\\.$`))),
    ]);
    expect(served.requests).toEqual([]);
  });

  it.each([
    [`{"model":"public","model":"public",${messages}}`, "Invalid JSON payload: the key 'model' occurs more than once."],
    [`{"mod\\u0065l":"public",${messages}}`, "Invalid JSON payload: the key 'model' is spelled with escapes."],
    [
      `{"model":"public","mod\\u0065l":"other",${messages}}`,
      "Invalid JSON payload: the key 'model' occurs more than once.",
    ],
    // An upstream in Go reads all of these as `model`.
    [
      `{"model":"public","Model":"other",${messages}}`,
      "Invalid JSON payload: the key 'model' is spelled with capital letters.",
    ],
    [
      `{"\\u004dODEL":"other",${messages},"model":"public"}`,
      "Invalid JSON payload: the key 'model' is spelled with capital letters.",
    ],
    [`{"model":5,${messages}}`, "/chat/completions: Invalid type for 'model': expected a string."],
    [
      `{${messages}}`,
      '/chat/completions: Invalid model name passed in model=None. Call `/v1/models` to view available models for your key. Known models: public.',
    ],
    [
      `{"model":null,${messages}}`,
      '/chat/completions: Invalid model name passed in model=None. Call `/v1/models` to view available models for your key. Known models: public.',
    ],
    [
      `{"model":"Public",${messages}}`,
      '/chat/completions: Invalid model name passed in model=Public. Call `/v1/models` to view available models for your key. Known models: public.',
    ],
  ])('is rejected if its model is missing, unknown or unclear: %s: %s', async (text, message) => {
    const answer = await post(text);
    expect([answer.status, answer.json()]).toEqual([400, fault(message, 'model')]);
    expect(served.requests).toEqual([]);
  });

  it.each([
    ['/v1/chat/completions', 'messages'],
    ['/v1/completions', 'prompt'],
    ['/v1/embeddings', 'input'],
  ])('at %s without %s is rejected', async (path, parameter) => {
    const answer = await post('{"model":"public"}', {}, path);
    expect([answer.status, answer.json()]).toEqual([
      400,
      fault(`${path.slice(3)}: Missing required parameter: '${parameter}'.`, parameter),
    ]);
  });

  it.each([
    ['content-encoding', 'gzip', "Unsupported content encoding 'gzip': send the body uncompressed."],
    [
      'content-type',
      'application/x-www-form-urlencoded',
      "Unsupported content type 'application/x-www-form-urlencoded': send application/json.",
    ],
    [
      'content-type',
      'multipart/form-data; boundary=x',
      "Unsupported content type 'multipart/form-data; boundary=x': send application/json.",
    ],
  ])('with %s %s is rejected with 415', async (name, value, message) => {
    const answer = await post(`{"model":"public",${messages}}`, { [name]: value });
    expect([answer.status, answer.json()]).toEqual([415, fault(message, null, '415')]);
    expect(served.requests).toEqual([]);
  });

  it.each(['application/json; charset=utf-8', 'Application/JSON', 'text/plain', 'application/vnd.x+json'])(
    'with content type %s is accepted',
    async (type) => {
      expect((await post(`{"model":"public",${messages}}`, { 'content-type': type })).status).toBe(200);
    },
  );

  it('without a content type is accepted', async () => {
    const socket = connect(served.port, '127.0.0.1');
    const text = `{"model":"public",${messages}}`;
    socket.write(`POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: ${text.length}\r\n\r\n${text}`);
    const [first] = (await once(socket, 'data')) as [Buffer]; // no encoding is set
    expect(first.toString()).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });
});

describe('a body that is too large', () => {
  const tooLarge = (size: string) => fault(`Request size is too large.${size} Max size is 0.063 MB.`, null, '413');

  it('is rejected by its announced length, and its client gets the error, not a reset connection', async () => {
    // This body is more than all buffers can store: after an early close, the client would see a reset.
    const body = Buffer.alloc(20_000_000, 0x20);
    const answer = await post(body);
    expect([answer.status, answer.json()]).toEqual([413, tooLarge(' Request size is 19.073 MB.')]);
    expect(answer.headers.connection).toBe('close');
  });

  it('is rejected when it becomes too large without an announced length', async () => {
    const sent = request(`${served.url}/v1/chat/completions`, {
      method: 'POST',
      agent: false,
      headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
    });
    for (let piece = 0; piece < 200; piece += 1) sent.write(Buffer.alloc(10_000, 0x20));
    sent.end();
    const [response] = (await once(sent, 'response')) as [AsyncIterable<Buffer> & { statusCode: number }]; // Node's event has this argument.
    let text = '';
    for await (const chunk of response) text += chunk.toString();
    expect([response.statusCode, JSON.parse(text)]).toEqual([413, tooLarge('')]);
  });

  it('is rejected before a client that waits for 100 Continue sends it', async () => {
    const socket = connect(served.port, '127.0.0.1');
    socket.write(
      'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n',
    );
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    // The server ends the connection, because it would not read the body.
    await once(socket, 'end');
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
    expect(text).not.toContain('100 Continue');
  });
});

describe('a small body', () => {
  it('is sent after 100 Continue', async () => {
    const text = `{"model":"public",${messages}}`;
    const sent = request(`${served.url}/v1/chat/completions`, {
      method: 'POST',
      agent: false,
      headers: { 'content-length': String(text.length), expect: '100-continue' },
    });
    sent.flushHeaders();
    await once(sent, 'continue');
    sent.end(text);
    const [response] = (await once(sent, 'response')) as [{ statusCode: number; resume(): void }]; // Node's event has this argument.
    response.resume();
    expect(response.statusCode).toBe(200);
  });

  it.each([
    ['POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n', 501],
    ['POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n', 501],
    ['POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n', 200],
    ['POST /v1/chat/completions\r\n', 400],
  ])('after the request head %j gets status %d', async (head, status) => {
    const socket = connect(served.port, '127.0.0.1');
    const text = '{"model":"public","messages":[]}';
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
    socket.write(`${head}Connection: close\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`);
    await once(socket, 'close');
    expect(received).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  });

  it('does not close the connection if it is rejected', async () => {
    const socket = connect(served.port, '127.0.0.1');
    const text = '{"model":"public"}';
    const one = `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
    socket.write(one + one);
    socket.write('GET /health/liveliness HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    await once(socket, 'end');
    expect(received.match(/HTTP\/1\.1 \d{3}/g)).toEqual(['HTTP/1.1 415', 'HTTP/1.1 415', 'HTTP/1.1 200']);
  });
});

describe('a client that closes its connection while it sends', () => {
  it('causes a line in the log, and no request upstream', async () => {
    served.lines();
    const socket = connect(served.port, '127.0.0.1');
    socket.write('POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"model":');
    await once(socket, 'connect');
    // After this answer on another connection, the proxy has read the first head.
    await post(`{"model":"public",${messages}}`);
    served.requests.length = 0;
    served.lines();
    socket.destroy();
    for (;;) {
      const [line] = served.lines();
      if (line !== undefined) {
        expect(line).toMatchObject({ message: 'request', status: 499, gone: true });
        break;
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(served.requests).toEqual([]);
  });
});
