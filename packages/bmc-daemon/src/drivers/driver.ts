/**
 * The interface between resources and a hypervisor, in hypervisor terms. Drivers read and change
 * the real machines on every call. They store all data of a machine (boot override, indicator,
 * media source) with the machine.
 */
import type { ImageRequest } from '../media/image.js';
import type { ConsoleControl } from './console-control.js';
import type { BootOptionSnapshot, DeviceKey, FirmwareSnapshot, SettingsChange } from './snapshot/firmware-snapshot.js';
import type { GuestNetwork } from './guest-network.js';
import type { MachineChangeListener } from './machine-change.js';
import type { MediaChange, MediaDevice, MediaSnapshot } from './snapshot/media-snapshot.js';
import type { StatisticsControl } from './statistics-control.js';
import type { SystemChange, SystemChangePart } from './system-change.js';
import type { VolumeControl } from './volume-control.js';

export type { MediaSnapshot } from './snapshot/media-snapshot.js';

/**
 * Domain states of libvirt.
 * @see https://libvirt.org/html/libvirt-libvirt-domain.html#virDomainState
 */
export type DomainState =
  'nostate' | 'running' | 'blocked' | 'paused' | 'shutdown' | 'shutoff' | 'crashed' | 'pmsuspended';

/** Boot devices of libvirt (`<boot dev>`), and `usb` for a disk on a USB bus. */
export type BootDevice = 'network' | 'cdrom' | 'hd' | 'fd' | 'usb';

/** Firmware type: `bios` is Redfish's Legacy, `efi` its UEFI. */
export type FirmwareType = 'bios' | 'efi';

/** State of the indicator of a machine or a disk. */
export type IndicatorState = 'lit' | 'off' | 'blinking';

/** `disabled`: the machine's own order; `once`: the next boot only; `continuous`: every boot. */
export type BootOverrideEnabled = 'disabled' | 'once' | 'continuous';

/** A machine by UUID and name. */
export interface SystemRef {
  /** Canonical lower-case UUID. */
  readonly uuid: string;
  readonly name: string;
}

/**
 * The target of an override: a device kind, one device (`path` by its UEFI path, `next` by its boot
 * option), an image at a URI (`http`), or `none`.
 */
export type BootTarget = BootDevice | 'none' | 'http' | 'path' | 'next';

/** The boot settings of a machine: its override, its own order and its boot devices. */
export interface BootSnapshot {
  /**
   * `network`, `cdrom` and `hd` in this order, even if the machine has no such device. Then `fd`
   * and `usb`, if it has such devices.
   */
  readonly available: readonly BootDevice[];
  readonly enabled: BootOverrideEnabled;
  /**
   * The target of the override. For a machine without changes, the first boot device of the XML.
   */
  readonly target: BootTarget;
  /** The device of a target `path` or `next`; otherwise absent. */
  readonly option?: DeviceKey;
  /** The URI of a target `http`; absent: the network provides it. */
  readonly httpUri?: string;
  /** All boot devices, in the order of the definition. */
  readonly options: readonly BootOptionSnapshot[];
  /** The machine's own boot order, without the override. */
  readonly order: readonly DeviceKey[];
  readonly firmware: FirmwareType;
  /** UEFI device path of the first boot device, `PciRoot(0x0)/…`; null if it has no address yet. */
  readonly firstDevicePath: string | null;
}

/** A disk or a drive of the running machine, or of the definition if the machine is off. */
export interface DiskSnapshot {
  /** Target: `vda`, `sdb`. */
  readonly target: string;
  readonly device: 'disk' | 'cdrom' | 'floppy' | 'lun';
  /** `virtio`, `sata`, `scsi`, `ide`, `usb`, `fdc`, `nvme`. */
  readonly bus: string;
  /** Path, volume or URL of the source; null for an empty drive. */
  readonly source: string | null;
  readonly serial: string | null;
  readonly readonly: boolean;
  /** Virtual size; null if unknown (an empty drive, a missing file). */
  readonly capacityBytes: number | null;
  /** Null: no client has set it. */
  readonly indicator: IndicatorState | null;
  /** Name of a volume that was created over Redfish. */
  readonly label: string | null;
  /** Id of the configured storage of such a volume; null: the disk is shown with its bus. */
  readonly storage: string | null;
  /** True if the disk is in the definition, and the running machine gets it after a power cycle. */
  readonly pending: boolean;
}

/** A network interface of the running machine, or of the definition. */
export interface InterfaceSnapshot {
  /** Lower-case, colon-separated. */
  readonly mac: string;
  /** `network`, `bridge`, `user`, `direct`, … */
  readonly type: string;
  /** Connected network, bridge or host device. */
  readonly source: string | null;
  readonly model: string | null;
  readonly linkUp: boolean;
}

/** A memory module that is plugged into the machine, in addition to its built-in memory. */
export interface MemoryDeviceSnapshot {
  /** `dimm`, `nvdimm`, `virtio-mem`, `virtio-pmem`, `sgx-epc`. */
  readonly model: string;
  /** Memory that the guest has from it now. */
  readonly sizeKiB: number;
  /** Its share of the machine's memory. */
  readonly totalKiB: number;
  /** Null if it is in no slot. */
  readonly slot: number | null;
}

/** vCPUs as the guest sees them. */
export interface ProcessorTopology {
  /** vCPUs online at boot. */
  readonly count: number;
  readonly sockets: number;
  readonly coresPerSocket: number;
  readonly threadsPerCore: number;
  /**
   * CPU model of the definition, for example `qemu64`. With CPU passthrough, that of the host. Null
   * if unknown.
   */
  readonly model: string | null;
}

/** `<sysinfo type='smbios'>`, absent entries null. */
export interface SysinfoSnapshot {
  readonly manufacturer: string | null;
  readonly product: string | null;
  readonly version: string | null;
  readonly serial: string | null;
  readonly sku: string | null;
  readonly family: string | null;
  readonly biosVendor: string | null;
  readonly biosVersion: string | null;
}

/** The data of one machine for resources, from one read. */
export interface SystemSnapshot extends SystemRef {
  readonly state: DomainState;
  readonly persistent: boolean;
  readonly title: string | null;
  readonly description: string | null;
  /** libvirt's architecture: `x86_64`, `aarch64`. */
  readonly architecture: string;
  /** `pc-q35-7.2`. */
  readonly machineType: string;
  readonly sysinfo: SysinfoSnapshot;
  readonly processors: ProcessorTopology;
  /** `<memory>`: all memory of the machine, with its modules. */
  readonly memoryKiB: number;
  readonly memoryDevices: readonly MemoryDeviceSnapshot[];
  /** Number of slots for modules, used and free; 0 if it supports none. */
  readonly memorySlots: number;
  readonly boot: BootSnapshot;
  readonly firmware: FirmwareSnapshot;
  readonly media: readonly MediaSnapshot[];
  readonly disks: readonly DiskSnapshot[];
  readonly interfaces: readonly InterfaceSnapshot[];
  /** Null: no client has set it. */
  readonly indicator: IndicatorState | null;
  /**
   * Failure that stopped or paused the machine: a crash of its guest or its process, or an error of
   * a disk.
   */
  readonly failure?: 'crashed' | 'ioError' | null;
  /**
   * Time since when the hypervisor does not answer. The snapshot is then an older one. Absent if it
   * answers.
   */
  readonly unansweredSince?: Date;
  /** True if it has a serial port with a console; otherwise absent. */
  readonly hasConsole?: true;
  /** True while the driver starts it and its guest is paused. */
  readonly starting?: true;
  /**
   * Whether it starts with the host; absent if the hypervisor does not support it for this machine.
   */
  readonly autostart?: boolean;
  /** Asset tag from a client. */
  readonly assetTag?: string | null;
  /** Simulated firmware update, installed or staged; absent: none. */
  readonly firmwareUpdate?: FirmwareUpdate;
}

/** Simulated firmware updates: see resources/update-service.ts. */
export interface FirmwareUpdate {
  /** Null: no update was installed. */
  readonly installed: string | null;
  /** Null: no update is staged. */
  readonly staged: string | null;
}

/**
 * Power actions, with libvirt's names. `reboot` is graceful and falls back to a hard restart.
 * `reset` is hard. `cycle` is off and on. `pressButton` acts as the power button: the guest
 * decides, and a machine that is off starts. `suspend` and `resume` pause and continue its CPUs.
 * With `pmSuspend` the guest writes its memory to disk and powers off (ACPI S4).
 */
export type PowerAction =
  | 'create'
  | 'destroy'
  | 'shutdown'
  | 'reboot'
  | 'reset'
  | 'injectNmi'
  | 'cycle'
  | 'pressButton'
  | 'suspend'
  | 'resume'
  | 'pmSuspend';

/**
 * A change of the boot settings. Absent members stay. `target: 'none'` is the same as `enabled:
 * 'disabled'`.
 */
export interface BootChange {
  readonly enabled?: BootOverrideEnabled;
  readonly target?: BootTarget;
  /** The device of a target `path` or `next`. */
  readonly option?: DeviceKey;
  /** Null removes it. A target other than `http` removes it too. */
  readonly httpUri?: string | null;
  readonly firmware?: FirmwareType;
}

/** Kinds of driver errors. Resources choose the HTTP status. */
export type DriverErrorKind =
  /** No such machine. */
  | 'notFound'
  /** The host does not answer: 503 with Retry-After. */
  | 'unavailable'
  /** The machine's state does not allow it: 409. */
  | 'conflict'
  /** A transient machine would be lost: 409. */
  | 'transient'
  /** This hypervisor or this machine does not support it. */
  | 'unsupported'
  /** The hypervisor rejects a value. `field` names it. */
  | 'invalid'
  /** An image is already in the drive. */
  | 'mediaInUse'
  /** Another client is connected to the machine's serial port. */
  | 'consoleInUse'
  /** The image is not available: unreachable, rejected, 404, TLS. */
  | 'mediaUnreachable'
  | 'mediaNotFound'
  | 'mediaAuth'
  | 'mediaTls'
  | 'mediaTooLarge'
  /** An eject cancelled the insert, or an insert failed that a power-on waited for. */
  | 'insertFailed'
  /** The configuration does not allow images from that host or address. */
  | 'mediaForbidden'
  /** The host has no space for the image. */
  | 'storageFull'
  /** The machine has no free place for a drive. */
  | 'noPlace'
  /** Anything else: 500, logged with its cause. */
  | 'internal';

/**
 * The rejected part of a change: a setting by its name, or a part of boot settings or of an image.
 */
export type DriverErrorField =
  Exclude<keyof SettingsChange, 'kept'> | 'bootTarget' | 'bootOrder' | 'image' | 'transferMethod';

/** An error of a driver. Resources map `field` to the property of the request. */
export class DriverError extends Error {
  override readonly name = 'DriverError';
  readonly kind: DriverErrorKind;
  /** The rejected part, if it is only one. */
  readonly field: DriverErrorField | undefined;

  /** @param message "doing x on y: why" in lower case. Clients see it, so it has no secrets. */
  constructor(kind: DriverErrorKind, message: string, options: { field?: DriverErrorField; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.field = options.field;
  }
}

/** Options of an operation that may wait: `signal` ends the wait, with its reason. */
export interface OperationOptions {
  readonly signal?: AbortSignal;
}

/** Options of an insert, with its download. */
export interface InsertOptions extends OperationOptions {
  /** Receives 0 to 100 during the download; never called if the size is unknown. */
  readonly onProgress?: (percent: number) => void;
}

/**
 * A hypervisor, or several hosts behind one driver. An id is a UUID or a name. A UUID has
 * precedence over an equal name. Every method rejects with a {@link DriverError}.
 */
export interface HypervisorDriver {
  /** Name for logs and the status page: `libvirt qemu:///system`, `fake`. */
  readonly name: string;
  /** Connects in the background. Does not throw if the host is down. */
  start(): Promise<void>;
  /** Closes connections and aborts downloads. Removes partial downloads. */
  close(): Promise<void>;
  /** Resolves if the host answers within its timeout; otherwise rejects with `unavailable`. */
  ping(): Promise<void>;
  /**
   * Reports all changes by the hypervisor or by this driver in order, after the start of the
   * driver. After a lost connection it reports what the states show.
   * @param listener must not throw.
   * @returns the function that removes the listener.
   */
  onChange(listener: MachineChangeListener): () => void;

  /** Serial consoles; absent if the hypervisor has none. */
  readonly console?: ConsoleControl;

  /** Addresses and names of running guests. */
  readonly guestNetwork?: GuestNetwork;

  /** Volumes; absent if the hypervisor has no storage pools. */
  readonly volumes?: VolumeControl;

  /** CPU time, memory, disk and network statistics; absent if the hypervisor has none. */
  readonly statistics?: StatisticsControl;

  /** Returns all machines in no particular order. */
  listSystems(): Promise<readonly SystemRef[]>;
  /** Reads one machine. Two reads without a change may return the same object. */
  getSystem(id: string): Promise<SystemSnapshot>;

  /**
   * Runs a power action. Resolves when libvirt has done it. For `shutdown` and `reboot`, it
   * resolves after the request to the guest, and the fallback of `reboot` continues in the
   * background. `create` of a running machine and `destroy` of a stopped machine do nothing.
   * `create`, `reboot`, `reset`, `cycle` and `pressButton` wait for a pending insert, and fail if
   * it fails: a guest never boots an empty drive.
   * @throws {DriverError} conflict, if the action needs a guest and none runs; transient, if the
   *   machine would be lost; unsupported; insertFailed.
   */
  power(id: string, action: PowerAction, options?: OperationOptions): Promise<void>;

  /** Parts of a change that this hypervisor supports. Resources show only these. */
  readonly changeable: ReadonlySet<SystemChangePart>;
  /**
   * Changes a machine: all parts or none. It downloads an image before any change, and a machine
   * that is switched on meanwhile waits.
   * @throws {DriverError} of the first impossible part; its field names the part.
   */
  change(id: string, change: SystemChange, options?: InsertOptions): Promise<void>;

  /**
   * Downloads the image and inserts it into the drive. All machines share one download. If the
   * guest may write to the image, its machine has a private copy, which the eject removes. The same
   * URL again resolves at once.
   */
  insertMedia(id: string, device: MediaDevice, image: ImageRequest, options?: InsertOptions): Promise<void>;
  /**
   * Empties the drive. Cancels earlier inserts into this drive: their downloads stop, and they fail
   * with `insertFailed`. Resolves for an empty drive.
   */
  ejectMedia(id: string, device: MediaDevice, options?: OperationOptions): Promise<void>;
  /** Stores the download settings of a drive with the machine. */
  setMedia(id: string, device: MediaDevice, change: MediaChange): Promise<void>;
}
