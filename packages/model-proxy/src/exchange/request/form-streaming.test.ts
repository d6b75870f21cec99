/**
 * Forms that go upstream while they arrive. The test controls when the client sends and when the
 * upstream reads.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { passTime, stopTime } from '../../../test/harness/stopped-time.js';
import { waitFor } from '../../../test/harness/wait.js';
import { serveApp, type ServedApp } from '../../../test/support/app.js';
import { UNBOUNDED } from '../../../test/support/deployment.js';

/** A request at the upstream, as far as it has arrived. */
interface Received {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly pieces: Buffer[];
  bytes: number;
  /** How the request ended; undefined: not yet. */
  end: 'whole' | 'cut' | undefined;
}

const LIMIT = 200_000_000;
const received: Received[] = [];
/** Called when the upstream gets the head of a request. By default, the upstream answers only after the whole body. */
let onHead: (received: Received) => void = () => undefined;
let onWhole: (received: Received) => void;
const answerWhole = ({ response, bytes }: Received): void => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ model: 'served/model', text: `${bytes} bytes` }));
};

const upstream = createServer((request, response) => {
  const one: Received = { request, response, pieces: [], bytes: 0, end: undefined };
  received.push(one);
  request.on('data', (piece: Buffer) => {
    one.bytes += piece.length;
    if (one.bytes < 1_000_000) one.pieces.push(piece);
  });
  request.on('end', () => {
    one.end = 'whole';
    onWhole(one);
  });
  request.on('error', () => undefined);
  request.on('close', () => (one.end ??= 'cut'));
  onHead(one);
});

stopTime();
let served: ServedApp;
beforeAll(async () => {
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const { port } = upstream.address() as AddressInfo; // a TCP server has an AddressInfo
  served = await serveApp({
    settings: { maxRequestBytes: LIMIT },
    deployment: {
      apiBase: `http://127.0.0.1:${port}/v1`,
      timeouts: { ...UNBOUNDED, totalMs: 400 },
      streamTimeouts: { ...UNBOUNDED, firstByteMs: 500 },
    },
  });
});
const clients: Socket[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
  received.length = 0;
  onHead = () => undefined;
  onWhole = answerWhole;
  // This call empties the log for the next test.
  served.lines();
});
onWhole = answerWhole;
afterAll(async () => {
  await served.close();
  upstream.close();
  upstream.closeAllConnections();
});

const field = (name: string, value: string) =>
  `--xx\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
const FILE = '--xx\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n';
const END = '\r\n--xx--\r\n';

/** A client that sends bytes on demand. */
class Client {
  readonly socket: Socket;
  text = '';

  constructor(framing: string, path = '/v1/audio/transcriptions', { port }: Pick<ServedApp, 'port'> = served) {
    this.socket = connect(port, '127.0.0.1');
    clients.push(this.socket);
    this.socket.on('error', () => undefined);
    this.socket.on('data', (piece: Buffer) => (this.text += piece.toString('latin1')));
    this.socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=xx\r\n${framing}\r\n\r\n`,
    );
  }

  static announcing(length: number): Client {
    return new Client(`Content-Length: ${length}`);
  }

  static chunked(path?: string): Client {
    return new Client('Transfer-Encoding: chunked', path);
  }

  send(bytes: string | Buffer): void {
    this.socket.write(bytes);
  }

  sendChunk(text: string): void {
    this.send(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
  }

  /** Number of sent bytes that the kernel has taken. */
  get taken(): number {
    return this.socket.bytesWritten - this.socket.writableLength;
  }

  /** Waits for the answer. @returns status and body. */
  async answer(): Promise<[number, string]> {
    const found = await waitFor(
      () => /^HTTP\/1\.1 (\d+) [^]*?\r\n\r\n([^]+)$/.exec(this.text) ?? undefined,
      () => `no answer came: ${this.text}`,
    );
    return [Number(found[1]), found[2] ?? ''];
  }
}

/** Waits until the upstream has the given number of bytes of a request. */
const upstreamHas = (bytes: number): Promise<Received> =>
  waitFor(
    () => received.find((one) => one.bytes >= bytes),
    () => `the upstream has ${received[0]?.bytes ?? 'no'} bytes instead of ${bytes}`,
  );
const upstreamEnds = (end: 'whole' | 'cut') =>
  waitFor(
    () => (received[0]?.end === end ? true : undefined),
    () => `the upstream's request is ${received[0]?.end ?? 'open'}`,
  );
const textOf = ({ pieces }: Received) => Buffer.concat(pieces).toString('latin1');
// The proxy's errors have this form.
const errorIn = (text: string) => (JSON.parse(text) as { error: { message: string } }).error.message;

describe('a form', () => {
  it('goes upstream as soon as its model has arrived, with the right length', async () => {
    const beginning = field('model', 'public') + FILE;
    const form = `${beginning}abc${END}`;
    const client = Client.announcing(form.length);
    client.send(beginning);
    const expected = field('model', 'served/model') + FILE;
    const upstreamSide = await upstreamHas(expected.length);
    expect(upstreamSide.request.headers['content-length']).toBe(String(form.length + 'served/model'.length - 6));
    client.send('abc');
    await upstreamHas(expected.length + 3);
    client.send(END);
    // The upstream's name of the model is 6 bytes longer than `public`.
    expect(await client.answer()).toEqual([
      200,
      `{"model":"hosted_vllm/served/model","text":"${form.length + 6} bytes"}`,
    ]);
    expect(textOf(upstreamSide)).toBe(`${expected}abc${END}`);
  });

  it('goes upstream in chunks, with the parts before its model first, if its length is unknown', async () => {
    const client = Client.chunked();
    client.sendChunk(`${FILE}sound\r\n`);
    client.sendChunk(field('model', 'public'));
    expect(received).toEqual([]);
    client.sendChunk('--xx\r\n');
    const expected = `${FILE}sound\r\n${field('model', 'served/model')}`;
    const upstreamSide = await upstreamHas(expected.length);
    expect(upstreamSide.request.headers['transfer-encoding']).toBe('chunked');
    client.sendChunk('X: y\r\n\r\nlast\r\n--xx--');
    client.send('0\r\n\r\n');
    expect((await client.answer())[0]).toBe(200);
    expect(textOf(upstreamSide)).toBe(`${expected}--xx\r\nX: y\r\n\r\nlast\r\n--xx--`);
  });

  it('waits for the field `user` after the file if requests need it', async () => {
    const guarded = await serveApp({ settings: { enforceUserParam: true } });
    try {
      for (const [rest, status] of [
        [`abc\r\n${field('user', 'ann')}--xx--\r\n`, 200],
        [`abc${END}`, 400],
      ] as const) {
        const beginning = field('model', 'public') + FILE;
        const client = new Client(`Content-Length: ${beginning.length + rest.length}`, undefined, guarded);
        client.send(beginning);
        // The proxy has read the beginning when it answers a later request.
        await fetch(`${guarded.url}/health/liveliness`);
        client.send(rest);
        expect((await client.answer())[0]).toBe(status);
      }
      expect(guarded.requests).toHaveLength(1);
      expect(guarded.requests[0]?.body.toString()).toContain('name="user"\r\n\r\nann');
    } finally {
      await guarded.close();
    }
  });

  it('goes to the model in the path as soon as its model field has arrived', async () => {
    const client = Client.chunked('/openai/deployments/public/audio/transcriptions');
    client.sendChunk(field('model', 'whatever') + FILE);
    const upstreamSide = await upstreamHas(10);
    client.sendChunk(END);
    client.send('0\r\n\r\n');
    expect((await client.answer())[0]).toBe(200);
    expect(textOf(upstreamSide)).toBe(field('model', 'served/model') + FILE + END);
  });

  it('pauses while the upstream does not read, and the proxy does not store it', async () => {
    onHead = ({ request }) => void request.pause();
    const sound = Buffer.alloc(150_000_000, 7);
    const beginning = field('model', 'public') + FILE;
    const length = beginning.length + sound.length + END.length;
    const client = Client.announcing(length);
    client.send(beginning);
    client.send(sound);
    client.send(END);
    // The proxy stops reading, so the client can send only what the buffers of four sockets hold.
    let [taken, looks] = [-1, 0];
    await waitFor(
      () => {
        looks = client.taken === taken && received.length > 0 ? looks + 1 : 0;
        taken = client.taken;
        return looks > 20 || undefined;
      },
      () => `${client.taken} bytes were taken, and the proxy still reads`,
    );
    expect(taken).toBeLessThan(40_000_000);
    received[0]?.request.resume();
    expect((await client.answer())[1]).toContain(`"${length + 6} bytes"`);
  });

  it('stays incomplete upstream if its client closes the connection', async () => {
    const client = Client.chunked();
    client.sendChunk(field('model', 'public') + FILE);
    await upstreamHas(10);
    client.socket.destroy();
    await upstreamEnds('cut');
  });

  it.each([
    ['without its last boundary', '\r\nX: y\r\n\r\nsound', 'the closing boundary is missing'],
    [
      'with a second model',
      `\r\n${field('model', 'other').slice(6)}--xx--`,
      "the form field 'model' is given more than once",
    ],
    [
      'with a part that has two names',
      '\r\nContent-Disposition: form-data; name=a; name=b\r\n\r\n\r\n--xx--',
      'a part has two names',
    ],
  ])('%s is rejected after its beginning went upstream, and stays incomplete there', async (_what, rest, message) => {
    const beginning = `${field('model', 'public')}--xx`;
    for (const isChunked of [false, true]) {
      received.length = 0;
      const client = isChunked ? Client.chunked() : Client.announcing(beginning.length + rest.length);
      const send = (text: string) => (isChunked ? client.sendChunk(text) : client.send(text));
      send(beginning);
      await upstreamHas(10);
      send(rest);
      if (isChunked) client.send('0\r\n\r\n');
      const [status, text] = await client.answer();
      expect([status, errorIn(text)]).toEqual([400, expect.stringContaining(message)]);
      await upstreamEnds('cut');
    }
  });

  it('is rejected when it becomes too large, and stays incomplete upstream', async () => {
    const small = await serveApp({
      settings: { maxRequestBytes: 1000 },
      // A TCP server has an AddressInfo.
      deployment: { apiBase: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1` },
    });
    try {
      const client = connect(small.port, '127.0.0.1');
      clients.push(client);
      let text = '';
      client.on('data', (piece: Buffer) => (text += piece.toString()));
      const chunk = (bytes: string) => client.write(`${bytes.length.toString(16)}\r\n${bytes}\r\n`);
      client.write(
        'POST /v1/audio/transcriptions HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=xx\r\nTransfer-Encoding: chunked\r\n\r\n',
      );
      chunk(field('model', 'public') + FILE);
      await upstreamHas(10);
      chunk('a'.repeat(1000));
      await waitFor(
        () => text.includes('Request size is too large. Max size is 0.001 MB.') || undefined,
        () => `the answer is ${text}`,
      );
      expect(text).toMatch(/^HTTP\/1\.1 413 /);
      await upstreamEnds('cut');
    } finally {
      await small.close();
    }
  });
});

describe('an answer while the client still sends its form', () => {
  const cases: [number, string][] = [
    [413, 'no room'],
    [401, 'no key'],
  ];
  it.each(cases)('is forwarded if it is %d %s, and the proxy reads the rest of the form', async (status, message) => {
    onHead = ({ response }) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message } }));
    };
    const rest = Buffer.alloc(30_000_000, 7);
    const beginning = field('model', 'public') + FILE;
    const client = Client.announcing(beginning.length + rest.length);
    client.send(beginning);
    const [answered, text] = await client.answer();
    expect([answered, errorIn(text)]).toEqual([status, expect.stringContaining(message)]);
    expect(client.text).toMatch(/\r\nconnection: close\r\n/i);
    // The rest is more than all buffers can store, so the proxy must read it.
    client.send(rest);
    await once(client.socket, 'end');
    expect(client.socket.writableLength).toBe(0);
  });

  it('is forwarded if it has status 200, and the connection of the client stays open', async () => {
    onHead = ({ response }) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end('{"model":"served/model"}');
    };
    const client = Client.chunked();
    client.sendChunk(field('model', 'public') + FILE);
    expect(await client.answer()).toEqual([200, '{"model":"hosted_vllm/served/model"}']);
    client.sendChunk(`no form anymore`);
    client.send('0\r\n\r\nGET /health/liveliness HTTP/1.1\r\nHost: x\r\n\r\n');
    await waitFor(
      () => client.text.match(/HTTP\/1\.1 200/g)?.length === 2 || undefined,
      () => `the second request was not answered: ${client.text}`,
    );
  });

  it('is an error if the upstream resets the connection instead, and the proxy sends no second request', async () => {
    onHead = ({ request }) => void request.socket.resetAndDestroy();
    const client = Client.announcing(1000);
    client.send(field('model', 'public') + FILE);
    const [status, text] = await client.answer();
    expect([status, errorIn(text)]).toEqual([500, expect.stringContaining('Connection error')]);
    expect(received).toHaveLength(1);
  });
});

describe('the time that an upstream has for a form', () => {
  it('does not run while the client sends, and runs after that', async () => {
    onWhole = () => undefined;
    const client = Client.chunked();
    client.sendChunk(field('model', 'public') + FILE);
    await upstreamHas(10);
    await passTime(700);
    expect(client.text).toBe('');
    client.sendChunk(END);
    client.send('0\r\n\r\n');
    await upstreamEnds('whole');
    await passTime(600);
    const [status, text] = await client.answer();
    expect([status, errorIn(text)]).toEqual([408, expect.stringContaining('within the total timeout')]);
    expect(client.text).toMatch(/\r\nx-litellm-timeout: 0\.4\r\n/);
  });

  it('is the timeout for streams if the form has `stream` after its file', async () => {
    onWhole = () => undefined;
    const client = Client.chunked();
    client.sendChunk(field('model', 'public') + FILE);
    await upstreamHas(10);
    client.sendChunk(`\r\n${field('stream', 'true')}--xx--`);
    client.send('0\r\n\r\n');
    await upstreamEnds('whole');
    await passTime(700);
    const [status, text] = await client.answer();
    expect([status, errorIn(text)]).toEqual([408, expect.stringContaining('first-byte timeout - timeout value=0.5')]);
    expect(client.text).toMatch(/\r\nx-litellm-timeout: 0\.5\r\n/);
  });
});
