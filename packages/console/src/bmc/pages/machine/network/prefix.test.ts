import { expect, it } from '@jest/globals';
import { prefixOf } from './prefix.js';

it('prefixOf returns the length of the prefix of a mask, and null for an empty text', () => {
  expect(['255.255.255.0', '255.255.254.0', '255.255.255.255', '0.0.0.0', ''].map(prefixOf)).toEqual([
    24,
    23,
    32,
    0,
    null,
  ]);
});
