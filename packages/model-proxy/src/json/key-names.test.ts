import { describe, expect, it } from '@jest/globals';
import { keyName } from './key-names.js';

const nameOf = (text: string) => keyName(Buffer.from(text), 0, Buffer.byteLength(text));

describe('the cache of names', () => {
  it('decodes names, also the second time and at another place', () => {
    const twice = Buffer.from('"model","model"');
    expect([keyName(twice, 1, 6), keyName(twice, 9, 14), nameOf('')]).toEqual(['model', 'model', '']);
  });

  it('leaves long, escaped and non-ASCII names to the caller', () => {
    expect(['é', 'a\\u0062', 'a'.repeat(41)].map(nameOf)).toEqual([undefined, undefined, undefined]);
  });

  it('distinguishes names with the same hash', () => {
    // The first letters differ by 1, the second ones by -31.
    expect([nameOf('aa'), nameOf('bB'), nameOf('aa'), nameOf('bB')]).toEqual(['aa', 'bB', 'aa', 'bB']);
  });

  it('decodes more names than it stores', () => {
    const names = Array.from({ length: 1000 }, (_, index) => `name-${index}`);
    expect(names.map(nameOf)).toEqual(names);
    expect(names.map(nameOf)).toEqual(names);
  });
});
