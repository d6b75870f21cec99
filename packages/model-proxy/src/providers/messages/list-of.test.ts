import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { listOf } from './list-of.js';

describe('listOf', () => {
  const schema = z.object({ choices: listOf(z.object({ index: z.number() })).nullish() });

  it('reads a list', () => {
    expect(schema.parse({ choices: [{ index: 1, more: 2 }, { index: 3 }] })).toEqual({
      choices: [{ index: 1 }, { index: 3 }],
    });
    expect(schema.parse({})).toEqual({});
  });

  it('reads no element after the first invalid one', () => {
    let count = 0;
    const counted = listOf(z.unknown().refine(() => (count += 1) < 3));
    const { error } = counted.safeParse(Array.from({ length: 100_000 }, () => null));
    expect([count, error?.issues.length]).toEqual([3, 1]);
  });

  it('names the invalid element', () => {
    const { error } = schema.safeParse({ choices: [{ index: 1 }, { index: 'x' }, {}] });
    expect(error?.issues).toMatchObject([
      { path: ['choices', 1, 'index'], message: expect.stringContaining('number') },
    ]);
    expect(schema.safeParse({ choices: {} }).error?.issues).toMatchObject([{ path: ['choices'] }]);
  });
});
