/** Reads the statistics of all running machines in one libvirt call. */
import {
  ConnectGetAllDomainStatsFlags,
  DomainStatsTypes,
  isLibvirtError,
  type Domain,
  type DomainStats,
} from '@rackless/libvirt';
import type {
  DiskCounter,
  InterfaceCounter,
  MachineStatistics,
  MemoryStatistics,
  ProcessorStatistics,
  AllStatistics,
} from '../../statistics-control.js';
import { attempt } from '../failure.js';
import type { Host } from '../machine/host.js';
import { parseXml } from '../xml/parse.js';
import { attribute, child, childElements } from '../xml/tree.js';

const { CPU_TOTAL, BALLOON, VCPU, INTERFACE, BLOCK } = DomainStatsTypes;
const GROUPS = CPU_TOTAL | BALLOON | VCPU | INTERFACE | BLOCK;

/**
 * ACTIVE: for a machine that is off, libvirt 9 without cgroups would return the CPU time of
 * libvirtd and read the disk images. NOWAIT: for a machine with a running job, libvirt returns only
 * values that need no answer of QEMU.
 */
const FLAGS = ConnectGetAllDomainStatsFlags.ACTIVE | ConnectGetAllDomainStatsFlags.NOWAIT;

/**
 * Time limit of the call. The call usually needs 4 ms for each guest. On a host with two saturated CPUs, it needed
 * 9 s for twenty guests (measured).
 */
const TIMEOUT_MS = 12_000;

/**
 * The MAC addresses of a machine by interface number, cached until the machine starts again or an interface
 * changes.
 */
interface CachedMacs {
  /** The id of the running domain, and the names of its interfaces. */
  readonly interfaceKey: string;
  readonly macs: readonly string[];
}

/** Statistics of the machines of one host. */
export class LibvirtStatistics implements AllStatistics {
  readonly #host: Pick<Host, 'hypervisor' | 'timeoutMs'>;
  readonly #timeoutMs: number;
  #known: ReadonlyMap<string, CachedMacs> = new Map();

  /** @param timeoutMs timeout of each call; after the first timeout, there is a second call. Default: 12 s. */
  constructor(host: Pick<Host, 'hypervisor' | 'timeoutMs'>, timeoutMs = TIMEOUT_MS) {
    this.#host = host;
    this.#timeoutMs = timeoutMs;
  }

  async all(): Promise<readonly MachineStatistics[]> {
    const records = await attempt('reading the statistics of the machines', () => this.#read());
    const known = await Promise.all(
      records.map(async (record) => [record.domain.uuid, await this.#macsOf(record)] as const),
    );
    // Drops machines that do not run anymore, and those whose addresses could not be read.
    this.#known = new Map(known.flatMap(([uuid, macs]) => (macs === undefined ? [] : [[uuid, macs] as const])));
    return records.map((record) => readStatistics(record, this.#known.get(record.domain.uuid)?.macs ?? []));
  }

  async #read(): Promise<readonly DomainStats[]> {
    const { hypervisor } = this.#host;
    const ask = (): Promise<readonly DomainStats[]> =>
      hypervisor.getAllDomainStats(GROUPS, FLAGS, { timeoutMs: this.#timeoutMs });
    try {
      return await ask();
    } catch (error) {
      if (!isLibvirtError(error, 'CALL_TIMEOUT')) throw error;
      // One QEMU hangs, and libvirt still waits for it: the machine has a job now. So with NOWAIT, the second call
      // does not ask this QEMU.
      return await ask();
    }
  }

  /**
   * Returns the MAC addresses of a machine; undefined if they cannot be read now. libvirt numbers interfaces in the
   * order of the running domain's XML. The driver reads this XML again after each start, and when an interface changes.
   */
  async #macsOf({ domain, parameters }: DomainStats): Promise<CachedMacs | undefined> {
    const names = indices(parameters, 'net').map((index) => String(parameters[`net.${index}.name`] ?? ''));
    const interfaceKey = [domain.id, ...names].join(' ');
    const known = this.#known.get(domain.uuid);
    if (known?.interfaceKey === interfaceKey) return known;
    if (names.every((name) => name === '')) return { interfaceKey, macs: [] };
    try {
      return { interfaceKey, macs: await this.#readMacs(domain) };
    } catch {
      // The result lacks the interfaces of this machine. The next call reads the XML again.
      return undefined;
    }
  }

  async #readMacs(domain: Domain): Promise<readonly string[]> {
    const devices = child(parseXml(await domain.getXmlDesc(0, { timeoutMs: this.#host.timeoutMs })).root, 'devices');
    return childElements(devices, 'interface').map((nic) =>
      (attribute(child(nic, 'mac'), 'address') ?? '').toLowerCase(),
    );
  }
}

const diskCounters: Readonly<Record<DiskCounter, string>> = {
  readBytes: 'rd.bytes',
  readRequests: 'rd.reqs',
  readTimeNs: 'rd.times',
  writeBytes: 'wr.bytes',
  writeRequests: 'wr.reqs',
  writeTimeNs: 'wr.times',
};

const interfaceCounters: Readonly<Record<InterfaceCounter, string>> = {
  rxBytes: 'rx.bytes',
  rxPackets: 'rx.pkts',
  rxErrors: 'rx.errs',
  rxDrops: 'rx.drop',
  txBytes: 'tx.bytes',
  txPackets: 'tx.pkts',
  txErrors: 'tx.errs',
  txDrops: 'tx.drop',
};

type Parameters = DomainStats['parameters'];

/**
 * Translates the record of one machine.
 * @param macs the MAC addresses of its interfaces, in the order of the running domain's XML.
 * @see https://libvirt.org/html/libvirt-libvirt-domain.html#virConnectGetAllDomainStats
 */
function readStatistics({ domain, parameters }: DomainStats, macs: readonly string[]): MachineStatistics {
  const disks = indices(parameters, 'block').flatMap((index) => {
    const target = parameters[`block.${index}.name`];
    // libvirt lists the backing images too. They are not disks of the machine.
    const isBacking = parameters[`block.${index}.rd.reqs`] === undefined;
    if (typeof target !== 'string' || isBacking) return [];
    return [[target, counters(parameters, `block.${index}`, diskCounters)] as const];
  });
  const interfaces = indices(parameters, 'net').flatMap((index) => {
    const mac = macs[index];
    if (mac === undefined || mac === '' || parameters[`net.${index}.name`] === undefined) return [];
    return [[mac, counters(parameters, `net.${index}`, interfaceCounters)] as const];
  });
  return {
    uuid: domain.uuid,
    run: String(domain.id),
    processors: readProcessors(parameters),
    memory: readMemory(parameters),
    disks: new Map(disks),
    interfaces: new Map(interfaces),
  };
}

function readProcessors(parameters: Parameters): ProcessorStatistics {
  const timeNs = count(parameters, 'cpu.time');
  const online = count(parameters, 'vcpu.current');
  // An unplugged vCPU leaves a gap in the numbers, so this reads all numbers up to the maximum.
  const max = count(parameters, 'vcpu.maximum') ?? 0;
  const times = Array.from({ length: max }, (_, index) => count(parameters, `vcpu.${index}.time`)).filter(isKnown);
  const isComplete = online !== undefined && online > 0 && times.length === online;
  return {
    ...(timeNs === undefined ? {} : { timeNs }),
    ...(isComplete ? { vcpus: { timeNs: times.reduce((sum, time) => sum + time, 0), count: online } } : {}),
  };
}

function readMemory(parameters: Parameters): MemoryStatistics {
  const currentKiB = count(parameters, 'balloon.current');
  const residentKiB = count(parameters, 'balloon.rss');
  const availableKiB = count(parameters, 'balloon.available');
  const usableKiB = count(parameters, 'balloon.usable');
  // 0: the guest has never reported statistics. The other values are then defaults of QEMU.
  const reportedAt = count(parameters, 'balloon.last-update') ?? 0;
  const hasReport = reportedAt > 0 && availableKiB !== undefined && availableKiB > 0 && usableKiB !== undefined;
  return {
    ...(currentKiB === undefined ? {} : { currentKiB }),
    ...(residentKiB === undefined ? {} : { residentKiB }),
    ...(hasReport ? { guest: { availableKiB, usableKiB, at: new Date(reportedAt * 1000) } } : {}),
  };
}

function counters<Name extends string>(
  parameters: Parameters,
  prefix: string,
  names: Readonly<Record<Name, string>>,
): Readonly<Partial<Record<Name, number>>> {
  const found = Object.entries<string>(names).flatMap(([name, field]) => {
    const value = count(parameters, `${prefix}.${field}`);
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(found) as Partial<Record<Name, number>>; // The keys are those of `names`.
}

function indices(parameters: Parameters, group: string): readonly number[] {
  return Array.from({ length: count(parameters, `${group}.count`) ?? 0 }, (_, index) => index);
}

/**
 * Returns a counter as a number; undefined if libvirt does not count it. Above 2^53 (9 PB, or 104 days of
 * one CPU in ns) it is rounded.
 */
function count(parameters: Parameters, name: string): number | undefined {
  const value = parameters[name];
  const number = typeof value === 'bigint' ? Number(value) : value;
  // libvirt reports -1 for a value that it does not count.
  return typeof number === 'number' && number >= 0 ? number : undefined;
}

const isKnown = (value: number | undefined): value is number => value !== undefined;
