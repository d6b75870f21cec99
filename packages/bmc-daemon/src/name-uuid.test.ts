import { describe, expect, it } from '@jest/globals';
import { nameUuid } from './name-uuid.js';

describe('nameUuid', () => {
  it('returns the UUID of the example of RFC 9562 (appendix A.4)', () => {
    const dns = Buffer.from('6ba7b8109dad11d180b400c04fd430c8', 'hex');
    expect(nameUuid(dns, 'www.example.com')).toBe('2ed6657d-e927-568b-95e1-2665a8aea6a2');
  });
});
