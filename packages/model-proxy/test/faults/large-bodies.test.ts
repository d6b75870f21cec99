/** Large bodies share pooled memory: a body that is still being sent must not be overwritten. */
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { BodyBlocks } from '../../src/exchange/request/body-blocks.js';
import { call } from '../harness/call.js';
import { startTestProxy, type TestProxy } from '../harness/proxy.js';
import { waitFor } from '../harness/wait.js';

const MEGABYTE = 1_048_576;
const ANSWER = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}';

const chat = (model: string, letter: string, length: number) =>
  Buffer.from(JSON.stringify({ model, messages: [{ role: 'user', content: letter.repeat(length) }] }));

/** An upstream that reads the beginning of a request. It reads the rest only when the test calls `read`. */
class PausedUpstream {
  readonly server: Server;
  #socket: Socket | undefined;
  #pieces: Buffer[] = [];

  constructor() {
    this.server = createServer((socket) => {
      this.#socket = socket;
      socket.on('error', () => undefined);
      socket.on('data', (piece) => {
        this.#pieces.push(piece);
        if (this.#pieces.length === 1) socket.pause();
      });
    });
  }

  async begun(): Promise<void> {
    await waitFor(
      () => this.#pieces[0],
      () => 'no part of the body arrived',
    );
  }

  answer(): void {
    this.#socket?.write(ANSWER);
  }

  /** Reads the rest. @param length expected size. @returns the whole body. */
  async read(length: number): Promise<Buffer> {
    const socket = this.#socket;
    socket?.resume();
    await waitFor(
      () => (this.#body.length >= length || socket?.readableEnded !== false || socket.destroyed ? true : undefined),
      () => `of ${length} bytes only ${this.#body.length} came`,
    );
    return this.#body;
  }

  /** Closes the connection, so that the next request uses another one. */
  leave(): void {
    this.#socket?.destroy();
    this.#pieces = [];
  }

  get #body(): Buffer {
    const bytes = Buffer.concat(this.#pieces);
    return bytes.subarray(bytes.indexOf('\r\n\r\n') + 4);
  }
}

describe('the memory of a large body', () => {
  const quick = createHttpServer((request, response) => {
    request.resume().once('end', () => response.setHeader('content-type', 'application/json').end('{}'));
  });
  const reluctant = new PausedUpstream();
  const servers = { quick, reluctant: reluctant.server };
  let proxy: TestProxy;
  let url: string;
  beforeAll(async () => {
    const models = Object.entries(servers).map(async ([name, server]) => {
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo; // a TCP server has an AddressInfo
      return `  - {model_name: ${name}, litellm_params: {model: openai/theirs, api_base: 'http://127.0.0.1:${port}/v1', api_key: k}}\n`;
    });
    proxy = await startTestProxy(`model_list:\n${(await Promise.all(models)).join('')}`);
    url = `${proxy.url}/v1/chat/completions`;
  });
  afterAll(async () => {
    await proxy.close();
    reluctant.leave();
    for (const server of Object.values(servers)) server.close();
  });

  /** Sends other requests. The proxy stores their bodies in the free memory of the pool. */
  const sendOthers = async () => {
    const answers = await Promise.all([1, 2].map(() => call(url, { body: chat('quick', 'b', 2 * MEGABYTE) })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  };

  it('is reused by the next body after the first body was sent', async () => {
    await call(url, { body: chat('quick', 'x', 10 * MEGABYTE) });
    const [next] = new BodyBlocks().copy(Buffer.from('y'));
    expect(Buffer.from(next?.buffer ?? new ArrayBuffer()).toString('latin1', 0, 8)).toBe('yxxxxxxx');
  });

  it('is not reused until the upstream has read the body', async () => {
    const expected = chat('theirs', 'a', 12 * MEGABYTE);
    const answer = call(url, { body: chat('reluctant', 'a', 12 * MEGABYTE) });
    await reluctant.begun();
    await sendOthers();
    expect((await reluctant.read(expected.length)).equals(expected)).toBe(true);
    reluctant.answer();
    expect((await answer).status).toBe(200);
    reluctant.leave();
  });
});
