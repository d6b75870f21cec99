import { expect, it } from '@jest/globals';
import { formatBytes } from './format.js';

it('formatBytes shows bytes in the unit that fits, with at most two decimals', () => {
  const all = [0, 512, 1536, 8 * 2 ** 20, 42_949_672_960, 500 * 2 ** 30, 1_234_567_890_123];
  expect(all.map(formatBytes)).toEqual(['0 B', '512 B', '1.5 KiB', '8 MiB', '40 GiB', '500 GiB', '1.12 TiB']);
});
