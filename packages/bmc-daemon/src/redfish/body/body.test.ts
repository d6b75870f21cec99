import { PassThrough } from 'node:stream';
import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { RedfishError } from '../messages/errors.js';
import { messageId } from '../messages/messages.js';
import { createBodyReader, unsharedBodyBytes, maximumBodyBytes, type ReadBody } from './body.js';

/**
 * Returns an object with the parts of a request that readBody uses: headers and bytes. The pipeline's tests
 * send real requests.
 */
const request = (body: string | Buffer, headers: Record<string, string> = { 'content-type': 'application/json' }) => {
  const stream = Object.assign(new PassThrough(), { headers });
  stream.end(body);
  return stream as unknown as IncomingMessage;
};
const readBody = createBodyReader();
const errorOf = async (reading: ReturnType<ReadBody>): Promise<RedfishError> => {
  const error: unknown = await reading.catch((reason: unknown) => reason);
  if (!(error instanceof RedfishError)) throw new Error('the body was accepted', { cause: error });
  return error;
};
const readError = async (incoming: IncomingMessage) => {
  const { status, messages, headers } = await errorOf(readBody(incoming));
  return [status, ...messages.map(messageId), headers];
};

describe('readBody', () => {
  it.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"', undefined])(
    'accepts JSON with the content type %j',
    async (type) => {
      const incoming = request('{"a":"ü"}', type === undefined ? {} : { 'content-type': type });
      expect(await readBody(incoming)).toEqual({ a: 'ü' });
    },
  );

  it('rejects the body of a client that has already disconnected', async () => {
    const incoming = request('{}');
    incoming.destroy();
    expect(await readError(incoming)).toEqual([400, 'Base.1.22.UnrecognizedRequestBody', {}]);
  });

  it('removes members with @odata in their names at any depth, except in links', async () => {
    const body = '{"@odata.id":"/x","a":[{"b@odata.count":1,"c":2}]}';
    expect(await readBody(request(body))).toEqual({ a: [{ c: 2 }] });
  });

  it('keeps @odata.id only in a link, which is an object without other members', async () => {
    const body = '{"@odata.id":"/x","a":[{"@odata.id":"/y"},{"@odata.id":"/z","c":2}]}';
    expect(await readBody(request(body))).toEqual({ a: [{ '@odata.id': '/y' }, { c: 2 }] });
  });

  it.each(['application/json', 'application/x-www-form-urlencoded'])(
    'returns undefined for an empty body of type %s',
    async (type) => {
      expect(await readBody(request('', { 'content-type': type }))).toBeUndefined();
    },
  );

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx', 'application/json; charset=utf-16'])(
    'rejects %s with 415',
    async (type) => {
      expect(await readError(request('{}', { 'content-type': type }))).toEqual([
        415,
        'Base.1.22.HeaderInvalid',
        { Accept: 'application/json' },
      ]);
    },
  );

  it.each(['gzip', 'deflate, br', 'zstd'])('rejects a body with the coding %s with 415', async (coding) => {
    expect(await readError(request('{}', { 'content-encoding': coding }))).toEqual([
      415,
      'Base.1.22.HeaderInvalid',
      { 'Accept-Encoding': 'identity' },
    ]);
  });

  it('accepts the coding identity, and a character set in place of a coding', async () => {
    for (const coding of ['identity', 'utf-8'])
      expect(await readBody(request('{"a":1}', { 'content-encoding': coding }))).toEqual({ a: 1 });
  });

  it.each(['{', '{"a":1,}', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])])(
    'rejects %j as malformed',
    async (body) => {
      expect(await readError(request(body))).toEqual([400, 'Base.1.22.MalformedJSON', {}]);
    },
  );

  it.each(['[]', '"x"', '1', 'null'])('rejects %s, which is not an object', async (body) => {
    expect(await readError(request(body))).toEqual([400, 'Base.1.22.UnrecognizedRequestBody', {}]);
  });

  it('accepts a body of 1 MiB and rejects one byte more, with or without Content-Length', async () => {
    const paddedBody = (size: number) => `{"a":1}${' '.repeat(size - 7)}`;
    expect(await readBody(request(paddedBody(maximumBodyBytes)))).toEqual({ a: 1 });
    const tooLarge = [413, 'Base.1.22.PayloadTooLarge', {}];
    expect(await readError(request(paddedBody(maximumBodyBytes + 1)))).toEqual(tooLarge);
    expect(await readError(request('{}', { 'content-length': String(maximumBodyBytes + 1) }))).toEqual(tooLarge);
  });

  const deep = (levels: number) => `{"a/b":[{"c":${'['.repeat(levels - 3)}${']'.repeat(levels - 3)}}]}`;
  /** Arrays of 100 items; each counts as 101 values. */
  const bodyWithArrays = (arrays: number) =>
    `{"a":1,"b":[${Array.from({ length: arrays }, () => `[${'1,'.repeat(99)}1]`).join(',')}]}`;
  const bodyWithItems = (count: number) => `{"a":1,"b":[[],[${'1,'.repeat(count - 1)}1]]}`;
  const bodyWithNames = (count: number) =>
    `{"a":{${Array.from({ length: count }, (_, index) => `"${index}":1`).join(',')}}}`;
  const bodyWithString = (length: number) => `{"a":[0,{"b":"${'x'.repeat(length)}"}]}`;

  it('accepts a body at the limits of its structure', async () => {
    for (const body of [
      deep(16),
      bodyWithArrays(98),
      bodyWithItems(1000),
      bodyWithNames(1000),
      bodyWithString(131_072),
    ]) {
      expect(await readBody(request(body))).toBeDefined();
    }
  });

  it.each([
    ['nested deeper than 16 levels', deep(17), 413, `#/a~1b/0/c${'/0'.repeat(13)}`],
    ['made of brackets', '['.repeat(1_000_000), 413, `#${'/0'.repeat(16)}`],
    ['made of braces', '{"a":'.repeat(100_000), 413, `#${'/a'.repeat(16)}`],
    ['of more than 10,000 values', bodyWithArrays(100), 413, '#/b/98'],
    ['with an array of more than 1,000 items', bodyWithItems(1001), 400, '#/b/1'],
    ['with an object of more than 1,000 members', bodyWithNames(1001), 413, '#/a'],
    ['of 95,000 names', bodyWithNames(95_000), 413, '#/a'],
    ['of one name 100,000 times', `{${'"a":1,'.repeat(100_000)}"a":1}`, 413, '#'],
    ['with a string above 128 KiB', bodyWithString(131_073), 400, '#/a/1/b'],
    ['with a string without an end', `{"a":"${'\\"'.repeat(200_000)}`, 400, '#/a'],
    ['with a name above 128 KiB', `{"${'x'.repeat(200_000)}":1}`, 400, '#'],
  ])('rejects a body %s and reports the place', async (_what, body, status, place) => {
    const error = await errorOf(readBody(request(body)));
    expect([error.status, error.messages.map(({ related }) => related)]).toEqual([status, [[place]]]);
    expect(JSON.stringify(error.messages).length).toBeLessThan(1000);
  });

  it('returns objects that inherit nothing and that can always be converted to a primitive value', async () => {
    const body = await readBody(
      request('{"a":{"toString":1,"valueOf":1,"__proto__":2},"b":{"@odata.id":{"toString":1}}}'),
    );
    // The result is NaN, and there is no TypeError.
    expect([Number(body?.['a']), Number(body?.['b']), 'hasOwnProperty' in (body ?? {})]).toEqual([NaN, NaN, false]);
    expect(JSON.stringify(body)).toBe(
      '{"a":{"toString":1,"valueOf":1,"__proto__":2},"b":{"@odata.id":{"toString":1}}}',
    );
  });

  it('rejects a body that arrives in thousands of pieces, and stops reading it', async () => {
    const stream = Object.assign(new PassThrough(), { headers: {} });
    const reading = errorOf(readBody(stream as unknown as IncomingMessage));
    for (let piece = 0; piece < 5000; piece += 1) stream.write(' ');
    const { status, headers } = await reading;
    expect([status, headers, stream.isPaused()]).toEqual([413, { Connection: 'close' }, true]);
  });

  it('accepts 64 MiB of unfinished bodies, and rejects the next large body until these have ended', async () => {
    const shared = createBodyReader();
    const send = () => {
      const stream = Object.assign(new PassThrough(), { headers: {} });
      // The body reader uses only the stream and the headers of a request.
      const incoming = stream as unknown as IncomingMessage;
      stream.write(' '.repeat(maximumBodyBytes));
      return { stream, reading: shared(incoming).catch((error: unknown) => error) };
    };
    // The first 16 KiB of each body do not count against the budget. So 65 bodies fit, and the 66th
    // does not.
    const held = Array.from({ length: 65 }, send);
    const refusedOne = await send().reading;
    expect(refusedOne).toMatchObject({ status: 503, headers: { 'Retry-After': '1' } });
    expect(await shared(request(`{"a":"${'x'.repeat(1000)}"}`))).toBeDefined();
    for (const { stream } of held) stream.end();
    await Promise.all(held.map(({ reading }) => reading));
    const { stream, reading } = send();
    stream.end();
    expect(await reading).toMatchObject({ status: 400 });
  });

  it('rejects a body above the given limit of 16 KiB', async () => {
    const paddedBody = (size: number) => request(`{"a":1}${' '.repeat(size - 7)}`);
    expect(await readBody(paddedBody(unsharedBodyBytes), unsharedBodyBytes)).toEqual({ a: 1 });
    expect((await errorOf(readBody(paddedBody(unsharedBodyBytes + 1), unsharedBodyBytes))).status).toBe(413);
  });
});
