import { describe, expect, it } from '@jest/globals';
import { looksRandom, newSessionToken } from './session-token.js';

describe('tokens of sessions', () => {
  it('are 64 hexadecimal digits, are all different, and pass the randomness tests of Redfish validators', () => {
    const tokens = Array.from({ length: 2000 }, newSessionToken);
    expect(new Set(tokens).size).toBe(2000);
    for (const token of tokens) {
      expect(token).toMatch(/^[0-9a-f]{64}$/);
      expect(looksRandom(Buffer.from(token, 'hex'))).toBe(true);
    }
  });

  it.each([
    ['only zeros', '00'.repeat(32)],
    ['far too many ones', 'ff'.repeat(20) + '5a'.repeat(12)],
    // The next tokens have as many ones as zeros, so only NIST's runs test rejects them.
    ['bits that alternate', 'aa'.repeat(32)],
    ['two long runs', 'ff'.repeat(16) + '00'.repeat(16)],
  ])('do not look random if they have %s', (_, token) => {
    expect(looksRandom(Buffer.from(token, 'hex'))).toBe(false);
  });

  it('would fail the two NIST tests of looksRandom in 1 % to 3 % of cases without a selection', () => {
    // Uses its own generator with a fixed seed, so that this test never fails by chance.
    let state = 20_261_120;
    const next = () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state >>> 24;
    };
    const results = Array.from({ length: 5000 }, () => looksRandom(Uint8Array.from({ length: 32 }, next)));
    const share = results.filter((passed) => !passed).length / results.length;
    expect(share).toBeGreaterThan(0.01);
    expect(share).toBeLessThan(0.03);
  });
});
