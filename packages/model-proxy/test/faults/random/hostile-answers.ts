/**
 * Makes answers of a hostile upstream: HTTP with a few faults. The same seed gives the same bytes.
 */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { seededRandom, type Random } from '../../../../daemon/test/support/random.js';

/** The bytes of an answer, and what the upstream does before and after it. */
export interface HostileAnswer {
  /** Chunks to write, each in its own turn of the event loop. */
  readonly writes: readonly Buffer[];
  /**
   * The next step of the upstream. `stay`: it leaves the connection open for a moment, so that the
   * proxy may reuse it.
   */
  readonly then: 'close' | 'reset' | 'stay';
  /** Whether the upstream answers before it has read the whole request. */
  readonly early: boolean;
}

const LETTERS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm'];
const long = (random: Random) => 'x'.repeat(random.pick([300, 2000, 5000, 17_000, 70_000]));

const chat = '{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"content":"hi"}}]}';
const event = 'data: {"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n';

const bodies: readonly ((random: Random) => Buffer)[] = [
  () => Buffer.from(chat),
  () => Buffer.from(''),
  () => Buffer.from('<html><title>Sign in</title></html>'),
  () => Buffer.from('{"error":{"message":"no","code":429}}'),
  () => Buffer.from('{"error":'),
  () => Buffer.from(`${event.repeat(3)}data: [DONE]\n\n`),
  () => Buffer.from(`${event}data: {"error":{"message":"no"}}\n\n`),
  () => Buffer.from(event.slice(0, -5)),
  () => gzipSync(chat),
  () => gzipSync(chat).subarray(0, 20),
  () => brotliCompressSync(event),
  () => deflateSync(chat),
  // A small answer that decompresses to a large one.
  (random) => gzipSync(Buffer.alloc(random.pick([1, 4]) * 1_048_576, ' ')),
  (random) => Buffer.from(Array.from({ length: random.integer(200) }, () => random.integer(256))),
];

const contentTypes = [
  'application/json',
  'text/event-stream',
  'text/html',
  'audio/mpeg',
  'application/json; charset=x',
  '',
];
const statuses = [
  ...['000', '001', '099', '100', '101', '102', '103', '199', '201', '204', '205', '206', '301', '304', '400', '401'],
  ...[
    '404',
    '418',
    '429',
    '500',
    '503',
    '599',
    '600',
    '777',
    '999',
    '1000',
    '20',
    '2',
    'abc',
    '-1',
    '2e2',
    '０００',
    '',
  ],
];
const versions = ['HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/1.2', 'http/1.1', 'HTTP/1.', 'ICY', ''];
const reasons = ['OK', '', 'caf\xe9', 'a\x00b', 'a\x1b[31mb', 'a\tb', 'a\rb', '\x7f', 'x'.repeat(5000)];

const lines: readonly ((random: Random) => string)[] = [
  (random) =>
    `content-length: ${random.pick(['0', '5', '-1', '1e3', '99999999999999999999', '+5', '5, 5', ' 7 ', ''])}`,
  (random) =>
    `transfer-encoding: ${random.pick(['chunked', 'identity', 'gzip, chunked', 'chunked, chunked', 'xchunked', ''])}`,
  (random) =>
    `connection: ${random.pick(['close', 'keep-alive', 'upgrade', 'content-type', 'content-length', ', ,', long(random)])}`,
  (random) => `upgrade: ${random.pick(['websocket', 'h2c', ''])}`,
  (random) => `content-encoding: ${random.pick(['gzip', 'br', 'deflate', 'zstd', 'gzip, gzip', 'identity', 'x\x80'])}`,
  (random) => `content-type: ${random.pick(contentTypes)}`,
  (random) => `content-type: ${long(random)}`,
  (random) => `x-${random.pick(LETTERS)}: ${long(random)}`,
  (random) => `x-ratelimit-${random.pick(LETTERS)}: ${random.pick(['1', '\xe9', long(random)])}`,
  (random) => `retry-after: ${random.pick(['1', '\x80', long(random)])}`,
  (random) => `x-v: ${random.pick(['a\x00b', 'a\x01b', 'a\x7fb', 'caf\xe9', 'a\rb', 'a\nb', '\t', '\xff\xfe'])}`,
  (random) =>
    `${random.pick(['a b', 'a\x00', 'caf\xe9', '', ' lead', '(x)', 'a:b', '__proto__', 'constructor', 'toString'])}: 1`,
  (random) => `${random.pick(['date', 'via', 'set-cookie', 'trailer', 'te', 'proxy-authenticate', 'alt-svc'])}: x`,
  (random) =>
    `${random.pick(['access-control-allow-origin', 'x-request-id', 'x-litellm-version', 'content-location'])}: x`,
  (random) => `location: ${random.pick(['/', 'http://127.0.0.1:1/', '\x80', ''])}`,
  (random) => `keep-alive: ${random.pick(['timeout=0', 'timeout=999999999999', 'timeout=-1', 'max=0'])}`,
  (random) => `sec-websocket-accept: ${random.pick(['x', '', '\xe9'])}`,
  (random) =>
    `sec-websocket-${random.pick(['protocol', 'extensions', 'version'])}: ${random.pick(['x', '13', long(random)])}`,
  () => ' folded: 1',
  () => 'no colon',
  (random) => Array.from({ length: random.pick([120, 1200, 3000]) }, (_, index) => `x-many-${index}: 1`).join('\r\n'),
];

const upgrade = ['upgrade: websocket', 'connection: Upgrade', 'sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo='];

function chunked(body: Buffer, random: Random): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; at < body.length;) {
    const piece = body.subarray(at, at + 1 + random.integer(400));
    const extension = random.integer(8) === 0 ? random.pick([';a=b', ';a="b"', '; x', `;${long(random)}`, '\x00']) : '';
    pieces.push(Buffer.from(`${piece.length.toString(16)}${extension}\r\n`, 'latin1'), piece, Buffer.from('\r\n'));
    at += piece.length;
  }
  const trailer =
    random.integer(4) === 0 ? random.pick(['x: 1\r\n', 'x\x00: 1\r\n', 'content-length: 5\r\n', 'x\r\n']) : '';
  return Buffer.concat([...pieces, Buffer.from(`0\r\n${trailer}\r\n`, 'latin1')]);
}

const interim = (random: Random): string => {
  if (random.integer(6) > 0) return '';
  const status = random.pick(['100', '102', '103', '199', '101']);
  const header = random.pick(['', 'link: </x>\r\n', 'content-length: 5\r\n', 'x: \x01\r\n']);
  return `HTTP/1.1 ${status} x\r\n${header}\r\n`.repeat(random.pick([1, 1, 2, 3000]));
};

/** Makes an answer that is mostly valid. */
function answer(random: Random): Buffer {
  const body = random.pick(bodies)(random);
  const sometimes = <T>(usual: T, others: readonly T[]) => (random.integer(3) === 0 ? random.pick(others) : usual);
  const first = `${sometimes('HTTP/1.1', versions)} ${sometimes('200', statuses)} ${sometimes('OK', reasons)}`;
  const isUpgrade = random.integer(5) === 0;
  const isChunked = random.integer(3) === 0;
  const framing = isChunked ? 'transfer-encoding: chunked' : `content-length: ${body.length}`;
  const head = isUpgrade ? [first.replace('200', '101'), ...upgrade] : [first];
  if (!isUpgrade && random.integer(8) > 0) head.push(framing);
  if (random.integer(6) > 0) head.push(`content-type: ${random.pick(contentTypes)}`);
  const more = random.integer(3);
  for (let count = 0; count < more; count += 1)
    head.splice(1 + random.integer(head.length), 0, random.pick(lines)(random));
  const lineEnd = sometimes('\r\n', ['\r\n', '\r\n', '\n', '\r']);
  const text = `${interim(random)}${head.join(lineEnd)}${lineEnd}${lineEnd}`;
  return Buffer.concat([Buffer.from(text, 'latin1'), isChunked ? chunked(body, random) : body]);
}

const changes: readonly ((bytes: Buffer, at: number, random: Random) => Buffer)[] = [
  (bytes, at) => bytes.subarray(0, at),
  (bytes, at, random) => Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + random.integer(8))]),
  (bytes, at, random) => {
    const copy = Buffer.from(bytes);
    copy[at] = random.pick([0, 9, 10, 13, 32, 58, 127, 128, 255, random.integer(256)]);
    return copy;
  },
  (bytes, at, random) => {
    const noise = random.pick([
      '\r\n',
      '\r\n\r\n',
      '\n',
      '\0',
      ' ',
      ':',
      '\xff',
      'HTTP/1.1 200 OK\r\n\r\n',
      '0\r\n\r\n',
    ]);
    return Buffer.concat([bytes.subarray(0, at), Buffer.from(noise, 'latin1'), bytes.subarray(at)]);
  },
  (bytes) => Buffer.concat([bytes, bytes]),
  (bytes) => Buffer.concat([bytes, Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nothers')]),
];

/** Returns the answer of a seed: a mostly valid answer with up to two changes. */
export function hostileAnswer(seed: number): HostileAnswer {
  const random = seededRandom(seed);
  let bytes = answer(random);
  const count = random.integer(3);
  for (let index = 0; index < count; index += 1) {
    // Puts most faults into the first 200 bytes, where the head is.
    const reach = random.integer(3) === 0 ? bytes.length : Math.min(bytes.length, 200);
    bytes = random.pick(changes)(bytes, random.integer(reach + 1), random);
  }
  return {
    writes: random.integer(4) === 0 ? cut(bytes, random) : [bytes],
    then: random.pick(['close', 'reset', 'stay', 'stay']),
    early: random.integer(6) === 0,
  };
}

/** Cuts bytes into up to twenty chunks. */
function cut(bytes: Buffer, random: Random): readonly Buffer[] {
  const pieces: Buffer[] = [];
  let at = 0;
  while (at < bytes.length && pieces.length < 19) {
    const length = 1 + random.integer(random.pick([3, 40, 4000]));
    pieces.push(bytes.subarray(at, at + length));
    at += length;
  }
  if (at < bytes.length) pieces.push(bytes.subarray(at));
  return pieces;
}
