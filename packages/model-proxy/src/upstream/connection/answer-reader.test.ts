import { describe, expect, it } from '@jest/globals';
import { MAX_INTERIM_ANSWERS } from '@rackless/daemon/http/interim-answers.js';
import fc from 'fast-check';
import { AnswerFault } from './answer-fault.js';
import { AnswerReader } from './answer-reader.js';

/**
 * Reads answers in chunks, and records the sink's calls: `200 a|b true null` is the head (status, headers, whether
 * the connection stays open, its limit in ms), `end false` the end (whether bytes follow). A fault is its kind.
 * @param pieces the chunks. With `ends`, the connection then ends. With `pauses`, the head and each piece of a body
 *   pause the reader.
 */
function readAll(pieces: readonly Buffer[], { ends = false, pauses = false } = {}) {
  const callbacks: string[] = [];
  let body = '';
  let rest: Buffer = Buffer.alloc(0);
  const reader: AnswerReader = new AnswerReader({
    onAnswerBegun: () => void callbacks.push('begun'),
    onHead: ({ status, headers, keepsAlive, keepAliveMs }) => {
      callbacks.push(`${status} ${headers.join('|')} ${keepsAlive} ${keepAliveMs}`);
      return !pauses;
    },
    onData: (bytes) => {
      body += bytes.toString('latin1');
      return !pauses;
    },
    onAnswerEnd: (isFollowed) => void callbacks.push(`end ${isFollowed}`),
  });
  reader.expect();
  try {
    for (const piece of pieces) {
      rest = Buffer.concat([rest, piece]);
      while (rest.length > 0 && !reader.isIdle) rest = rest.subarray(reader.read(rest));
    }
    if (ends) reader.finish();
  } catch (error) {
    if (!(error instanceof AnswerFault)) throw error;
    callbacks.push(error.kind);
  }
  return { callbacks, body };
}

function cutAt(text: string, ...places: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text, 'latin1');
  const sorted = [0, ...places.map((place) => place % (bytes.length + 1)), bytes.length].sort((a, b) => a - b);
  return sorted.slice(1).map((to, index) => bytes.subarray(sorted[index], to));
}

/** Returns the pieces in which a reader passes the bodies of answers. @param answers how often the answer arrives. */
function piecesOf(wire: string, answers = 1): readonly string[] {
  const pieces: string[] = [];
  const reader = new AnswerReader({
    onAnswerBegun: () => undefined,
    onHead: () => true,
    onData: (bytes) => pieces.push(bytes.toString('latin1')) > 0,
    onAnswerEnd: () => void pieces.push('end'),
  });
  for (let count = 0; count < answers; count += 1) {
    reader.expect();
    const bytes = Buffer.from(wire, 'latin1');
    expect(reader.read(bytes)).toBe(bytes.length);
  }
  return pieces;
}

describe('AnswerReader', () => {
  const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

  const small = Array.from({ length: 10_000 }, (_, at) => String(at));

  it('passes the first 4,096 small chunks of an answer one by one, and joins later ones of the same read', () => {
    const pieces = piecesOf(`${head}${small.map(chunk).join('')}0\r\n\r\n`);
    expect(pieces).toEqual([...small.slice(0, 4096), small.slice(4096).join(''), 'end']);
  });

  it('passes larger chunks one by one', () => {
    const event = 'x'.repeat(64);
    const wire = [...small.slice(0, 4096), event, 'a', event, 'b', 'c', event].map(chunk).join('');
    const pieces = piecesOf(`${head}${wire}1;a=b\r\nd\r\n0\r\n\r\n`);
    expect(pieces.slice(4096)).toEqual([event, 'a', event, 'bc', event, 'd', 'end']);
  });

  it('counts the small chunks of each answer separately', () => {
    const wire = `${head}${small.slice(0, 4000).map(chunk).join('')}0\r\n\r\n`;
    expect([piecesOf(wire, 2).length, piecesOf(wire, 1).length]).toEqual([2 * 4001, 4001]);
  });
});

const ok = 'HTTP/1.1 200 OK\r\n';
const chunked = `${ok}Transfer-Encoding: Chunked\r\n\r\n`;
/** Rows: the case, the bytes of the answer, whether the connection ends after them, the calls of the sink, the body. */
const answers: readonly [string, string, boolean, readonly string[], string][] = [
  [
    'a length',
    `${ok}Content-Length: 3\r\nX:\t y z \r\n\r\nabc`,
    false,
    ['200 content-length|3|x|y z true null', 'end false'],
    'abc',
  ],
  ['a length of 0', `${ok}content-length: 0\r\n\r\n`, false, ['200 content-length|0 true null', 'end false'], ''],
  ['no body', 'HTTP/1.1 204 None\r\n\r\n', false, ['204  true null', 'end false'], ''],
  ['no reason', 'HTTP/1.1 204\r\n\r\n', false, ['204  true null', 'end false'], ''],
  [
    'chunks, extensions and a trailer',
    `${chunked}3;a="b;\\"";c;d=e\r\nabc\r\n0A\r\n0123456789\r\n000\r\nx: y\r\nz: \r\n\r\n`,
    false,
    ['200 transfer-encoding|Chunked true null', 'end false'],
    'abc0123456789',
  ],
  ['the end of the connection', `${ok}\r\nabc`, true, ['200  false null', 'end false'], 'abc'],
  [
    'HTTP/1.0',
    'HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\na',
    false,
    ['200 content-length|1 false null', 'end false'],
    'a',
  ],
  [
    'a limited keep-alive',
    'HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nKeep-Alive: timeout=5, max=9\r\ncontent-length: 1\r\n\r\na',
    false,
    ['200 connection|Keep-Alive|keep-alive|timeout=5, max=9|content-length|1 true 5000', 'end false'],
    'a',
  ],
  [
    'interim answers before it',
    'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\nconnection: x, close\r\ncontent-length: 1\r\n\r\na',
    false,
    ['200 connection|x, close|content-length|1 false null', 'end false'],
    'a',
  ],
];

describe('an answer', () => {
  it.each(answers)(
    'with %s is the same at each cut, and with a pause after each call',
    (_name, text, ends, callbacks, body) => {
      for (let first = 0; first <= text.length; first += 1)
        for (const second of [first, first + 1, first + 2, text.length])
          for (const pauses of [false, true]) {
            const read = readAll(cutAt(text, first, Math.min(second, text.length)), { ends, pauses });
            expect(read).toEqual({ callbacks: ['begun', ...callbacks], body });
          }
    },
  );

  it('is complete if it is cut at random places', () => {
    const pieces = fc.array(fc.string({ minLength: 1, maxLength: 40 }), { maxLength: 8 });
    const property = fc.property(
      pieces,
      fc.array(fc.nat(), { maxLength: 6 }),
      fc.boolean(),
      (texts, places, pauses) => {
        const sent = texts.map((text) => Buffer.from(text).toString('latin1'));
        const text = `${chunked}${sent.map((one) => `${one.length.toString(16)}\r\n${one}\r\n`).join('')}0\r\n\r\n`;
        const read = readAll(cutAt(text, ...places), { pauses });
        expect(read).toEqual({
          callbacks: ['begun', '200 transfer-encoding|Chunked true null', 'end false'],
          body: sent.join(''),
        });
      },
    );
    fc.assert(property, { numRuns: 500 });
  });

  it.each([
    'HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    'HTTP/1.0 200 OK\r\nconnection: close\r\nconnection: keep-alive\r\ncontent-length: 0\r\n\r\n',
    'HTTP/1.1 204 No\r\ncontent-length: 1\r\n\r\n',
    'HTTP/1.1 204 No\r\ntransfer-encoding: chunked\r\n\r\n',
    'HTTP/1.1 304 No\r\ncontent-length: 1\r\n\r\n',
  ])('does not keep its connection alive if its body or its Connection header is unclear: %j', (text) => {
    const { callbacks } = readAll([Buffer.from(text)]);
    expect([callbacks[1]?.split(' ').at(-2), callbacks.at(-1)]).toEqual(['false', 'end false']);
  });

  it('may follow the maximum number of interim answers, and no more', () => {
    const interim = 'HTTP/1.1 103 X\r\n\r\n';
    const text = (count: number) => `${interim.repeat(count)}HTTP/1.1 204 X\r\n\r\n`;
    expect(readAll(cutAt(text(MAX_INTERIM_ANSWERS))).callbacks.at(-1)).toBe('end false');
    expect(readAll(cutAt(text(MAX_INTERIM_ANSWERS + 1))).callbacks).toEqual(['begun', 'head']);
  });

  it('ends at its own last byte, and reports that other bytes follow', () => {
    for (const text of [`${ok}content-length: 1\r\n\r\na`, `${chunked}0\r\n\r\n`, 'HTTP/1.1 204 None\r\n\r\n'])
      expect(readAll([Buffer.from(`${text}HTTP/1.1 200 OK\r\n`)]).callbacks.at(-1)).toBe('end true');
  });

  it.each([
    ['http', 'HTTP/2 200\r\n\r\n'],
    ['http', 'HTTP/1.1 2000 OK\r\n\r\n'],
    ['http', 'HTTP/1.1 600 OK\r\n\r\n'],
    ['http', 'HTTP/1.2 200 OK\r\n\r\n'],
    ['http', 'http/1.1 200 OK\r\n\r\n'],
    ['http', ' HTTP/1.1 200 OK\r\n\r\n'],
    ['http', 'HTTP/1.1 200 OK\n\n'],
    ['http', 'HTTP/1.1 101 Upgrade\r\n\r\n'],
    ['http', `${ok}no colon\r\n\r\n`],
    ['http', `${ok}a : b\r\n\r\n`],
    ['http', `${ok}: b\r\n\r\n`],
    ['http', `${ok}a: b\r\n folded\r\n\r\n`],
    ['http', `${ok}a: b\rc\r\n\r\n`],
    ['http', `${ok}a: b\nc: d\r\n\r\n`],
    ['http', `${ok}a: \0\r\n\r\n`],
    ['http', `${ok}transfer-encoding: gzip, chunked\r\n\r\n`],
    ['http', `${ok}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n`],
    ['http', `${ok}transfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n`],
    ['http', `${ok}content-length: 3\r\ncontent-length: 3\r\n\r\n`],
    ['http', `${ok}content-length: +3\r\n\r\n`],
    ['http', `${ok}content-length: 3, 3\r\n\r\n`],
    ['http', `${ok}content-length: \r\n\r\n`],
    ['head', `${ok}x: ${'y'.repeat(70_000)}\r\n\r\n`],
    ['head', `${ok}${'x:\r\n'.repeat(1001)}\r\n`],
    ['http', `${chunked}\r\n`],
    ['http', `${chunked}-1\r\n`],
    ['http', `${chunked}0x1\r\n`],
    ['http', `${chunked}1\na`],
    ['http', `${chunked}1\r\nab`],
    ['http', `${chunked}1;a\nb\r\n`],
    ['http', `${chunked}1\ra`],
    ['http', `${chunked}ffffffffffffffff\r\n`],
    ['http', `${chunked}0\r\nx: y\n\r\n`],
    ['http', `${chunked}0\r\nno colon\r\n\r\n`],
    ['http', `${chunked}0\r\nx: \0\r\n\r\n`],
    ['http', `${chunked}0\r\nx: y\r\n folded\r\n\r\n`],
    ['http', `${chunked}1 \r\n`],
    ['http', `${chunked}1 ;a\r\n`],
    ['http', `${chunked}1;\r\n`],
    ['http', `${chunked}1;a="\r\n`],
    ['http', `${chunked}1;a\0\r\n`],
    ['http', `${chunked}1;${'x'.repeat(20_000)}`],
    ['http', `${chunked}0\r\n${'a: b\r\n'.repeat(20_000)}`],
  ])('is a fault if it is ambiguous or invalid (%s), also if it is cut in two: %j', (kind, text) => {
    for (let at = 0; at <= Math.min(text.length, 120); at += 1)
      expect(readAll(cutAt(text, at)).callbacks.at(-1)).toBe(kind);
  });

  it.each([
    ['closed', ''],
    ['closed', ok],
    ['closed', `${ok}content-length: 3\r\n\r\nab`],
    ['length', `${ok}connection: close\r\ncontent-length: 3\r\n\r\nab`],
    ['closed', `${chunked}3\r\nab`],
    ['closed', `${chunked}3\r\nabc\r\n`],
    ['closed', `${chunked}0\r\n`],
  ])('is a fault if it breaks off (%s): %j', (kind, text) => {
    expect(readAll([Buffer.from(text)], { ends: true }).callbacks.at(-1)).toBe(kind);
  });
});
