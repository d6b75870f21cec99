/** Memory as modules, the way QEMU's SMBIOS tables show it to the guest. */
import type { SystemSnapshot } from '../drivers/driver.js';
import { refuse } from '../redfish/errors.js';
import { chassisReference } from './chassis-place.js';
import { renderCollection } from './reference.js';
import { defineResource } from './services.js';
import { enabled } from './status.js';

/** QEMU's type 17 tables split the memory into modules of this size, the last one being smaller. */
const moduleMiB = 16 * 1024;

interface Module {
  readonly id: string;
  readonly slot: number;
  readonly capacityMiB: number;
}

/** Modules that add up to the machine's memory; at least one, so that a tiny machine has some, too. */
export function memoryModules(memoryKiB: number): readonly Module[] {
  const totalMiB = Math.floor(memoryKiB / 1024);
  return Array.from({ length: Math.max(1, Math.ceil(totalMiB / moduleMiB)) }, (_, slot) => ({
    id: `DIMM${slot}`,
    slot,
    capacityMiB: Math.min(moduleMiB, totalMiB - slot * moduleMiB),
  }));
}

/** GiB, whole ones from 1 GiB up (Ironic reads an integer), a fraction below, where an integer would be 0. */
export function totalMemoryGiB(memoryKiB: number): number {
  const gib = memoryKiB / 1024 ** 2;
  return gib >= 1 ? Math.floor(gib) : Math.round(gib * 1000) / 1000;
}

const memoryCollection = defineResource({
  entity: 'MemoryCollection',
  odataType: '#MemoryCollection.MemoryCollection',
  uri: '/redfish/v1/Systems/{systemId}/Memory',
  load: ({ params, services }) => services.driver.getSystem(params.systemId),
  canonicalParams: ({ uuid }) => ({ systemId: uuid }),
  render: ({ memoryKiB }, { self }) =>
    renderCollection(
      'Memory Collection',
      memoryModules(memoryKiB).map(({ id }) => `${self}/${id}`),
    ),
});

const memory = defineResource({
  entity: 'Memory',
  odataType: '#Memory.v1_23_0.Memory',
  uri: '/redfish/v1/Systems/{systemId}/Memory/{memoryId}',
  load: async ({ params, services }): Promise<{ system: SystemSnapshot; module: Module }> => {
    const system = await services.driver.getSystem(params.systemId);
    const module = memoryModules(system.memoryKiB).find(({ id }) => id === params.memoryId);
    if (module === undefined) throw refuse('ResourceNotFound', 'Memory', params.memoryId);
    return { system, module };
  },
  canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
  render: ({ system, module }, { services }) => ({
    Id: module.id,
    Name: `DIMM ${module.slot}`,
    MemoryType: 'DRAM',
    CapacityMiB: module.capacityMiB,
    MemoryLocation: { Slot: module.slot },
    Status: enabled,
    Links: { Chassis: chassisReference(system.uuid, services.settings) },
  }),
});

/** Memory under a system. */
export const memoryResources = [memoryCollection, memory];
