import { expect, it } from '@jest/globals';
import { createLiveness } from './liveness.js';

it('requests a ping at a step without a message, and ends the connection if no reply arrives before the next step', () => {
  const { heard, replied, next } = createLiveness();
  expect([next(), next()]).toEqual(['wait', 'ping']);
  replied();
  expect(next()).toBe('ping');
  heard();
  expect([next(), next()]).toEqual(['wait', 'ping']);
  expect(next()).toBe('end');
});
