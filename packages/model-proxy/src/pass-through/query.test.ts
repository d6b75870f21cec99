import { describe, expect, it } from '@jest/globals';
import { queryPairsOf, queryText, valueIn, withValue } from './query.js';

describe('a query', () => {
  it('keeps the original text of its pairs, except for changed values', () => {
    const query = queryPairsOf('/x?after=file%2D1&limit=20&&flag&model=a+b&z=%zz#f?no=1');
    expect(queryText(query)).toBe('?after=file%2D1&limit=20&flag&model=a+b&z=%zz');
    expect(queryText(withValue(query, 'model', 'c/d&e'))).toBe('?after=file%2D1&limit=20&flag&model=c%2Fd%26e&z=%zz');
    expect(query.map(({ name, value }) => [name, value])).toEqual([
      ['after', 'file-1'],
      ['limit', '20'],
      ['flag', ''],
      ['model', 'a b'],
      ['z', '%zz'],
    ]);
  });

  it('has the first non-empty value of a pair with one of several names', () => {
    const query = queryPairsOf('/x?provider=&custom_llm_provider=openai&provider=vllm');
    expect(valueIn(query, 'provider', 'custom_llm_provider')).toBe('openai');
    expect(valueIn(query, 'model')).toBeUndefined();
  });

  it('adds nothing if it is missing, and escapes invalid characters', () => {
    expect(queryText(queryPairsOf('/x'))).toBe('');
    expect(queryText(queryPairsOf('/x?'))).toBe('');
    expect(queryText(queryPairsOf('/x?a=é b'))).toBe('?a=%C3%A9%20b');
  });
});
