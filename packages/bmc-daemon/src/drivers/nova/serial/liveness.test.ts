import { expect, it } from '@jest/globals';
import { createLiveness } from './liveness.js';

it('requests a ping after an interval without a message; ends the connection after another without message or reply', () => {
  const { heard, replied, next } = createLiveness();
  expect([next(), next()]).toEqual(['wait', 'ping']);
  replied();
  expect(next()).toBe('ping');
  heard();
  expect([next(), next()]).toEqual(['wait', 'ping']);
  expect(next()).toBe('end');
});
