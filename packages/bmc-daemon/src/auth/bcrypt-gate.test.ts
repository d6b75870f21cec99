import { describe, expect, it } from '@jest/globals';
import { hash } from 'bcrypt';
import { BusyError, createBcryptGate } from './bcrypt-gate.js';

const open = () => createBcryptGate({ concurrent: 2, waiting: 64 });

describe('the bcrypt gate', () => {
  it.each(['$2a$', '$2b$', '$2y$'])('verifies %s hashes (B10)', async (prefix) => {
    const stored = (await hash('pässword', 4)).replace('$2b$', prefix);
    const gate = open();
    expect(await gate.verify(Buffer.from('pässword'), stored)).toBe(true);
    expect(await gate.verify(Buffer.from('password'), stored)).toBe(false);
  });

  it.each(['$2a$', '$2b$', '$2y$'])(
    'compares the first 72 bytes of a %s password, whatever its length (B10)',
    async (prefix) => {
      const password = 'x'.repeat(72);
      const stored = (await hash(password, 4)).replace('$2b$', prefix);
      const gate = open();
      // 255 and 256 bytes wrap the length that the oldest implementations kept in one byte.
      for (const length of [72, 73, 100, 255, 256, 257])
        expect(await gate.verify(Buffer.from('x'.repeat(length)), stored)).toBe(true);
      expect(await gate.verify(Buffer.from('x'.repeat(71)), stored)).toBe(false);
      expect(await gate.verify(Buffer.from(''), stored)).toBe(false);
    },
  );

  it('has no password with a NUL in it (B10)', async () => {
    expect(await open().verify(Buffer.from('ab\0c'), await hash('ab', 4))).toBe(false);
  });

  it('runs as many at once as it may, lets others wait their turn and refuses those beyond (B10)', async () => {
    const stored = await hash('right', 6);
    const gate = createBcryptGate({ concurrent: 2, waiting: 3 });
    const answers = await Promise.allSettled(
      Array.from({ length: 7 }, () => gate.verify(Buffer.from('right'), stored)),
    );
    expect(
      answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : answer.reason instanceof BusyError)),
    ).toEqual(Array<boolean>(7).fill(true));
    expect(answers.map((answer) => answer.status)).toEqual([
      ...Array<string>(5).fill('fulfilled'),
      ...Array<string>(2).fill('rejected'),
    ]);
    // Every place was given back.
    expect(await Promise.all(Array.from({ length: 5 }, () => gate.verify(Buffer.from('right'), stored)))).toEqual(
      Array<boolean>(5).fill(true),
    );
  });
});
