import { describe, expect, it } from '@jest/globals';
import { dropLongHeaders } from './head-limit.js';

const bytesOf = (headers: readonly string[]) =>
  headers.reduce((sum, text) => sum + text.length, 0) + 2 * headers.length;
const names = (headers: readonly string[]) => headers.filter((_text, index) => index % 2 === 0);

describe('the headers of an answer', () => {
  it('do not change while they are short', () => {
    const headers = ['x-litellm-version', '1', 'llm_provider-server', 'uvicorn', 'x-ratelimit-limit', '1'];
    const copy = [...headers];
    // The upstream's headers begin at index 2, after one header of the proxy.
    expect([dropLongHeaders(headers, 2), headers]).toEqual([0, copy]);
  });

  it('lose the longest header of the upstream first, and no other', () => {
    const headers = ['ours', 'o'.repeat(1000), 'a', '1', 'long', 'x'.repeat(60_000), 'b', 'y'.repeat(1000), 'c', '3'];
    expect([dropLongHeaders(headers, 2), names(headers)]).toEqual([1, ['ours', 'a', 'b', 'c']]);
  });

  it('keep essential headers rather than many short ones', () => {
    const many = Array.from({ length: 1000 }, (_, index) => [`x-many-${index}`, '1']).flat();
    const headers = ['ours', '1', ...many, 'content-encoding', 'gzip', 'location', '/'.repeat(600)];
    const dropped = dropLongHeaders(headers, 2);
    expect(names(headers)).toEqual(expect.arrayContaining(['ours', 'content-encoding', 'location']));
    expect([dropped + names(headers).length, bytesOf(headers) < 4096]).toEqual([1003, true]);
  });

  it('lose an essential header if it alone is too long, but no header of the proxy', () => {
    const headers = ['ours', 'o'.repeat(5000), 'content-type', 'x'.repeat(5000)];
    expect([dropLongHeaders(headers, 2), names(headers)]).toEqual([1, ['ours']]);
  });
});
