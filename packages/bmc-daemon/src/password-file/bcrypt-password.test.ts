import { describe, expect, it } from '@jest/globals';
import { hash } from 'bcrypt';
import { isPassword } from './bcrypt-password.js';

describe('a bcrypt password', () => {
  it.each(['$2a$', '$2b$', '$2y$'])('can be compared with %s hashes', async (prefix) => {
    const stored = (await hash('pässword', 4)).replace('$2b$', prefix);
    expect(await isPassword(Buffer.from('pässword'), stored)).toBe(true);
    expect(await isPassword(Buffer.from('password'), stored)).toBe(false);
  });

  it.each(['$2a$', '$2b$', '$2y$'])(
    'is compared by its first 72 bytes, whatever its length, with a %s hash',
    async (prefix) => {
      const password = 'x'.repeat(72);
      const stored = (await hash(password, 4)).replace('$2b$', prefix);
      // In the oldest implementations, the length is one byte, and overflows with 255 or 256 bytes.
      for (const length of [72, 73, 100, 255, 256, 257])
        expect(await isPassword(Buffer.from('x'.repeat(length)), stored)).toBe(true);
      expect(await isPassword(Buffer.from('x'.repeat(71)), stored)).toBe(false);
      expect(await isPassword(Buffer.from(''), stored)).toBe(false);
    },
  );

  it('does not match the hash of its part before a NUL', async () => {
    expect(await isPassword(Buffer.from('ab\0c'), await hash('ab', 4))).toBe(false);
  });
});
