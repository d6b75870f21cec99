/**
 * Random valid JSON in random chunks. Requests and answers must arrive with only the model's name
 * changed.
 */
import { connect } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { SAMPLE_MODEL } from '../../sample-upstream/server.js';
import { call } from '../harness/call.js';
import { PUBLIC_MODEL } from '../harness/proxy.js';
import type { Step } from '../harness/script.js';
import { messages, useProxy } from './fixture.js';
import { seededRandom, type Random } from '../../../daemon/test/support/random.js';

/** The seed. With the seed of a failed run in RACKLESS_SEED, the test repeats that run. */
const SEED = Number(process.env['RACKLESS_SEED'] ?? 20_260_302);
const ROUNDS = 240;
const AT_ONCE = 12;

/** Makes white space of JSON, which is empty half of the time. */
const blank = (random: Random) => random.pick(['', '', '', ' ', '\n', '\t\r\n  ']);

const words = [
  'model',
  '"model": "x"',
  'a\\b',
  '}',
  ']',
  '{"model":',
  'é',
  '😀',
  '\u2028',
  'data: [DONE]',
  '\n\ndata: ',
  'x'.repeat(300),
];

/** Writes a random string as JSON, sometimes with unnecessary escapes. */
function stringText(random: Random): string {
  const text = JSON.stringify(Array.from({ length: random.integer(4) }, () => random.pick(words)).join(''));
  return random.integer(3) === 0 ? text.replaceAll('e', '\\u0065').replaceAll('/', '\\/') : text;
}

/** Writes a random value as JSON, with white space and numbers that no serializer writes. */
function valueText(random: Random, depth: number): string {
  const space = () => blank(random);
  const items = (make: () => string) => Array.from({ length: random.integer(4) }, make).join(`${space()},${space()}`);
  switch (random.integer(depth > 5 ? 4 : 6)) {
    case 0:
      return random.pick(['null', 'true', 'false']);
    case 1:
      return random.pick(['0', '-0', '1.0', '1e3', '-12.50E-2', '123456789012345678901234567890', '0.1e+7']);
    case 2:
    case 3:
      return stringText(random);
    case 4:
      return `[${space()}${items(() => valueText(random, depth + 1))}${space()}]`;
    default:
      return `{${space()}${items(() => `${random.pick(['"model"', '"choices"', stringText(random)])}${space()}:${space()}${valueText(random, depth + 1)}`)}${space()}}`;
  }
}

/** Writes an object as JSON, with the given members and others, all in random order. */
function objectText(random: Random, members: readonly (readonly [string, string])[]): string {
  const others = Array.from(
    { length: random.integer(6) },
    (_, index) => [`"k${index}"`, valueText(random, 0)] as const,
  );
  const all: (readonly [string, string])[] = [...others];
  for (const member of members) all.splice(random.integer(all.length + 1), 0, member);
  const text = all
    .map(([key, value]) => `${key}${blank(random)}:${blank(random)}${value}`)
    .join(`${blank(random)},${blank(random)}`);
  return `{${blank(random)}${text}${blank(random)}}`;
}

/** Cuts bytes into random chunks, also inside of characters and line ends. @param max maximum length of a chunk. */
function cut(bytes: Buffer, random: Random, max: number): readonly Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = 1 + random.integer(random.integer(3) === 0 ? 3 : max);
    pieces.push(bytes.subarray(at, at + length));
    at += length;
  }
  return pieces;
}

describe('random valid JSON', () => {
  const fixture = useProxy();

  /** Runs all rounds, a few at a time. Each round has its own random numbers. @returns the faults of the rounds. */
  const rounds = async (
    round: (random: Random, seed: number) => Promise<string | undefined>,
  ): Promise<readonly string[]> => {
    const faults: string[] = [];
    for (let first = 0; first < ROUNDS; first += AT_ONCE) {
      const seeds = Array.from({ length: AT_ONCE }, (_, index) => SEED + first + index);
      const wrong = await Promise.all(seeds.map((seed) => round(seededRandom(seed), seed)));
      faults.push(...wrong.filter((fault) => fault !== undefined));
    }
    return faults;
  };
  const differ = (seed: number, got: string | undefined, wanted: string) =>
    got === wanted ? undefined : `RACKLESS_SEED=${seed}: ${JSON.stringify(got)} instead of ${JSON.stringify(wanted)}`;

  it('reaches the upstream with only the model changed, sent in random chunks', async () => {
    const { proxy, upstream } = fixture();
    const faults = await rounds(async (random, seed) => {
      const mark = `"mark-${seed}"`;
      const body = objectText(random, [
        ['"messages"', JSON.stringify(messages)],
        ['"model"', `"${PUBLIC_MODEL}"`],
        ['"mark"', mark],
      ]);
      const answer = await sendInPieces(proxy.port, Buffer.from(body), random);
      const received = upstream.received.find((one) => one.body?.includes(mark));
      if (!answer.startsWith('HTTP/1.1 200 ')) return `RACKLESS_SEED=${seed}: ${answer} for ${body}`;
      // The members `model` of nested objects have other values, so `replace` changes only the model at the top.
      return differ(seed, received?.body?.toString(), body.replace(`"${PUBLIC_MODEL}"`, `"${SAMPLE_MODEL}"`));
    });
    expect(faults).toEqual([]);
  });

  const answerTo = (script: readonly Step[], stream: boolean) =>
    call(`${fixture().proxy.url}/v1/chat/completions`, { body: { model: PUBLIC_MODEL, messages, stream, script } });
  const writes = (bytes: Buffer, random: Random, max: number): readonly Step[] =>
    cut(bytes, random, max).map((piece) => ({ base64: piece.toString('base64') }));

  it('reaches the client with only the model changed, sent in random chunks', async () => {
    const faults = await rounds(async (random, seed) => {
      const text = objectText(random, [['"model"', '"the-reported-one"']]);
      const { text: got } = await answerTo([...writes(Buffer.from(text), random, 400), { end: true }], false);
      return differ(seed, got, text.replace('"the-reported-one"', '"hosted_vllm/the-reported-one"'));
    });
    expect(faults).toEqual([]);
  });

  it('reaches the client as a stream with only the model of each event changed', async () => {
    const faults = await rounds(async (random, seed) => {
      const line = random.pick(['\n', '\n', '\r\n']);
      const event = () => {
        const data = objectText(random, [['"model"', '"the-reported-one"']]).replaceAll(/[\r\n]/g, ' ');
        const head = random.pick(['', '', '', `: comment${line}`, `event: x${line}`, `id: 7${line}retry: 1${line}`]);
        return `${head}data:${random.pick(['', ' '])}${data}${line}${line}`;
      };
      const other = () =>
        random.pick([
          `: ping${line}${line}`,
          line,
          `data: not json${line}${line}`,
          `event: ping${line}data: {}${line}${line}`,
        ]);
      const events = Array.from({ length: random.integer(12) }, () => (random.integer(5) === 0 ? other() : event()));
      // At least one event is a part of an answer, because the proxy rejects a stream without one.
      events.splice(random.integer(events.length + 1), 0, event());
      const text = `${events.join('')}data: [DONE]${line}${line}`;
      const { text: got } = await answerTo([...writes(Buffer.from(text), random, 300), { end: true }], true);
      return differ(seed, got, text.replaceAll('"the-reported-one"', '"hosted_vllm/the-reported-one"'));
    });
    expect(faults).toEqual([]);
  });
});

/**
 * Sends a request in several TCP writes, with chunked encoding or a length.
 * @returns the answer as latin1.
 */
async function sendInPieces(port: number, body: Buffer, random: Random): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.setNoDelay(true);
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece));
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const chunked = random.integer(2) === 0;
  const length = chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`;
  const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n${length}\r\n\r\n`;
  const framed = chunked
    ? [
        ...cut(body, random, 300).flatMap((piece) => [
          Buffer.from(`${piece.length.toString(16)}\r\n`),
          piece,
          Buffer.from('\r\n'),
        ]),
        Buffer.from('0\r\n\r\n'),
      ]
    : [body];
  for (const piece of cut(Buffer.concat([Buffer.from(head), ...framed]), random, 2000)) {
    socket.write(piece);
    await nextTurn();
  }
  await closed;
  return Buffer.concat(pieces).toString('latin1');
}
