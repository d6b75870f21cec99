/**
 * Sends arbitrary bytes on WebSockets after the handshake. The proxy forwards bytes unchanged: each
 * side gets all bytes of the other side and none of another connection, and no bytes end the
 * process. RACKLESS_SEED sets the first seed.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { seededRandom, type Random } from '../../../daemon/test/support/random.js';
import { call } from '../harness/call.js';
import { startTestProxy, type TestProxy } from '../harness/proxy.js';
import { waitFor } from '../harness/wait.js';

const SEED = Number(process.env['RACKLESS_SEED'] ?? 20_261_122);
const CONNECTIONS = 96;
const AT_ONCE = 16;
const HEAD_END = '\r\n\r\n';

const frames: readonly ((random: Random) => Buffer)[] = [
  // Complete frames, masked and unmasked.
  (random) => frame(random, 0x81, random.integer(126)),
  (random) => frame(random, 0x82, 126 + random.integer(2000)),
  // Reserved bits, unknown opcodes, fragmented control frames.
  (random) => frame(random, random.integer(256), random.integer(126)),
  // A close frame in the middle.
  () => Buffer.from([0x88, 0x02, 0x03, 0xe8]),
  // A length above Number.MAX_SAFE_INTEGER, and one of 4 GiB, of which only a part arrives.
  () => Buffer.from([0x82, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
  () => Buffer.from([0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0, 1]),
  // Incomplete heads, and empty frames.
  () => Buffer.from([0x82, 126]),
  () => Buffer.alloc(200),
  // HTTP, in case a parser still expects it.
  () => Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: 6${HEAD_END}others`),
  () => Buffer.from(`GET /health/liveliness HTTP/1.1\r\nhost: x${HEAD_END}0${HEAD_END}`),
  (random) => Buffer.from(Array.from({ length: random.integer(3000) }, () => random.integer(256))),
];

function frame(random: Random, first: number, length: number): Buffer {
  const isMasked = random.integer(2) === 0;
  const short = length < 126 ? length : 126;
  const head = [first, short | (isMasked ? 0x80 : 0), ...(short === 126 ? [length >> 8, length & 0xff] : [])];
  const mask = isMasked ? Array.from({ length: 4 }, () => random.integer(256)) : [];
  return Buffer.concat([Buffer.from([...head, ...mask]), Buffer.alloc(length, random.integer(256))]);
}

/** Returns the chunks that a side sends for this seed. */
function piecesOf(seed: number): readonly Buffer[] {
  const random = seededRandom(seed);
  const bytes = Buffer.concat(Array.from({ length: 1 + random.integer(12) }, () => random.pick(frames)(random)));
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const piece = bytes.subarray(at, at + 1 + random.integer(random.pick([3, 200, 8000])));
    pieces.push(piece);
    at += piece.length;
  }
  return pieces;
}

async function send(socket: Socket, pieces: readonly Buffer[]): Promise<void> {
  for (const piece of pieces) {
    socket.write(piece);
    await nextTurn();
  }
}

/** The bytes that a side received: the head of the handshake, and those after it. */
class Received {
  #bytes = Buffer.alloc(0);

  constructor(readonly socket: Socket) {
    socket
      .on('error', () => undefined)
      .on('data', (piece: Buffer) => (this.#bytes = Buffer.concat([this.#bytes, piece])));
  }

  get head(): string | undefined {
    const end = this.#bytes.indexOf(HEAD_END);
    return end === -1 ? undefined : this.#bytes.toString('latin1', 0, end);
  }

  get behind(): Buffer {
    return this.#bytes.subarray(this.#bytes.indexOf(HEAD_END) + HEAD_END.length);
  }
}

describe('WebSockets after their handshake', () => {
  /** The upstream's sockets, by the number in their URL. */
  const upstreams = new Map<number, Received>();
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    const received = new Received(socket);
    socket.on('data', () => {
      const number = Number(/^GET \S*x=(\d+)/.exec(received.head ?? '')?.[1] ?? -1);
      if (number === -1 || upstreams.has(number)) return;
      upstreams.set(number, received);
      socket.write(`HTTP/1.1 101 X\r\nupgrade: websocket\r\nconnection: Upgrade${HEAD_END}`);
      void send(socket, piecesOf(2 * number));
    });
  });
  let proxy: TestProxy;

  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // a TCP server has an AddressInfo
    const params = `{model: openai/m, api_base: 'http://127.0.0.1:${port}/v1', api_key: k}`;
    // DRAIN_TIMEOUT in seconds: some connections are inside a frame that never ends.
    const environment = { DRAIN_TIMEOUT: '1' };
    proxy = await startTestProxy(`model_list: [{model_name: m, litellm_params: ${params}}]\n`, { environment });
  });
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  /** Opens a WebSocket, and sends bytes after the handshake. @returns what the client receives. */
  const open = async (number: number): Promise<Received> => {
    const socket = connect(proxy.port, '127.0.0.1');
    sockets.add(socket);
    const received = new Received(socket);
    const lines = ['host: x', 'connection: Upgrade', 'upgrade: websocket', 'sec-websocket-version: 13'];
    const key = `sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==${HEAD_END}`;
    socket.write([`GET /v1/realtime?model=m&x=${number} HTTP/1.1`, ...lines, key].join('\r\n'));
    await waitFor(
      () => received.head,
      () => `no answer to the handshake of seed ${number}`,
    );
    await send(socket, piecesOf(2 * number + 1));
    return received;
  };

  /** Waits until a side has the expected number of bytes. @returns whether they are correct. */
  const isSame = async (number: number, side: Received | undefined, sent: readonly Buffer[]): Promise<boolean> => {
    const expected = Buffer.concat(sent);
    const behind = await waitFor(
      () => (side !== undefined && side.behind.length >= expected.length ? side.behind : undefined),
      () => `seed ${number}: ${side?.behind.length} bytes of ${expected.length} have arrived`,
    );
    return behind.equals(expected);
  };

  it(`deliver all bytes of ${CONNECTIONS} connections unchanged to the right side`, async () => {
    const wrong: string[] = [];
    let next = SEED;
    const worker = async () => {
      while (next < SEED + CONNECTIONS) {
        const number = next;
        next += 1;
        const client = await open(number);
        if (!(await isSame(number, client, piecesOf(2 * number)))) wrong.push(`RACKLESS_SEED=${number}: the client`);
        if (!(await isSame(number, upstreams.get(number), piecesOf(2 * number + 1))))
          wrong.push(`RACKLESS_SEED=${number}: the upstream`);
        // A third each: the client resets its connection, the client ends it, the upstream closes it.
        if (number % 3 === 0) client.socket.resetAndDestroy();
        else if (number % 3 === 1) client.socket.end();
        else upstreams.get(number)?.socket.destroy();
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    expect(wrong).toEqual([]);
    expect((await call(`${proxy.url}/health/liveliness`, { method: 'GET' })).status).toBe(200);
    expect(proxy.logged().filter((line) => /answering a request failed|unexpected error/.test(line))).toEqual([]);
  }, 300_000);

  it('let the proxy end, and have the bytes that arrived before its end unchanged', async () => {
    const ends = await Promise.all(
      Array.from({ length: AT_ONCE }, async (_, index) => {
        const number = SEED + CONNECTIONS + index;
        const client = await open(number);
        await isSame(number, client, piecesOf(2 * number));
        const closed = new Promise((resolve) => client.socket.once('close', () => resolve(undefined)));
        return { number, client, closed };
      }),
    );
    await proxy.close();
    for (const { number, client, closed } of ends) {
      client.socket.end();
      await closed;
      // Ignores what follows: the proxy's close frame, if the proxy could send one.
      expect(client.behind.subarray(0, Buffer.concat(piecesOf(2 * number)).length)).toEqual(
        Buffer.concat(piecesOf(2 * number)),
      );
    }
  }, 300_000);
});
