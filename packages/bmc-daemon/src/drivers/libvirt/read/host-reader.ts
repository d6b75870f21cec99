/** Reads the host itself: versions, capacity, load, and whether it answers. */
import { isLibvirtError, type Hypervisor, type NodeStats } from '@rackless/libvirt';
import { DriverError, isDriverError } from '../../driver-error.js';
import type {
  HostChangeListener,
  HostCpuTime,
  HostFacts,
  HostRef,
  HostsControl,
  HostSnapshot,
} from '../../hosts-control.js';
import { connectionFault, isDisconnected } from '../connection-fault.js';
import { attempt } from '../failure.js';
import type { Host } from '../machine/host.js';
import { CpuLoad } from './cpu-load.js';

/**
 * Facts that change only with a restart of libvirtd. The restart ends the connection, so the facts are cached
 * for one connection.
 */
type FixedFacts = Omit<HostFacts, 'freeMemoryBytes' | 'cpuTime' | 'cpuLoad' | 'machines'>;

/** Total and free memory, both from one call, because libvirt's calls may count the memory differently. */
type Memory = Pick<HostFacts, 'memoryBytes' | 'freeMemoryBytes'>;

/** Dependencies of {@link HostReader}. */
interface HostReaderOptions extends HostRef {
  readonly host: Pick<Host, 'hypervisor' | 'inventory' | 'timeoutMs'>;
}

/** The host of one libvirt connection, as the only host of a driver. */
export class HostReader implements HostsControl {
  readonly hasHostList = false;
  readonly #options: HostReaderOptions;
  readonly #load = new CpuLoad();
  #fixed: Promise<FixedFacts> | undefined;
  #facts: HostFacts | null = null;
  #reading: Promise<HostSnapshot> | undefined;
  #reason: string | null = null;
  #since = new Date();
  readonly #listeners = new Set<{ readonly listener: HostChangeListener }>();

  constructor(options: HostReaderOptions) {
    this.#options = options;
  }

  /** Starts to follow the connection: reports to the listeners when it is lost and when it is open again. */
  start(): void {
    this.#options.host.hypervisor.onStateChange((state) => {
      this.#fixed = undefined;
      this.#setReason(state === 'connected' ? null : this.#connectionFault());
    });
  }

  list(): readonly HostRef[] {
    const { name, uri } = this.#options;
    return [{ name, uri }];
  }

  async read(name: string): Promise<HostSnapshot> {
    if (name !== this.#options.name) throw new DriverError('notFound', `looking up host ${name}: no such host`);
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    return await this.#reading;
  }

  onChange(listener: HostChangeListener): () => void {
    const entry = { listener };
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  async #read(): Promise<HostSnapshot> {
    if (isDisconnected(this.#options.host.hypervisor)) return this.#snapshot(this.#connectionFault());
    try {
      this.#facts = await attempt('reading the host', () => this.#readFacts());
      return this.#snapshot(null);
    } catch (error) {
      if (!isDriverError(error, 'unavailable')) throw error;
      return this.#snapshot(error.message);
    }
  }

  async #readFacts(): Promise<HostFacts> {
    const { hypervisor, inventory, timeoutMs } = this.#options.host;
    this.#fixed ??= readFixedFacts(hypervisor, timeoutMs);
    // The next call repeats a failed read.
    this.#fixed.catch(() => (this.#fixed = undefined));
    const [fixed, cpu, memoryStats, machines, running] = await Promise.all([
      this.#fixed,
      ifSupported(this.#load.read(async () => cpuTimeOf(await hypervisor.nodeGetCpuStats(undefined, { timeoutMs })))),
      ifSupported(hypervisor.nodeGetMemoryStats(undefined, { timeoutMs })),
      inventory.list(),
      hypervisor.numOfDomains({ timeoutMs }),
    ]);
    return {
      ...fixed,
      ...(memoryStats === null ? { freeMemoryBytes: null } : memoryOf(memoryStats)),
      cpuTime: cpu?.time ?? null,
      cpuLoad: cpu?.load ?? null,
      machines: { total: machines.length, running },
    };
  }

  #connectionFault(): string {
    const { host, uri } = this.#options;
    return connectionFault(host.hypervisor, uri);
  }

  #snapshot(reason: string | null): HostSnapshot {
    this.#setReason(reason);
    const { name, uri } = this.#options;
    return { name, uri, reachable: reason === null, reason, since: this.#since, facts: this.#facts };
  }

  #setReason(reason: string | null): void {
    const isNew = (reason === null) !== (this.#reason === null);
    this.#reason = reason;
    if (!isNew) return;
    this.#since = new Date();
    const { name } = this.#options;
    for (const { listener } of this.#listeners)
      listener(reason === null ? { kind: 'back', name } : { kind: 'lost', name, reason });
  }
}

/**
 * Reads the fixed facts. Does not ask libvirt for the name of the host, because libvirt looks it up
 * in DNS, which can take longer than the time limit.
 */
async function readFixedFacts(hypervisor: Hypervisor, timeoutMs: number): Promise<FixedFacts> {
  const options = { timeoutMs };
  const [name, version, libVersion, info] = await Promise.all([
    hypervisor.getType(options),
    hypervisor.getVersion(options),
    hypervisor.getLibVersion(options),
    hypervisor.nodeGetInfo(options),
  ]);
  const sockets = info.nodes * info.sockets;
  return {
    hypervisor: { name, version: versionText(version) },
    libvirtVersion: versionText(libVersion),
    architecture: info.model,
    processors: { sockets, cores: sockets * info.cores, threads: info.cpus },
    memoryBytes: info.memoryKiB * 1024,
  };
}

/**
 * Returns null for a value that this hypervisor, or the access control of libvirt, does not give. Rethrows
 * all other errors.
 */
async function ifSupported<Value>(reading: Promise<Value>): Promise<Value | null> {
  try {
    return await reading;
  } catch (error) {
    if (isLibvirtError(error, 'NO_SUPPORT', 'OPERATION_INVALID', 'ACCESS_DENIED', 'OPERATION_DENIED')) return null;
    throw error;
  }
}

/** Converts libvirt's number, major * 1,000,000 + minor * 1,000 + release, to text. */
function versionText(version: number): string {
  return `${Math.floor(version / 1_000_000)}.${Math.floor(version / 1_000) % 1_000}.${version % 1_000}`;
}

/** @see https://libvirt.org/html/libvirt-libvirt-host.html#virNodeCPUStats */
function cpuTimeOf({ kernel = 0n, user = 0n, idle = 0n, iowait = 0n, intr = 0n }: NodeStats): HostCpuTime {
  return { busySeconds: Number(kernel + user + intr) / 1e9, idleSeconds: Number(idle + iowait) / 1e9 };
}

function memoryOf({ total = 0n, free = 0n, buffers = 0n, cached = 0n }: NodeStats): Memory {
  return { memoryBytes: Number(total) * 1024, freeMemoryBytes: Number(free + buffers + cached) * 1024 };
}
