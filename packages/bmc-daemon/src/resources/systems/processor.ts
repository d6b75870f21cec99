/** Processors: one for each socket with an online vCPU. */
import type { ProcessorTopology } from '../../drivers/snapshot/hardware-snapshot.js';
import { redfishError } from '../../redfish/messages/errors.js';
import type { JsonObject } from '../../redfish/resource.js';
import { chassisReference } from '../chassis/chassis-place.js';
import { readSystem, type SystemWith } from '../details.js';
import { machineCollection } from '../machine-collection.js';
import { defineResource } from '../services.js';
import { enabled } from '../status.js';

/** A socket with online CPUs. */
export interface Socket {
  readonly id: string;
  readonly cores: number;
  readonly threads: number;
}

/**
 * Distributes the online vCPUs over the sockets, one socket after the other. Omits empty sockets
 * and cores: they do not exist for the guest, and Ironic adds up the threads.
 */
export function processorSockets({
  count,
  coresPerSocket,
  threadsPerCore,
}: Pick<ProcessorTopology, 'count' | 'coresPerSocket' | 'threadsPerCore'>): readonly Socket[] {
  const threadsPerSocket = coresPerSocket * threadsPerCore;
  return Array.from({ length: Math.ceil(count / threadsPerSocket) }, (_, index) => {
    const threads = Math.min(threadsPerSocket, count - index * threadsPerSocket);
    return { id: `CPU${index}`, cores: Math.ceil(threads / threadsPerCore), threads };
  });
}

/**
 * DMTF's values for libvirt's architectures. For an architecture without a DMTF value, such as
 * s390x, the service shows OEM.
 */
const architectures: Readonly<Record<string, readonly [architecture: string, instructionSet: string]>> = {
  x86_64: ['x86', 'x86-64'],
  i686: ['x86', 'x86'],
  aarch64: ['ARM', 'ARM-A64'],
  armv7l: ['ARM', 'ARM-A32'],
  armv6l: ['ARM', 'ARM-A32'],
  ppc64: ['Power', 'PowerISA'],
  ppc64le: ['Power', 'PowerISA'],
  riscv64: ['RISC-V', 'RV64'],
  riscv32: ['RISC-V', 'RV32'],
  mips64: ['MIPS', 'MIPS64'],
  mips64el: ['MIPS', 'MIPS64'],
  mips: ['MIPS', 'MIPS32'],
  mipsel: ['MIPS', 'MIPS32'],
};

/** Renders the architecture of a processor. @param architecture libvirt's name, such as `x86_64`. */
export function renderArchitecture(architecture: string): JsonObject {
  const [ProcessorArchitecture, InstructionSet] = architectures[architecture] ?? ['OEM', 'OEM'];
  return { ProcessorArchitecture, InstructionSet };
}

const processorCollection = machineCollection({
  memberType: 'Processor',
  name: 'Processor Collection',
  uri: '/redfish/v1/Systems/{systemId}/Processors',
  details: ['processors'],
  ids: ({ processors }) => processorSockets(processors).map(({ id }) => id),
});

const processor = defineResource({
  entity: 'Processor',
  odataType: '#Processor.v1_22_0.Processor',
  uri: '/redfish/v1/Systems/{systemId}/Processors/{processorId}',
  load: async ({ params, services }): Promise<{ system: SystemWith<'processors'>; socket: Socket }> => {
    const system = await readSystem(params.systemId, 'Processors', services, 'processors');
    const socket = processorSockets(system.processors).find(({ id }) => id === params.processorId);
    if (socket === undefined) throw redfishError('ResourceNotFound', 'Processor', params.processorId);
    return { system, socket };
  },
  canonicalParams: ({ system }, params) => ({ ...params, systemId: system.uuid }),
  render: ({ system, socket }, { services }) => ({
    Id: socket.id,
    Name: `Processor ${socket.id}`,
    Socket: socket.id,
    ProcessorType: 'CPU',
    ...(system.architecture === undefined ? {} : renderArchitecture(system.architecture)),
    Model: system.processors.model,
    TotalCores: socket.cores,
    TotalEnabledCores: socket.cores,
    TotalThreads: socket.threads,
    Status: enabled,
    Links: { Chassis: chassisReference(system.uuid, services.settings) },
  }),
});

/**
 * The processors of a system and their collection.
 * @see DSP2046, Processor; https://libvirt.org/formatdomain.html#cpu-model-and-topology
 */
export const processorResources = [processorCollection, processor];
