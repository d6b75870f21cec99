/**
 * What the hypervisor counts of the machines that run. Counters begin at 0 with each start of a machine and only grow; what the
 * hypervisor does not count of a machine, or can not tell at the moment, is left out and never 0.
 */

/** Of one disk, since the start: bytes, requests, and nanoseconds that requests took in all. */
export type DiskCounter = 'readBytes' | 'readRequests' | 'readTimeNs' | 'writeBytes' | 'writeRequests' | 'writeTimeNs';

/** Of one interface, since the start, as its guest sees it: `rx` is what the guest received. */
export type InterfaceCounter =
  'rxBytes' | 'rxPackets' | 'rxErrors' | 'rxDrops' | 'txBytes' | 'txPackets' | 'txErrors' | 'txDrops';

export interface ProcessorStatistics {
  /** CPU time of the whole process, the work of devices included. */
  readonly timeNs?: number;
  /** CPU time of the virtual CPUs alone, and how many of them are online. */
  readonly vcpus?: { readonly timeNs: number; readonly count: number };
}

export interface MemoryStatistics {
  /** What the guest has by its balloon. */
  readonly currentKiB?: number;
  /** What the process takes of the host's memory. */
  readonly residentKiB?: number;
  /** As the guest's balloon driver tells it: what it sees in all, and what it could use without swapping. */
  readonly guest?: {
    readonly availableKiB: number;
    readonly usableKiB: number;
    /** When the guest said so. */
    readonly at: Date;
  };
}

/** Of one machine that has a process, paused ones included. */
export interface MachineStatistics {
  /** Canonical lower-case UUID. */
  readonly uuid: string;
  /** Another one with each start of the machine: counters of two runs are not to be compared. */
  readonly run: string;
  readonly processors: ProcessorStatistics;
  readonly memory: MemoryStatistics;
  /** By target, `vda`. */
  readonly disks: ReadonlyMap<string, Readonly<Partial<Record<DiskCounter, number>>>>;
  /** By MAC address, lower case. Interfaces that nobody counts are left out, such as those of QEMU's user network. */
  readonly interfaces: ReadonlyMap<string, Readonly<Partial<Record<InterfaceCounter, number>>>>;
}

export interface StatisticsControl {
  /**
   * Of every machine that runs, in one go. One whose process hangs is told as far as it can be, and holds nobody up for long.
   * @throws {DriverError} unavailable; unsupported where the hypervisor counts nothing.
   */
  all(): Promise<readonly MachineStatistics[]>;
}
