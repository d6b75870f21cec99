/**
 * Statistics of running machines. Counters start at 0 with each start of a machine and only grow.
 * An unknown value is absent, never 0.
 */

/**
 * Counters of one disk since the start: bytes, requests, and the total time of requests in
 * nanoseconds.
 */
export type DiskCounter = 'readBytes' | 'readRequests' | 'readTimeNs' | 'writeBytes' | 'writeRequests' | 'writeTimeNs';

/**
 * Counters of one interface since the start, from the view of the guest: `rx` is received by the
 * guest.
 */
export type InterfaceCounter =
  'rxBytes' | 'rxPackets' | 'rxErrors' | 'rxDrops' | 'txBytes' | 'txPackets' | 'txErrors' | 'txDrops';

/** CPU time of one machine. */
export interface ProcessorStatistics {
  /** CPU time of the whole process, including its devices. */
  readonly timeNs?: number;
  /** CPU time of the virtual CPUs only, and the number of those that are online. */
  readonly vcpus?: { readonly timeNs: number; readonly count: number };
}

/** Memory of one machine. */
export interface MemoryStatistics {
  /** Memory that the balloon gives the guest. */
  readonly currentKiB?: number;
  /** Memory of the host that the process uses. */
  readonly residentKiB?: number;
  /**
   * Report of the guest's balloon driver: total memory, and memory that is usable without swapping.
   */
  readonly guest?: {
    readonly availableKiB: number;
    readonly usableKiB: number;
    /** Time of the report. */
    readonly at: Date;
  };
}

/** Statistics of one machine with a process, running or paused. */
export interface MachineStatistics {
  /** Canonical lower-case UUID. */
  readonly uuid: string;
  /** Id of the run. Counters of two runs are not comparable. */
  readonly run: string;
  readonly processors: ProcessorStatistics;
  readonly memory: MemoryStatistics;
  /** Counters by target, such as `vda`; by the number of the disk if the target is unknown. */
  readonly disks: ReadonlyMap<string, Readonly<Partial<Record<DiskCounter, number>>>>;
  /**
   * Counters by MAC address in lower case. An interface without counters is absent, such as an
   * interface in QEMU's user network.
   */
  readonly interfaces: ReadonlyMap<string, Readonly<Partial<Record<InterfaceCounter, number>>>>;
}

/** Statistics of all machines, from one query. */
export interface AllStatistics {
  /**
   * Returns the statistics of all machines with a process, running or paused. A machine with a hung
   * process has fewer values, and delays the call only for a short time.
   * @throws {DriverError} unavailable; unsupported, if the hypervisor has no statistics.
   */
  all(): Promise<readonly MachineStatistics[]>;
}

/** Statistics of a hypervisor that needs a request for each machine. */
export interface SingleStatistics {
  /**
   * Returns the statistics of a machine; null if the machine does not run, or if the hypervisor has
   * no statistics of it.
   * @throws {DriverError} notFound; unavailable.
   */
  of(id: string): Promise<MachineStatistics | null>;
}

/** Statistics, as the hypervisor offers them. */
export type StatisticsControl = AllStatistics | SingleStatistics;
