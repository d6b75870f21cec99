/** Memory modules, like those in QEMU's SMBIOS tables. */
import { redfishError } from '../../redfish/messages/errors.js';
import type { JsonObject } from '../../redfish/resource.js';
import { chassisReference } from '../chassis/chassis-place.js';
import { readSystem, type SystemWith } from '../details.js';
import { machineCollection } from '../machine-collection.js';
import { defineResource } from '../services.js';
import { absent, enabled } from '../status.js';

/**
 * Size of a module. In the SMBIOS tables (type 17) of QEMU's machine types up to 9.0, the initial
 * memory is split into modules of this size.
 */
const moduleMiB = 16 * 1024;

interface Module {
  readonly id: string;
  readonly slot: number;
  /** Null: the slot is empty. */
  readonly capacityMiB: number | null;
  /** Whether the contents of the module survive a power cycle. */
  readonly isPersistent: boolean;
}

/**
 * Returns the memory modules of a machine: at least one for the initial memory, one for each memory
 * device, and one for each empty slot. The capacity of a virtio-mem device is the size that the
 * guest has now. The built-in memory is the machine's memory without the maximum sizes of all
 * devices.
 */
export function memoryModules({
  memoryKiB,
  memoryDevices = [],
  memorySlots = 0,
}: Pick<SystemWith<'memoryKiB'>, 'memoryKiB' | 'memoryDevices' | 'memorySlots'>): readonly Module[] {
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

/** Converts KiB to GiB. From 1 GiB on, rounds down to an integer, which Ironic expects; below, returns a fraction. */
export function totalMemoryGiB(memoryKiB: number): number {
  const gib = memoryKiB / 1024 ** 2;
  return gib >= 1 ? Math.floor(gib) : Math.round(gib * 1000) / 1000;
}

const memoryCollection = machineCollection({
  memberType: 'Memory',
  name: 'Memory Collection',
  uri: '/redfish/v1/Systems/{systemId}/Memory',
  details: ['memoryKiB'],
  ids: (system) => memoryModules(system).map(({ id }) => id),
});

const memory = defineResource({
  entity: 'Memory',
  odataType: '#Memory.v1_23_0.Memory',
  uri: '/redfish/v1/Systems/{systemId}/Memory/{memoryId}',
  load: async ({ params, services }): Promise<{ system: SystemWith<'memoryKiB'>; module: Module }> => {
    const system = await readSystem(params.systemId, 'Memory', services, 'memoryKiB');
    const module = memoryModules(system).find(({ id }) => id === params.memoryId);
    if (module === undefined) throw redfishError('ResourceNotFound', 'Memory', params.memoryId);
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

/** Renders the type of a present module. DMTF has no MemoryType for virtual persistent memory. */
function renderKind({ capacityMiB, isPersistent }: Module): JsonObject {
  if (capacityMiB === null) return {};
  return isPersistent ? { OperatingMemoryModes: ['PMEM'] } : { MemoryType: 'DRAM', OperatingMemoryModes: ['Volatile'] };
}

/**
 * The memory modules of a system and their collection.
 * @see DSP2046, Memory; https://libvirt.org/formatdomain.html#memory-devices
 */
export const memoryResources = [memoryCollection, memory];
