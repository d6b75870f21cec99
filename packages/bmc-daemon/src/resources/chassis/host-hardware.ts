/** The processors and the memory of a host, in its chassis. */
import type { HostFacts } from '../../drivers/hosts-control.js';
import { redfishError } from '../../redfish/messages/errors.js';
import { renderCollection } from '../reference.js';
import { defineResource, type Services } from '../services.js';
import { enabled, unavailable } from '../status.js';
import { processorSockets, renderArchitecture, type Socket } from '../systems/processor.js';
import { loadHostChassis, type HostChassis } from './host-chassis.js';

/** A host that has answered at least once. */
interface KnownHost extends HostChassis {
  readonly facts: HostFacts;
}

/**
 * Loads a host that has answered at least once.
 * @throws {RedfishError} 404 for an unknown host, and for a host that has never answered.
 * @throws {DriverError} of the driver. A host that does not answer now is no error.
 */
async function loadKnown(name: string, what: string, services: Services): Promise<KnownHost> {
  const chassis = await loadHostChassis(name, services);
  const { facts } = chassis.host;
  if (facts === null) throw redfishError('ResourceNotFound', what, name);
  return { ...chassis, facts };
}

function socketsOf({ processors: { sockets, cores, threads } }: HostFacts): readonly Socket[] {
  return processorSockets({
    count: threads,
    coresPerSocket: Math.ceil(cores / sockets),
    threadsPerCore: Math.ceil(threads / cores),
  });
}

const statusOf = ({ host }: HostChassis) => (host.reachable ? enabled : unavailable);

const processorCollection = defineResource({
  entity: 'ProcessorCollection',
  odataType: '#ProcessorCollection.ProcessorCollection',
  uri: '/redfish/v1/Chassis/{chassisId}/Processors',
  load: ({ params, services }) => loadKnown(params.chassisId, 'Processors', services),
  render: ({ facts }, { self }) =>
    renderCollection(
      'Processor Collection',
      socketsOf(facts).map(({ id }) => `${self}/${id}`),
    ),
});

const processor = defineResource({
  entity: 'Processor',
  odataType: '#Processor.v1_22_0.Processor',
  uri: '/redfish/v1/Chassis/{chassisId}/Processors/{processorId}',
  load: async ({ params, services }): Promise<{ readonly chassis: KnownHost; readonly socket: Socket }> => {
    const chassis = await loadKnown(params.chassisId, 'Processors', services);
    const socket = socketsOf(chassis.facts).find(({ id }) => id === params.processorId);
    if (socket === undefined) throw redfishError('ResourceNotFound', 'Processor', params.processorId);
    return { chassis, socket };
  },
  render: ({ chassis, socket }) => ({
    Id: socket.id,
    Name: `Processor ${socket.id}`,
    Socket: socket.id,
    ProcessorType: 'CPU',
    ...renderArchitecture(chassis.facts.architecture),
    TotalCores: socket.cores,
    TotalThreads: socket.threads,
    Status: statusOf(chassis),
  }),
});

/** Id of the only member: libvirt reports no modules. */
const memoryId = 'System';

const memoryCollection = defineResource({
  entity: 'MemoryCollection',
  odataType: '#MemoryCollection.MemoryCollection',
  uri: '/redfish/v1/Chassis/{chassisId}/Memory',
  load: ({ params, services }) => loadKnown(params.chassisId, 'Memory', services),
  render: (_host, { self }) => renderCollection('Memory Collection', [`${self}/${memoryId}`]),
});

const memory = defineResource({
  entity: 'Memory',
  odataType: '#Memory.v1_23_0.Memory',
  uri: '/redfish/v1/Chassis/{chassisId}/Memory/{memoryId}',
  load: async ({ params, services }) => {
    if (params.memoryId !== memoryId) throw redfishError('ResourceNotFound', 'Memory', params.memoryId);
    return await loadKnown(params.chassisId, 'Memory', services);
  },
  render: (chassis) => ({
    Id: memoryId,
    Name: 'Memory of the host',
    MemoryType: 'DRAM',
    CapacityMiB: Math.floor(chassis.facts.memoryBytes / 1024 ** 2),
    Status: statusOf(chassis),
  }),
});

/**
 * The hardware of a host.
 * @see DSP2046, Processor, Memory
 */
export const hostHardwareResources = [processorCollection, processor, memoryCollection, memory];
