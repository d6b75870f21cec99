import { describe, expect, it } from '@jest/globals';
import { acceptableId, hasOneHost } from './request-head.js';

describe('hasOneHost', () => {
  it.each([
    ['one Host header', ['Accept', '*/*', 'Host', 'a'], '1.1', true],
    ['one Host header in small letters', ['host', 'a'], '1.1', true],
    ['two Host headers', ['Host', 'a', 'host', 'a'], '1.1', false],
    ['two Host headers in HTTP/1.0', ['Host', 'a', 'HOST', 'b'], '1.0', false],
    ['no Host header', ['Accept', 'host'], '1.1', false],
    ['no Host header in HTTP/1.0', [], '1.0', true],
    ['another header whose value is Host', ['x', 'Host', 'Host', 'a'], '1.1', true],
  ])('returns whether there is one Host, or none in HTTP/1.0: %s', (_what, rawHeaders, httpVersion, expected) => {
    expect(hasOneHost({ rawHeaders, httpVersion })).toBe(expected);
  });
});

describe('acceptableId', () => {
  it.each([
    ['trace-1.a:b_C', 'trace-1.a:b_C'],
    ['x'.repeat(8), 'x'.repeat(8)],
    ['x'.repeat(17), undefined],
    ['', undefined],
    ['a b', undefined],
    ['a\nb', undefined],
    ['a\n', undefined],
    ['é', undefined],
    [undefined, undefined],
    [['a'], undefined],
  ])('returns for %j: %j', (id, expected) => {
    expect(acceptableId(id, 16)).toBe(expected);
  });
});
