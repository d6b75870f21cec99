import { describe, expect, it } from '@jest/globals';
import { memoryModules, totalMemoryGiB } from './memory.js';

const mib = 1024;
const gib = 1024 * mib;

describe('memory', () => {
  it("is modules of at most 16 GiB that add up to the machine, as in the guest's SMBIOS (B4)", () => {
    expect(memoryModules(40 * gib)).toEqual([
      { id: 'DIMM0', slot: 0, capacityMiB: 16384 },
      { id: 'DIMM1', slot: 1, capacityMiB: 16384 },
      { id: 'DIMM2', slot: 2, capacityMiB: 8192 },
    ]);
    for (const memoryKiB of [mib, 256 * mib, 16 * gib, 17 * gib + 3 * mib, 1024 * gib]) {
      const total = memoryModules(memoryKiB).reduce((sum, { capacityMiB }) => sum + capacityMiB, 0);
      expect(total * mib).toBe(memoryKiB);
    }
  });

  it('has one module even in a machine of less than a MiB (B4)', () => {
    expect(memoryModules(640)).toEqual([{ id: 'DIMM0', slot: 0, capacityMiB: 0 }]);
  });

  it('is summed up in whole GiB from 1 GiB on, and as a fraction below (B4)', () => {
    expect([gib, 1.5 * gib, 2 * gib - 1, 24 * gib].map(totalMemoryGiB)).toEqual([1, 1, 1, 24]);
    expect([512 * mib, 768 * mib, 100 * mib].map(totalMemoryGiB)).toEqual([0.5, 0.75, 0.098]);
  });
});
