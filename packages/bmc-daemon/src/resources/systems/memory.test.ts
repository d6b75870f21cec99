import { describe, expect, it } from '@jest/globals';
import { serveResources } from '../../../test/support/served-resources.js';
import { FakeDriver } from '../../drivers/fake/fake-driver.js';
import { sampleMachines } from '../../drivers/fake/sample-machines.js';
import { memoryModules, totalMemoryGiB } from './memory.js';

/** A MiB and a GiB, in KiB. */
const mib = 1024;
const gib = 1024 * mib;
const builtIn = (memoryKiB: number) => memoryModules({ memoryKiB, memoryDevices: [], memorySlots: 0 });
const volatile = { isPersistent: false };

describe('memory', () => {
  it("has modules of at most 16 GiB that add up to the machine's memory, as in SMBIOS", () => {
    expect(builtIn(40 * gib)).toEqual([
      { id: 'DIMM0', slot: 0, capacityMiB: 16384, ...volatile },
      { id: 'DIMM1', slot: 1, capacityMiB: 16384, ...volatile },
      { id: 'DIMM2', slot: 2, capacityMiB: 8192, ...volatile },
    ]);
    for (const memoryKiB of [mib, 256 * mib, 16 * gib, 17 * gib + 3 * mib, 1024 * gib]) {
      const total = builtIn(memoryKiB).reduce((sum, { capacityMiB }) => sum + (capacityMiB ?? 0), 0);
      expect(total * mib).toBe(memoryKiB);
    }
  });

  it('has one module even if the machine has less than 1 MiB', () => {
    expect(builtIn(640)).toEqual([{ id: 'DIMM0', slot: 0, capacityMiB: 0, ...volatile }]);
  });

  it('has a total in whole GiB, or a fraction of a GiB below 1 GiB', () => {
    expect([gib, 1.5 * gib, 2 * gib - 1, 24 * gib].map(totalMemoryGiB)).toEqual([1, 1, 1, 24]);
    expect([512 * mib, 768 * mib, 100 * mib].map(totalMemoryGiB)).toEqual([0.5, 0.75, 0.098]);
  });

  it('shows memory devices as separate modules and free slots as empty modules', () => {
    const dimm = { model: 'dimm', sizeKiB: 4 * gib, totalKiB: 4 * gib, slot: 1 };
    const nvdimm = { model: 'nvdimm', sizeKiB: gib, totalKiB: gib, slot: 0 };
    const growing = { model: 'virtio-mem', sizeKiB: gib, totalKiB: 2 * gib, slot: null };
    const modules = memoryModules({ memoryKiB: 27 * gib, memoryDevices: [dimm, nvdimm, growing], memorySlots: 4 });
    expect(modules.map(({ id, capacityMiB, isPersistent }) => [id, capacityMiB, isPersistent])).toEqual([
      ['DIMM0', 16384, false],
      ['DIMM1', 4096, false],
      ['DIMM2', 4096, false],
      ['DIMM3', 1024, true],
      ['DIMM4', 1024, false],
      ['DIMM5', null, false],
      ['DIMM6', null, false],
    ]);
  });

  it('shows a free slot without a capacity and as Absent', async () => {
    const [, machine] = sampleMachines(2);
    const served = await serveResources(new FakeDriver({ machines: sampleMachines(2) }));
    const path = `/redfish/v1/Systems/${machine?.uuid ?? ''}/Memory`;
    try {
      const capacities: unknown[] = [];
      for (const id of ['DIMM0', 'DIMM1', 'DIMM2', 'DIMM3']) {
        const { CapacityMiB, MemoryType, Status } = await served.get(`${path}/${id}`);
        capacities.push([CapacityMiB, MemoryType, Status]);
      }
      const ok = { State: 'Enabled', Health: 'OK' };
      expect(capacities).toEqual([
        [16384, 'DRAM', ok],
        [4096, 'DRAM', ok],
        [4096, 'DRAM', ok],
        [null, undefined, { State: 'Absent' }],
      ]);
    } finally {
      await served.close();
    }
  });
});
