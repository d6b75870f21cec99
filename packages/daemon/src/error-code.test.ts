import { expect, it } from '@jest/globals';
import { readFile } from 'node:fs/promises';
import { errorCode } from './error-code.js';

it('errorCode returns the code of a system error', async () => {
  const error: unknown = await readFile('/nonexistent').catch((reason: unknown) => reason);
  expect(errorCode(error)).toBe('ENOENT');
});

it.each([undefined, null, 'ENOENT', new Error('without a code'), { code: 4 }])(
  'errorCode returns undefined for %p, whose code is missing or no text',
  (error) => {
    expect(errorCode(error)).toBeUndefined();
  },
);
