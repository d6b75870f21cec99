/** Makes random requests with invalid or ambiguous HTTP, as bytes. */
import { PUBLIC_MODEL } from '../../harness/proxy.js';
import { MAX_BODY_BYTES, WHOLE } from './malformed-bodies.js';
import type { Random } from '../../../../daemon/test/support/random.js';

/** A request with a fault. */
export interface Malformed {
  readonly bytes: Buffer;
  /** The client sends FIN after the bytes, because the proxy could wait for more. */
  readonly sendsFin: boolean;
  /**
   * The client closes as soon as it has its answer. The proxy still waits for the rest of the
   * request.
   */
  readonly closesAfterAnswer?: boolean;
}

/** A mark in smuggled requests. No upstream may see it. */
export const CANARY = 'canary-0815';

const LINE = 'POST /v1/chat/completions HTTP/1.1';
const HOST = 'Host: proxy.test';
const TYPE = 'Content-Type: application/json';
const LENGTH = `Content-Length: ${Buffer.byteLength(WHOLE)}`;
const CLOSE = 'Connection: close';
const smuggledBody = JSON.stringify({ model: PUBLIC_MODEL, messages: [{ role: 'user', content: CANARY }] });
/**
 * A complete second request. A server that disagrees with the proxy about the end of the first
 * request would serve this one.
 */
const SMUGGLED = `POST /v1/chat/completions HTTP/1.1\r\nHost: proxy.test\r\nContent-Type: application/json\r\nContent-Length: ${smuggledBody.length}\r\nX-Canary: ${CANARY}\r\n\r\n${smuggledBody}`;

const text = (lines: readonly string[], body = ''): Buffer =>
  Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`, 'latin1');
const whole = Buffer.from(WHOLE).toString('latin1');
const complete = (lines: readonly string[], body = whole): Malformed => ({
  bytes: text(lines, body),
  sendsFin: false,
});
const unfinished = (lines: readonly string[], body: string): Malformed => ({
  bytes: text(lines, body),
  sendsFin: true,
});
/** Makes a request with an invalid chunked body. */
const chunked = (body: string): Malformed => unfinished([LINE, HOST, TYPE, 'Transfer-Encoding: chunked', CLOSE], body);

/** Requests that the proxy can read, with a fault. The proxy answers each of them with 4xx. */
export const refusedRequests: Readonly<Record<string, (random: Random) => Malformed>> = {
  'a body larger than allowed': () => {
    const body = `{"model":"${PUBLIC_MODEL}","messages":[],"x":"${'x'.repeat(MAX_BODY_BYTES)}"}`;
    return complete([LINE, HOST, TYPE, `Content-Length: ${body.length}`, CLOSE], body);
  },
  'a body that announces more than allowed': (random) => ({
    ...complete([LINE, HOST, TYPE, `Content-Length: ${random.pick([2 ** 21, 2 ** 31, 2 ** 40])}`, CLOSE], '{'),
    closesAfterAnswer: true,
  }),
  'chunks larger than allowed, together': () =>
    complete(
      [LINE, HOST, TYPE, 'Transfer-Encoding: chunked', CLOSE],
      `${`10000\r\n${' '.repeat(65536)}\r\n`.repeat(17)}0\r\n\r\n`,
    ),
  'a compressed body': (random) =>
    complete([
      LINE,
      HOST,
      TYPE,
      LENGTH,
      CLOSE,
      `Content-Encoding: ${random.pick(['gzip', 'br', 'deflate', 'zstd', 'GZIP', 'gzip, identity', 'x'])}`,
    ]),
  'an unknown path': (random) =>
    complete([
      `POST ${random.pick(['/', '/v1/chat/completions%00', '/v1/%2e%2e/chat/completions', '/%00', '/v1/chat%2Fcompletions', '/v1/chat/completions;x', '/\u00e9', '/v1/chat/%zz', '/v1/../../etc/passwd'])} HTTP/1.1`,
      HOST,
      TYPE,
      LENGTH,
      CLOSE,
    ]),
  'another method': (random) =>
    complete(
      [
        `${random.pick(['GET', 'PUT', 'DELETE', 'PATCH', 'PROPFIND', 'TRACE'])} /v1/chat/completions HTTP/1.1`,
        HOST,
        CLOSE,
      ],
      '',
    ),
  'no Host': () => complete([LINE, TYPE, LENGTH, CLOSE]),
};

/** Requests with invalid HTTP: the proxy answers 4xx or 501, or closes the connection. */
export const brokenRequests: Readonly<Record<string, (random: Random) => Malformed>> = {
  'an invalid header': (random) =>
    unfinished(
      [
        LINE,
        HOST,
        random.pick([
          'garbage',
          ': no name',
          'Na me: x',
          'Name : x',
          'X\u0000Y: z',
          'X-Null: a\u0000b',
          'X-Control: \u0001\u0002',
          'X-Cr: a\rb',
          '\tfolded',
          'X(Y): z',
          'X\u00e9: y',
          '='.repeat(100),
        ]),
        TYPE,
        LENGTH,
        CLOSE,
      ],
      whole,
    ),
  'too many headers': (random) =>
    unfinished(
      [
        LINE,
        HOST,
        ...Array.from({ length: 50 }, (_, index) => `X-${index}: ${'y'.repeat(400 + random.integer(2000))}`),
        LENGTH,
      ],
      whole,
    ),
  'one header that is too long': () => unfinished([LINE, HOST, `X-Long: ${'z'.repeat(40_000)}`, LENGTH], whole),
  'a path that is too long': () => unfinished([`POST /v1/${'a'.repeat(40_000)} HTTP/1.1`, HOST, LENGTH], whole),
  'an invalid request line': (random) =>
    unfinished(
      [
        random.pick([
          'POST',
          'POST /v1/chat/completions',
          'POST  /v1/chat/completions HTTP/1.1',
          'post /v1/chat/completions HTTP/1.1',
          'POST /v1/chat/completions HTTP/3.7',
          'POST /v1/chat/completions HTTP/x',
          'POST /v1/chat/completions HTTP/1.1 x',
          'POST /v1/chat\u0000/completions HTTP/1.1',
          'POST /v1/ chat/completions HTTP/1.1',
          'PÖST / HTTP/1.1',
          'HTTP/1.1 200 OK',
          '\u0016\u0003\u0001\u0002\u0000\u0001',
          'PRI * HTTP/2.0',
          'SSH-2.0-x',
        ]),
      ],
      '',
    ),
  'another protocol': (random) => ({
    bytes: Buffer.from(Array.from({ length: 300 }, () => random.integer(256))),
    sendsFin: true,
  }),
  'two lengths': (random) =>
    unfinished([LINE, HOST, TYPE, `Content-Length: ${random.integer(50)}`, LENGTH, CLOSE], whole + SMUGGLED),
  'an invalid length': (random) =>
    unfinished(
      [
        LINE,
        HOST,
        TYPE,
        `Content-Length: ${random.pick(['-1', '+10', '0x10', '1e2', '10, 20', '10 20', 'ten', '1.5', '99999999999999999999', '', '10;'])}`,
        CLOSE,
      ],
      whole + SMUGGLED,
    ),
  'a length and chunks': (random) =>
    unfinished(
      [
        LINE,
        HOST,
        TYPE,
        ...random.pick([
          ['Content-Length: 5', 'Transfer-Encoding: chunked'],
          ['Transfer-Encoding: chunked', 'Content-Length: 5'],
          [LENGTH, 'transfer-encoding: CHUNKED'],
        ]),
        CLOSE,
      ],
      `0\r\n\r\n${SMUGGLED}`,
    ),
  'an invalid transfer coding': (random) =>
    unfinished(
      [
        LINE,
        HOST,
        TYPE,
        `Transfer-Encoding${random.pick([': xchunked', ' : chunked', ': chunked, identity', ': identity', ':\u000bchunked', ': chunked\r\nTransfer-Encoding: x', ': gzip', ': x\r\n chunked', ': "chunked"', ': chun\tked'])}`,
        CLOSE,
      ],
      `0\r\n\r\n${SMUGGLED}`,
    ),
  'invalid chunks': (random) =>
    chunked(
      random.pick([
        'zz\r\n',
        '-5\r\n{"mod\r\n',
        'fffffffffffffffff\r\nx\r\n',
        '5\r\n{"modXX\r\n',
        '5{"mod\r\n',
        '0x5\r\n{"mod\r\n',
        '5 \r\n{"mod\r\n0\r\n\r\n',
        '\r\n',
        '5;\u0000=x\r\n{"mod\r\n',
        '3\r\n{"mo\r\n0\r\nTrailer garbage\r\n\r\n',
        '1\n{\n0\n\n',
        `${'0'.repeat(20_000)}1\r\n{\r\n`,
      ]),
    ),
  'chunks that break off': (random) => {
    const body = `${Buffer.byteLength(WHOLE).toString(16)}\r\n${whole}\r\n0\r\n\r\n`;
    return chunked(body.slice(0, random.integer(body.length - 1)));
  },
  'a body that breaks off': (random) =>
    unfinished([LINE, HOST, TYPE, LENGTH, CLOSE], whole.slice(0, random.integer(whole.length))),
  'a head that breaks off': (random) => {
    const { bytes } = complete([LINE, HOST, TYPE, LENGTH, CLOSE], '');
    return { bytes: bytes.subarray(0, random.integer(bytes.length - 1)), sendsFin: true };
  },
  'a broken body and a request after it': (random) => {
    const body = `{"model": "${PUBLIC_MODEL}", "messages": [${'['.repeat(random.integer(100))}`;
    // The proxy rejects the first request and closes the connection, so it must not serve the second.
    return unfinished([LINE, HOST, TYPE, `Content-Length: ${body.length}`, CLOSE], body + SMUGGLED);
  },
  'two hosts': () => unfinished([LINE, HOST, 'Host: other.test', TYPE, LENGTH, CLOSE], whole),
};
