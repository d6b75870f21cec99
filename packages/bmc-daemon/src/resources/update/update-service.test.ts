import { describe, expect, it } from '@jest/globals';
import { nextVersion } from './update-service.js';

describe('the version after a simulated update', () => {
  it.each([
    ['http://h/bios-1.5.2.bin', '1.4', '1.5.2'],
    ['http://h/2.0/bios.bin', '1.4', '1.5'],
    ['http://h/bios.bin?v=9.9', 'A1-r9 beta', 'A1-r10 beta'],
    ['http://h/bios.bin', 'beta', 'beta.1'],
    ['http://h/', null, '1.0.0'],
  ])('follows from the image %s and the current version %j: %s', (image, current, expected) => {
    expect(nextVersion(new URL(image), current)).toBe(expected);
  });
});
