import { describe, expect, it } from '@jest/globals';
import { freeSpace } from './disk-space.js';

describe('the free space', () => {
  it('is known even for a folder that does not exist yet', async () => {
    const { bytes } = await freeSpace('/no/such/folder');
    expect(bytes).toBeGreaterThan(0);
  });
});
