import { describe, expect, it } from '@jest/globals';
import type { UpstreamRequest } from '../upstream.js';
import { UnsendableError, wireRequest } from './wire-request.js';

/** Returns the lines of the headers, without those that `wireRequest` adds itself. */
function linesOf(headers: readonly string[]): readonly string[] {
  // The function reads only these members.
  const request = { method: 'POST', headers, body: [], isRaw: true } as unknown as UpstreamRequest;
  return wireRequest(request, '/', { host: 'upstream', absolute: null }).head.split('\r\n').slice(3, -3);
}

describe('the head of a request to an upstream', () => {
  it('has the values of this request, not those of an earlier request', () => {
    const long = 'x'.repeat(300);
    for (const value of ['first', 'second', 'first', '', long, long])
      expect(linesOf(['x-id', value, 'authorization', `Bearer ${value}`])).toEqual([
        `x-id: ${value}`,
        `authorization: Bearer ${value}`,
      ]);
    expect([linesOf(['x-long', long]), linesOf(['x-long', ''])]).toEqual([[`x-long: ${long}`], ['x-long: ']]);
  });

  it.each([
    ['a line end in a value', 'x-id', 'a\r\nb: c'],
    ['a name with a capital', 'X-Id', 'a'],
    ['a name that changes the framing', 'content-length', '1'],
  ])('rejects %s, also after valid headers', (_what, name, value) => {
    linesOf(['x-id', 'a']);
    for (let time = 0; time < 2; time += 1) expect(() => linesOf([name, value])).toThrow(UnsendableError);
  });
});
