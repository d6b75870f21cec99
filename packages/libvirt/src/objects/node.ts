/** The host of a connection: capacity and counters. */
import type { CallOptions, Link } from '../link/link.js';
import { nodeProcedures } from '../protocol/node.js';

/** Processors and memory of a host. @see virNodeInfo */
export interface NodeInfo {
  /** Architecture, such as `x86_64`. */
  readonly model: string;
  readonly memoryKiB: number;
  /** Active logical CPUs. */
  readonly cpus: number;
  /** Frequency; 0 if it is unknown. */
  readonly mhz: number;
  /**
   * NUMA cells. For an unusual topology, `nodes`, `sockets` and `threads` are 1, and `cores` is the
   * number of all CPUs.
   */
  readonly nodes: number;
  /** Sockets in each cell. */
  readonly sockets: number;
  /** Cores in each socket. */
  readonly cores: number;
  /** Threads in each core. */
  readonly threads: number;
}

/** Values by libvirt's names, such as `kernel` and `user`, or `total` and `free`. */
export type NodeStats = Readonly<Record<string, bigint>>;

interface Fields {
  readonly params: readonly { readonly field: string; readonly value: bigint }[];
  readonly nparams: number;
}

/** Reads processors and memory. */
export async function nodeInfo(link: Link, options?: CallOptions): Promise<NodeInfo> {
  const { memory, ...info } = await link.call(nodeProcedures.getInfo, undefined, options);
  return { ...info, memoryKiB: memory };
}

/** Reads the CPU times of one CPU or of all. */
export function nodeCpuStats(link: Link, cpuNum: number, options?: CallOptions): Promise<NodeStats> {
  return stats((nparams) => link.call(nodeProcedures.getCpuStats, { cpuNum, nparams, flags: 0 }, options));
}

/** Reads the memory of one cell or of all. */
export function nodeMemoryStats(link: Link, cellNum: number, options?: CallOptions): Promise<NodeStats> {
  return stats((nparams) => link.call(nodeProcedures.getMemoryStats, { nparams, cellNum, flags: 0 }, options));
}

/**
 * Reads all fields. The first call reads their number, because libvirt rejects any other number.
 */
async function stats(read: (nparams: number) => Promise<Fields>): Promise<NodeStats> {
  const { nparams } = await read(0);
  const { params } = await read(nparams);
  const record = Object.create(null) as Record<string, bigint>;
  for (const { field, value } of params) record[field] = value;
  return record;
}
