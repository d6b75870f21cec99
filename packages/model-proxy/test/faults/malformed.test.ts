/**
 * Sends more than a thousand invalid requests. The proxy rejects each with an error in OpenAI's shape, or closes the
 * connection if the HTTP is invalid. No invalid request reaches the upstream.
 */
import { describe, expect, it } from '@jest/globals';
import { exchangeBytes } from '../harness/call.js';
import { PUBLIC_MODEL } from '../harness/proxy.js';
import { brokenRequests, CANARY, refusedRequests, type Malformed } from './random/malformed-heads.js';
import { malformedBodies } from './random/malformed-bodies.js';
import { errorOf, messages, useProxy, type Fixture } from './fixture.js';
import { seededRandom, type Random } from '../../../daemon/test/support/random.js';

/** The seed. With the seed of a failed run in RACKLESS_SEED, the test repeats that run. */
const SEED = Number(process.env['RACKLESS_SEED'] ?? 20_260_301);
/** Requests of each kind; more than a thousand in total. */
const EACH = 24;
const AT_ONCE = 16;

interface Sent extends Malformed {
  /** The HTTP is invalid: the proxy may close the connection without an answer. */
  readonly mayClose: boolean;
}

/** Checks an answer. @returns its fault; undefined: none. */
function fault(sent: Sent, answer: string): string | undefined {
  if (answer === '') return sent.mayClose ? undefined : 'the connection was closed without an answer';
  const end = answer.indexOf('\r\n\r\n');
  const head = answer.slice(0, end);
  // An unknown method gets 501 (RFC 9110 §15.6.2). Random bytes begin with an unknown method.
  if (!/^HTTP\/1\.1 4\d\d /.test(head) && !(sent.mayClose && head.startsWith('HTTP/1.1 501 ')))
    return `not a 4xx: ${head}`;
  if (!/^content-type: application\/json/im.test(head)) return `no JSON: ${head}`;
  const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1]);
  const body = Buffer.from(answer.slice(end + 4), 'latin1');
  if (body.length !== length) return `${body.length} bytes of ${length}, or more than one answer: ${answer}`;
  try {
    errorOf(body.toString('utf8'));
    return undefined;
  } catch (error) {
    return String(error);
  }
}

describe('malformed requests', () => {
  const fixture = useProxy({ more: ['general_settings:', '  max_request_size_mb: 1'] });
  const kinds: readonly (readonly [string, (random: Random) => Sent])[] = [
    ...Object.entries(malformedBodies).map(([kind, make]): [string, (random: Random) => Sent] => [
      `a body: ${kind}`,
      (random) => ({ bytes: requestWith(make(random), random), sendsFin: false, mayClose: false }),
    ]),
    ...Object.entries(refusedRequests).map(([kind, make]): [string, (random: Random) => Sent] => [
      kind,
      (random) => ({ ...make(random), mayClose: false }),
    ]),
    ...Object.entries(brokenRequests).map(([kind, make]): [string, (random: Random) => Sent] => [
      kind,
      (random) => ({ ...make(random), mayClose: true }),
    ]),
  ];

  it('include more than a thousand cases', () => {
    expect(kinds.length * EACH).toBeGreaterThan(1000);
  });

  it.each(kinds)('are rejected and do not reach the upstream: %s', async (kind, make) => {
    const random = seededRandom(SEED + kind.length);
    const requests = Array.from({ length: EACH }, () => make(random));
    const faults: string[] = [];
    while (requests.length > 0) {
      await Promise.all(
        requests.splice(0, AT_ONCE).map(async (sent) => {
          const answer = await exchangeBytes(fixture().proxy.port, sent.bytes, {
            finish: sent.sendsFin,
            ...(sent.closesAfterAnswer === true ? { until: wholeAnswer } : {}),
          });
          const wrong = fault(sent, answer);
          if (wrong !== undefined)
            faults.push(
              `RACKLESS_SEED=${SEED}: ${wrong}\nfor ${JSON.stringify(sent.bytes.toString('latin1').slice(0, 900))}`,
            );
        }),
      );
    }
    expect(faults).toEqual([]);
    await expectUnharmed(fixture());
  });
});

describe('malformed requests among others', () => {
  const fixture = useProxy();

  it('do not affect valid requests on the same connection: each request gets its answer, in order', async () => {
    const request = (body: string, last = false) =>
      [
        'POST /v1/chat/completions HTTP/1.1',
        'Host: proxy.test',
        'Content-Type: application/json',
        `Connection: ${last ? 'close' : 'keep-alive'}`,
        `Content-Length: ${Buffer.byteLength(body)}`,
        '',
        body,
      ].join('\r\n');
    const good = JSON.stringify({ model: PUBLIC_MODEL, messages });
    const bytes = [good, '{"model": "public-model"', good, '{"model": "nobody"}', '[]', good];
    const answer = await exchangeBytes(
      fixture().proxy.port,
      Buffer.from(bytes.map((body, index) => request(body, index === bytes.length - 1)).join('')),
    );
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(
      [200, 400, 200, 400, 400, 200].map((status) => `HTTP/1.1 ${status}`),
    );
    expect(fixture().upstream.received).toHaveLength(3);
  });
});

/** Returns whether an answer is complete. */
function wholeAnswer(text: string): boolean {
  const [head = '', ...body] = text.split('\r\n\r\n');
  return body.join('\r\n\r\n').length >= Number(/^content-length: (\d+)$/im.exec(head)?.[1]);
}

/** Makes a valid HTTP request with the given body, with a length or in random chunks. */
function requestWith(body: Buffer, random: Random): Buffer {
  const head =
    'POST /v1/chat/completions HTTP/1.1\r\nHost: proxy.test\r\nContent-Type: application/json\r\nConnection: close\r\n';
  if (random.integer(2) === 0)
    return Buffer.concat([Buffer.from(`${head}Content-Length: ${body.length}\r\n\r\n`), body]);
  const pieces: Buffer[] = [Buffer.from(`${head}Transfer-Encoding: chunked\r\n\r\n`)];
  for (let at = 0; at < body.length;) {
    const piece = body.subarray(at, at + 1 + random.integer(body.length));
    pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
    at += piece.length;
  }
  return Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')]);
}

/** Checks that the upstream has got no request, that the proxy still works, and that its log has no error. */
async function expectUnharmed({ upstream, proxy, works }: Fixture): Promise<void> {
  expect([upstream.received, upstream.malformed]).toEqual([[], []]);
  await works();
  expect(upstream.received.map(({ body }) => body?.includes(CANARY))).toEqual([false]);
  // An invalid request is not an error of the proxy.
  expect(proxy.logged().filter((line) => / error /i.test(line))).toEqual([]);
}
