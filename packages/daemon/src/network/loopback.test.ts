import { describe, expect, it } from '@jest/globals';
import { isLoopback } from './loopback.js';

describe('an address', () => {
  it.each([
    ['127.0.0.1', true],
    ['127.8.9.1', true],
    ['::1', true],
    ['::ffff:127.0.0.1', true],
    ['localhost', true],
    ['', false],
    ['0.0.0.0', false],
    ['::', false],
    ['192.168.127.1', false],
    ['bmc.example', false],
  ])('%j is loopback: %s', (address, loopback) => {
    expect(isLoopback(address)).toBe(loopback);
  });
});
