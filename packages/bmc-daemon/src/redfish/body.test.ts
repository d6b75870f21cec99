import { PassThrough } from 'node:stream';
import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { maximumBodyBytes, readBody } from './body.js';
import { RedfishError } from './errors.js';
import { messageId } from './messages.js';

/** All that readBody takes of a request: its headers and its bytes. The pipeline's tests send real ones. */
const request = (body: string | Buffer, headers: Record<string, string> = { 'content-type': 'application/json' }) => {
  const stream = Object.assign(new PassThrough(), { headers });
  stream.end(body);
  return stream as unknown as IncomingMessage;
};
const refusal = async (incoming: IncomingMessage) => {
  const error: unknown = await readBody(incoming).catch((reason: unknown) => reason);
  return error instanceof RedfishError && [error.status, ...error.messages.map(messageId), error.headers];
};

describe('readBody', () => {
  it.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"', undefined])(
    'takes JSON as %j (B13)',
    async (type) => {
      const incoming = request('{"a":"ü"}', type === undefined ? {} : { 'content-type': type });
      expect(await readBody(incoming)).toEqual({ a: 'ü' });
    },
  );

  it('leaves out @odata members at any depth (B13)', async () => {
    const body = '{"@odata.id":"/x","a":[{"b@odata.count":1,"c":2}]}';
    expect(await readBody(request(body))).toEqual({ a: [{ c: 2 }] });
  });

  it('keeps a link, which is nothing but its @odata.id (S10)', async () => {
    const body = '{"@odata.id":"/x","a":[{"@odata.id":"/y"},{"@odata.id":"/z","c":2}]}';
    expect(await readBody(request(body))).toEqual({ a: [{ '@odata.id': '/y' }, { c: 2 }] });
  });

  it.each(['application/json', 'application/x-www-form-urlencoded'])(
    'finds nothing in an empty body of type %s (B9)',
    async (type) => {
      expect(await readBody(request('', { 'content-type': type }))).toBeUndefined();
    },
  );

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx', 'application/json; charset=utf-16'])(
    'refuses %s with 415 (B13)',
    async (type) => {
      expect(await refusal(request('{}', { 'content-type': type }))).toEqual([
        415,
        'Base.1.22.HeaderInvalid',
        { Accept: 'application/json' },
      ]);
    },
  );

  it.each(['{', '{"a":1,}', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])])(
    'refuses %j as malformed (B13)',
    async (body) => {
      expect(await refusal(request(body))).toEqual([400, 'Base.1.22.MalformedJSON', {}]);
    },
  );

  it.each(['[]', '"x"', '1', 'null'])('refuses %s, which is no object (B13)', async (body) => {
    expect(await refusal(request(body))).toEqual([400, 'Base.1.22.UnrecognizedRequestBody', {}]);
  });

  it('takes a body of exactly 1 MiB, not one byte more, declared or not (B13)', async () => {
    const filled = (size: number) => `{"a":"${'x'.repeat(size - 8)}"}`;
    expect(await readBody(request(filled(maximumBodyBytes)))).toEqual({ a: 'x'.repeat(maximumBodyBytes - 8) });
    const tooLarge = [413, 'Base.1.22.PayloadTooLarge', {}];
    expect(await refusal(request(filled(maximumBodyBytes + 1)))).toEqual(tooLarge);
    expect(await refusal(request('{}', { 'content-length': String(maximumBodyBytes + 1) }))).toEqual(tooLarge);
  });

  it('survives a body made of brackets (B13)', async () => {
    const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
    expect(Object.keys((await readBody(request(deep))) ?? {})).toEqual(['a']);
  });
});
