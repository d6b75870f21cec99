import { describe, expect, it } from '@jest/globals';
import { ProxyError } from '../errors/proxy-error.js';
import { segmentOf } from './target.js';

describe('the segment of a path for a model', () => {
  it.each([
    ['gpt-4o', 'gpt-4o'],
    ['arn:aws:bedrock:us-east-1::model/a.b', 'arn%3Aaws%3Abedrock%3Aus-east-1%3A%3Amodel%2Fa.b'],
    ['...', '...'],
    ['a..b/.c', 'a..b%2F.c'],
  ])('contains %s as %s', (name, segment) => {
    expect(segmentOf(name)).toBe(segment);
  });

  it.each(['', '.', '..', '../x', 'a/../b', 'a/.', '..\\x'])(
    'is not made of %j, which leads to another path',
    (name) => {
      expect(() => segmentOf(name)).toThrow(ProxyError);
    },
  );
});
