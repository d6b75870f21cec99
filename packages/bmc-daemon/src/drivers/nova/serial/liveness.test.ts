import { expect, it } from '@jest/globals';
import { createLiveness } from './liveness.js';

it('a liveness check pings after an interval without a message, and ends a connection without a reply', () => {
  const { heard, replied, next } = createLiveness();
  expect([next(), next()]).toEqual(['wait', 'ping']);
  replied();
  expect(next()).toBe('ping');
  heard();
  expect([next(), next()]).toEqual(['wait', 'ping']);
  expect(next()).toBe('end');
});
