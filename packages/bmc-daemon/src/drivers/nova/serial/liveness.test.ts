import { expect, it } from '@jest/globals';
import { createLiveness } from './liveness.js';

it('asks for a ping at each step without a message, and ends the connection without a reply', () => {
  const { heard, replied, next } = createLiveness();
  expect([next(), next()]).toEqual(['wait', 'ping']);
  replied();
  expect(next()).toBe('ping');
  heard();
  expect([next(), next()]).toEqual(['wait', 'ping']);
  expect(next()).toBe('end');
});
