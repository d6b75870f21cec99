/** One machine, from one read. */
import type { BootSnapshot } from './boot-snapshot.js';
import type { FirmwareSnapshot } from './firmware-snapshot.js';
import type {
  DiskSnapshot,
  IndicatorState,
  InterfaceSnapshot,
  MemoryDeviceSnapshot,
  ProcessorTopology,
  SysinfoSnapshot,
} from './hardware-snapshot.js';
import type { MediaSnapshot } from './media-snapshot.js';

/**
 * Domain states of libvirt.
 * @see https://libvirt.org/html/libvirt-libvirt-domain.html#virDomainState
 */
export type DomainState =
  'nostate' | 'running' | 'blocked' | 'paused' | 'shutdown' | 'shutoff' | 'crashed' | 'pmsuspended';

/** A machine by UUID and name. */
export interface SystemRef {
  /** Canonical lower-case UUID. */
  readonly uuid: string;
  readonly name: string;
  /** Name of its host; changes with a migration. Absent if the driver has no hosts. */
  readonly host?: string;
}

/** A hypervisor's report of a failure. */
export interface MachineFault {
  /** One line without control characters. */
  readonly message: string;
  /** Time of the failure; null: unknown. */
  readonly at: Date | null;
}

/** The state that every driver reads, and state that only some machines have. */
interface SystemState extends SystemRef {
  readonly state: DomainState;
  /**
   * Failure that stopped or paused the machine: a crash of its guest or its process, or an error of
   * a disk.
   */
  readonly failure?: 'crashed' | 'ioError' | null;
  /** The hypervisor's report of the failure; absent if it reports none. */
  readonly fault?: MachineFault;
  /**
   * The time from which the service has no answer about the machine, although its host does not count as lost. The
   * hypervisor hangs, or the check of the host still runs. The snapshot is then old. Absent if the hypervisor answers.
   */
  readonly unansweredSince?: Date;
  /**
   * The reason in one line why a check of the host failed, and since when the host is lost. The
   * snapshot is then the last known one. Absent if the host answers.
   */
  readonly unreachable?: { readonly reason: string; readonly since: Date };
  /** Names of all hosts with a machine of this UUID, if there are several. Absent during a migration. */
  readonly duplicates?: readonly string[];
  /** True while a migration from or to this host pauses the machine; otherwise absent. */
  readonly migrating?: true;
  /** True if the machine has a serial port with a console that clients can open; otherwise absent. */
  readonly hasConsole?: true;
  /** True if the hypervisor records, or may record, the output of the serial port; otherwise absent. */
  readonly hasConsoleOutput?: true;
  /** True if the machine has a graphical console that clients can open; otherwise absent. */
  readonly hasGraphicalConsole?: true;
  /**
   * True during a start: with libvirt, while the driver keeps the guest paused; with Nova, during a task after
   * which the guest runs. Otherwise absent.
   */
  readonly starting?: true;
  /**
   * Whether the machine starts with its host; absent if the hypervisor does not support it for this
   * machine.
   */
  readonly autostart?: boolean;
  /** Asset tag from a client. */
  readonly assetTag?: string | null;
  /** Simulated firmware update, installed or staged; absent: none. */
  readonly firmwareUpdate?: FirmwareUpdate;
}

/** Details of a machine, by subject. In a {@link SystemSnapshot}, any of them can be absent. */
export interface SystemDetails {
  /** False: the machine has no definition and is lost with its process. */
  readonly persistent: boolean;
  readonly title: string | null;
  readonly description: string | null;
  /** libvirt's architecture, such as `x86_64` or `aarch64`. */
  readonly architecture: string;
  /** The type of the machine, such as `pc-q35-7.2`. */
  readonly machineType: string;
  readonly sysinfo: SysinfoSnapshot;
  readonly processors: ProcessorTopology;
  /** `<memory>`: all memory of the machine, with its modules. */
  readonly memoryKiB: number;
  readonly memoryDevices: readonly MemoryDeviceSnapshot[];
  /** Number of slots for modules, used and free; 0 if the machine supports none. */
  readonly memorySlots: number;
  readonly boot: BootSnapshot;
  readonly firmware: FirmwareSnapshot;
  readonly media: readonly MediaSnapshot[];
  readonly disks: readonly DiskSnapshot[];
  readonly interfaces: readonly InterfaceSnapshot[];
  /** Null: no client has set it. */
  readonly indicator: IndicatorState | null;
}

/** The snapshot of a machine. Resources render it, and show those details that it contains. */
export interface SystemSnapshot extends SystemState, Partial<SystemDetails> {}

/** A snapshot with all details. */
export interface CompleteSnapshot extends SystemState, SystemDetails {}

/** Simulated firmware updates: see resources/update/update-service.ts. */
export interface FirmwareUpdate {
  /** Null: no update was installed. */
  readonly installed: string | null;
  /** Null: no update is staged. */
  readonly staged: string | null;
}
