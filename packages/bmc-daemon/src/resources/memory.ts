/** Memory as modules, the way QEMU's SMBIOS tables show it to the guest. */
import type { SystemSnapshot } from '../drivers/driver.js';
import { refuse } from '../redfish/errors.js';
import type { JsonObject } from '../redfish/resource.js';
import { chassisReference } from './chassis-place.js';
import { renderCollection } from './reference.js';
import { defineResource } from './services.js';
import { absent, enabled } from './status.js';

/** QEMU's type 17 tables split the memory that is built in into modules of this size, the last one being smaller. */
const moduleMiB = 16 * 1024;

interface Module {
  readonly id: string;
  readonly slot: number;
  /** Null: nothing is plugged in there. */
  readonly capacityMiB: number | null;
  /** Whether what is written there outlasts a power cycle. */
  readonly isPersistent: boolean;
}

/**
 * Modules that add up to the machine's memory: what it has built in, at least one (so that a tiny machine has some, too), what is
 * plugged in beside it, and the places where more could be plugged in.
 */
export function memoryModules({
  memoryKiB,
  memoryDevices,
  memorySlots,
}: Pick<SystemSnapshot, 'memoryKiB' | 'memoryDevices' | 'memorySlots'>): readonly Module[] {
  const pluggedKiB = memoryDevices.reduce((sum, { totalKiB }) => sum + totalKiB, 0);
  const builtInMiB = Math.floor(Math.max(0, memoryKiB - pluggedKiB) / 1024);
  const builtIn = Array.from({ length: Math.max(1, Math.ceil(builtInMiB / moduleMiB)) }, (_, index) => ({
    capacityMiB: Math.min(moduleMiB, builtInMiB - index * moduleMiB),
    isPersistent: false,
  }));
  const plugged = memoryDevices.map(({ model, sizeKiB }) => ({
    capacityMiB: Math.floor(sizeKiB / 1024),
    isPersistent: model === 'nvdimm' || model === 'virtio-pmem',
  }));
  const inSlots = memoryDevices.filter(({ slot }) => slot !== null).length;
  const free = Array.from({ length: Math.max(0, memorySlots - inSlots) }, () => ({
    capacityMiB: null,
    isPersistent: false,
  }));
  return [...builtIn, ...plugged, ...free].map((module, slot) => ({ id: `DIMM${slot}`, slot, ...module }));
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
  render: (system, { self }) =>
    renderCollection(
      'Memory Collection',
      memoryModules(system).map(({ id }) => `${self}/${id}`),
    ),
});

const memory = defineResource({
  entity: 'Memory',
  odataType: '#Memory.v1_23_0.Memory',
  uri: '/redfish/v1/Systems/{systemId}/Memory/{memoryId}',
  load: async ({ params, services }): Promise<{ system: SystemSnapshot; module: Module }> => {
    const system = await services.driver.getSystem(params.systemId);
    const module = memoryModules(system).find(({ id }) => id === params.memoryId);
    if (module === undefined) throw refuse('ResourceNotFound', 'Memory', params.memoryId);
    return { system, module };
  },
  canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
  render: ({ system, module }, { services }) => ({
    Id: module.id,
    Name: `DIMM ${module.slot}`,
    ...renderKind(module),
    CapacityMiB: module.capacityMiB,
    MemoryLocation: { Slot: module.slot },
    Status: module.capacityMiB === null ? absent : enabled,
    Links: { Chassis: chassisReference(system.uuid, services.settings) },
  }),
});

/** What kind it is, of a module that is there. DMTF has no type for a persistent one that no technology is behind. */
function renderKind({ capacityMiB, isPersistent }: Module): JsonObject {
  if (capacityMiB === null) return {};
  return isPersistent ? { OperatingMemoryModes: ['PMEM'] } : { MemoryType: 'DRAM', OperatingMemoryModes: ['Volatile'] };
}

/** Memory under a system. */
export const memoryResources = [memoryCollection, memory];
