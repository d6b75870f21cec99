/** The hosts of the machines: whether they answer, their capacity, versions and load. */
import { DriverError } from './driver-error.js';

/** A configured host, also one that has never answered. */
export interface HostRef {
  /** Stable and unique. It has only letters, digits, `.`, `_` and `-`, so that it can be an id in a URI. */
  readonly name: string;
  /** Connection URI. It has no password. */
  readonly uri: string;
}

/** CPU time of all CPUs since the start of the host, in seconds. */
export interface HostCpuTime {
  readonly busySeconds: number;
  /** Also includes the time in which CPUs wait for a disk. */
  readonly idleSeconds: number;
}

/** Facts that a host reports about itself. */
export interface HostFacts {
  /** Name and version, such as `QEMU` and `7.2.22`. */
  readonly hypervisor: { readonly name: string; readonly version: string };
  /** Version of libvirtd, such as `9.0.0`. */
  readonly libvirtVersion: string;
  /** libvirt's architecture, such as `x86_64`. */
  readonly architecture: string;
  /** Totals of the host. Threads are logical CPUs. */
  readonly processors: { readonly sockets: number; readonly cores: number; readonly threads: number };
  readonly memoryBytes: number;
  /** Unused memory and caches; null if the hypervisor does not report it. */
  readonly freeMemoryBytes: number | null;
  /** Null if the hypervisor does not report it. */
  readonly cpuTime: HostCpuTime | null;
  /** Load of all CPUs together, from 0 to 1; null if the hypervisor does not report it. */
  readonly cpuLoad: number | null;
  /** All machines of the host, also those that the daemon does not show to clients. */
  readonly machines: { readonly total: number; readonly running: number };
}

/** A host at one time. */
export interface HostSnapshot extends HostRef {
  readonly reachable: boolean;
  /** The reason in one line, without secrets, if the host is not reachable; else null. */
  readonly reason: string | null;
  /** Time of the last change of `reachable`; before any change, the start of the driver. */
  readonly since: Date;
  /** The last report of the host, also while it does not answer; null if it has never answered. */
  readonly facts: HostFacts | null;
}

/** A change of a host. */
export interface HostChange {
  /**
   * `lost`: the host no longer answers. `back`: it answers again. `added` and `removed`: a new
   * configuration adds or removes it.
   */
  readonly kind: 'lost' | 'back' | 'added' | 'removed';
  readonly name: string;
  /** Only for `lost`: the reason in one line, without secrets. */
  readonly reason?: string;
}

/** Receives the changes of hosts in order. It must not throw. */
export type HostChangeListener = (change: HostChange) => void;

/** The hosts of a driver. */
export interface HostsControl {
  /** True if the configuration has a list or a mapping of hosts. This value never changes; the hosts can. */
  readonly hasHostList: boolean;
  /** Returns all configured hosts, in the order of the configuration. */
  list(): readonly HostRef[];
  /**
   * Reads a host. If it does not answer in time, returns `reachable: false` and does not reject.
   * @throws {DriverError} notFound for an unknown name; another kind for an error that the host reports.
   */
  read(name: string): Promise<HostSnapshot>;
  /** Reports all changes of hosts after the start of the driver. @returns the function that removes the listener. */
  onChange(listener: HostChangeListener): () => void;
}

/**
 * Reads all hosts. If the read of a host fails, returns it as unreachable from now on and without facts, so that the
 * others are still shown.
 */
export async function readHostSnapshots(hosts: HostsControl): Promise<readonly HostSnapshot[]> {
  const read = async (ref: HostRef): Promise<HostSnapshot> => {
    try {
      return await hosts.read(ref.name);
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
      return { ...ref, reachable: false, reason: error.message, since: new Date(), facts: null };
    }
  };
  return await Promise.all(hosts.list().map(read));
}
