/**
 * What the resources ask of a hypervisor, in hypervisor words. A driver owns the machines' truth: every call reads or
 * changes the real thing, and whatever belongs to a machine (boot override, indicator, media source) is stored with it.
 */
import type { ImageRequest } from '../media/image.js';
import type { ConsoleControl } from './console-control.js';
import type { BootOptionSnapshot, DeviceKey, FirmwareSnapshot, SettingsChange } from './firmware-snapshot.js';
import type { GuestNetwork } from './guest-network.js';
import type { MachineChangeListener } from './machine-change.js';
import type { MediaChange, MediaDevice, MediaSnapshot } from './media-snapshot.js';
import type { StatisticsControl } from './statistics-control.js';
import type { SystemChange, SystemChangePart } from './system-change.js';
import type { VolumeControl } from './volume-control.js';

export type { MediaSnapshot } from './media-snapshot.js';

/** libvirt's domain states, by name. @see https://libvirt.org/html/libvirt-libvirt-domain.html#virDomainState */
export type DomainState =
  'nostate' | 'running' | 'blocked' | 'paused' | 'shutdown' | 'shutoff' | 'crashed' | 'pmsuspended';

/** libvirt's boot devices (`<boot dev>`), and `usb` for a disk on a USB bus. */
export type BootDevice = 'network' | 'cdrom' | 'hd' | 'fd' | 'usb';

/** How the machine boots: `bios` is Redfish's Legacy, `efi` its UEFI. */
export type FirmwareType = 'bios' | 'efi';

/** What a lamp shows that helps to find a machine or a disk. */
export type IndicatorState = 'lit' | 'off' | 'blinking';

/** `disabled`: the machine's own order; `once`: the next boot only; `continuous`: every boot. */
export type BootOverrideEnabled = 'disabled' | 'once' | 'continuous';

/** A machine by both of its names. */
export interface SystemRef {
  /** Canonical lower-case UUID. */
  readonly uuid: string;
  readonly name: string;
}

/**
 * What an override names: a kind of device, one device (`path`, `next`: by the words that the client knows it by, UEFI path or
 * boot option), an image at a URI (`http`), or nothing.
 */
export type BootTarget = BootDevice | 'none' | 'http' | 'path' | 'next';

/** How the machine boots: its override, its own order and what it could boot from. */
export interface BootSnapshot {
  /**
   * `network`, `cdrom` and `hd`, in that order and whether the machine has such a device or not, then those of `fd` and `usb`
   * that it has.
   */
  readonly available: readonly BootDevice[];
  readonly enabled: BootOverrideEnabled;
  /** The override's target; for a machine never touched, the XML's first boot device. */
  readonly target: BootTarget;
  /** The device of a target `path` or `next`; else absent. */
  readonly option?: DeviceKey;
  /** Where a target `http` boots from; absent: from wherever the network says. */
  readonly httpUri?: string;
  /** Every device that the machine can boot from, in the order of its definition. */
  readonly options: readonly BootOptionSnapshot[];
  /** The machine's own order, which no override changes: the devices that it tries. */
  readonly order: readonly DeviceKey[];
  readonly firmware: FirmwareType;
  /** UEFI device path of the first boot device, `PciRoot(0x0)/…`; null where it has no address yet. */
  readonly firstDevicePath: string | null;
}

/** A disk or a drive, as the running machine has it, or the definition of one that is off. */
export interface DiskSnapshot {
  /** Target name: `vda`, `sdb`. */
  readonly target: string;
  readonly device: 'disk' | 'cdrom' | 'floppy' | 'lun';
  /** `virtio`, `sata`, `scsi`, `ide`, `usb`, `fdc`, `nvme`. */
  readonly bus: string;
  /** Path, volume or URL of the source; null for an empty drive. */
  readonly source: string | null;
  readonly serial: string | null;
  readonly readonly: boolean;
  /** Virtual size; null when the hypervisor does not say (an empty drive, a missing file). */
  readonly capacityBytes: number | null;
  /** Null: nobody has set it. */
  readonly indicator: IndicatorState | null;
  /** Name of a volume that was made over Redfish. */
  readonly label: string | null;
  /** Id of the configured storage that such a volume was made in; null: the disk is shown with its bus. */
  readonly storage: string | null;
  /** In the definition, and the machine that runs gets it when it is switched off and on. */
  readonly pending: boolean;
}

/** A network interface, in the same way. */
export interface InterfaceSnapshot {
  /** Lower-case, colon-separated. */
  readonly mac: string;
  /** `network`, `bridge`, `user`, `direct`, … */
  readonly type: string;
  /** Network, bridge or host device that it is connected to. */
  readonly source: string | null;
  readonly model: string | null;
  readonly linkUp: boolean;
}

/** A memory module that is plugged into the machine, beside what it has built in. */
export interface MemoryDeviceSnapshot {
  /** `dimm`, `nvdimm`, `virtio-mem`, `virtio-pmem`, `sgx-epc`. */
  readonly model: string;
  /** What the guest has of it now. */
  readonly sizeKiB: number;
  /** What it counts in the machine's memory. */
  readonly totalKiB: number;
  /** Null where it is in none. */
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
   * CPU model as the machine's definition names it, `qemu64`; of one that passes the host's through the host's, where the
   * hypervisor tells it; null when nobody does.
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

/** Everything that the resources render of one machine: one read, plain data. */
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
  /** `<memory>`: all the memory that the machine has, its plugged modules included. */
  readonly memoryKiB: number;
  readonly memoryDevices: readonly MemoryDeviceSnapshot[];
  /** Places for modules, used and free; 0 where none can be plugged in. */
  readonly memorySlots: number;
  readonly boot: BootSnapshot;
  readonly firmware: FirmwareSnapshot;
  readonly media: readonly MediaSnapshot[];
  readonly disks: readonly DiskSnapshot[];
  readonly interfaces: readonly InterfaceSnapshot[];
  /** Null: nobody has set it. */
  readonly indicator: IndicatorState | null;
  /** Why it does not run, where that is no one's wish: its guest or its process broke down, or a disk did. */
  readonly failure?: 'crashed' | 'ioError' | null;
  /** The hypervisor has not answered for it since then, and this is what it said before; absent where it answers. */
  readonly unansweredSince?: Date;
  /** It has a serial port that one can connect to while it runs; absent where it has none. */
  readonly hasConsole?: true;
  /** It is being started at this moment, and its guest held back on the way. */
  readonly starting?: true;
  /** Whether it starts with the host; absent where the hypervisor has no such thing, or not for this machine. */
  readonly autostart?: boolean;
  /** What its owners call it. */
  readonly assetTag?: string | null;
  /** Version of its firmware after an update over Redfish, and of one that waits for the next start; absent: none. */
  readonly firmwareUpdate?: FirmwareUpdate;
}

/** Made-up firmware updates: see resources/update-service.ts. */
export interface FirmwareUpdate {
  /** Null: none took effect yet. */
  readonly installed: string | null;
  /** Null: none waits. */
  readonly staged: string | null;
}

/**
 * What a client may do to power, in libvirt's words. `reboot` is graceful and falls back to a hard one; `reset` is hard; `cycle` is
 * off and on; `pressButton` is what the guest makes of its power button, which switches on a machine that is off; `suspend` and
 * `resume` stop its CPUs and let them go on; `pmSuspend` has the guest write its memory to disk and go off (ACPI S4).
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

/** Absent members stay as they are. `target: 'none'` is the same as `enabled: 'disabled'`. */
export interface BootChange {
  readonly enabled?: BootOverrideEnabled;
  readonly target?: BootTarget;
  /** With a target `path` or `next`. */
  readonly option?: DeviceKey;
  /** Null: none any more. Another target than `http` forgets it, too. */
  readonly httpUri?: string | null;
  readonly firmware?: FirmwareType;
}

/** What kept a driver from doing something; the status that a client gets is the resources' affair. */
export type DriverErrorKind =
  /** No such machine. */
  | 'notFound'
  /** The host does not answer: 503 with Retry-After. */
  | 'unavailable'
  /** The machine's state does not allow it: 409. */
  | 'conflict'
  /** A machine that exists only as long as it runs would be lost with it: 409. */
  | 'transient'
  /** This hypervisor or this machine can not do it at all. */
  | 'unsupported'
  /** A value that the hypervisor refuses. `field` names it. */
  | 'invalid'
  /** An image is already in the drive. */
  | 'mediaInUse'
  /** Somebody else is connected to the machine's serial port. */
  | 'consoleInUse'
  /** The image could not be had: unreachable, refused, 404, TLS. */
  | 'mediaUnreachable'
  | 'mediaNotFound'
  | 'mediaAuth'
  | 'mediaTls'
  | 'mediaTooLarge'
  /** An eject ended the insert, or the image that a power-on or restart waited for was not inserted. */
  | 'insertFailed'
  /** The configuration allows no images from that host or address. */
  | 'mediaForbidden'
  /** No room for the image on the host. */
  | 'storageFull'
  /** The machine has no free place for another drive. */
  | 'noPlace'
  /** Anything else: 500, logged with its cause. */
  | 'internal';

/** What of a change was refused: a setting by its name, or a part of booting or of an image. */
export type DriverErrorField =
  Exclude<keyof SettingsChange, 'kept'> | 'bootTarget' | 'bootOrder' | 'image' | 'transferMethod';

/** Why a driver could not do something. Which words of a request are meant is for the resources to say. */
export class DriverError extends Error {
  override readonly name = 'DriverError';
  readonly kind: DriverErrorKind;
  /** What is at fault, where it is one thing of the change. */
  readonly field: DriverErrorField | undefined;

  /** @param message "doing x on y: why", lower case, without secrets: it is shown to clients. */
  constructor(kind: DriverErrorKind, message: string, options: { field?: DriverErrorField; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.field = options.field;
  }
}

/** For what may have to wait: `signal` ends the waiting, with its reason. */
export interface OperationOptions {
  readonly signal?: AbortSignal;
}

/** For an insert, whose download may take long. */
export interface InsertOptions extends OperationOptions {
  /** Called as the download goes on, 0 to 100; not called when the size is unknown. */
  readonly onProgress?: (percent: number) => void;
}

/**
 * One hypervisor, or several hosts behind one driver. Ids are a UUID or a machine's name; a name that is also some machine's
 * UUID loses to the UUID. Every method rejects with a {@link DriverError}.
 */
export interface HypervisorDriver {
  /** For logs and the page: `libvirt qemu:///system`, `fake`. */
  readonly name: string;
  /** Connects in the background; never throws because the host is down. */
  start(): Promise<void>;
  /** Ends connections and downloads; partial downloads are removed. */
  close(): Promise<void>;
  /** Resolves when the host answers within its time-out; rejects `unavailable` otherwise. */
  ping(): Promise<void>;
  /**
   * Tells of every change that the hypervisor reports or this driver makes, from now on and in order, from the moment that the
   * driver is started. What is missed while there is no connection is told when it is back, as far as states show it.
   * @returns a function that ends it. What the listener throws is its own affair: it must not throw.
   */
  onChange(listener: MachineChangeListener): () => void;

  /** Serial ports of machines; absent where the hypervisor hands out none. */
  readonly console?: ConsoleControl;

  /** Addresses and names of running guests. */
  readonly guestNetwork?: GuestNetwork;

  /** Making and removing disks; absent where the hypervisor has no storage pools. */
  readonly volumes?: VolumeControl;

  /** CPU time, memory, disk and network traffic; absent where the hypervisor counts nothing. */
  readonly statistics?: StatisticsControl;

  /** All machines, in no particular order. */
  listSystems(): Promise<readonly SystemRef[]>;
  /** One machine, read once. Two reads that find nothing changed may return the same object. */
  getSystem(id: string): Promise<SystemSnapshot>;

  /**
   * Resolves when libvirt has carried it out (for `shutdown` and `reboot`: when the guest has been asked; the fall-back of
   * `reboot` goes on in the background). `create` when running and `destroy` when shut off do nothing.
   * `create`, `reboot`, `reset`, `cycle` and `pressButton` wait for a pending insert of this machine, and fail where it does: a guest never boots an empty
   * drive.
   * @throws {DriverError} conflict for what needs a guest on a machine that has none; transient where the machine would be lost;
   * unsupported; insertFailed.
   */
  power(id: string, action: PowerAction, options?: OperationOptions): Promise<void>;

  /** Parts of a change that this hypervisor can make; resources show no others. */
  readonly changeable: ReadonlySet<SystemChangePart>;
  /**
   * Changes a machine: every part of the change is made, or none. An image is downloaded before anything changes, and machines that
   * are switched on meanwhile wait for it.
   * @throws {DriverError} of the first part that cannot be made; its field names the part.
   */
  change(id: string, change: SystemChange, options?: InsertOptions): Promise<void>;

  /**
   * Downloads the image (once for all machines, but for one that the guest may write to: that is this machine's own copy, and goes
   * with its eject) and puts it into the drive. The same URL again resolves at once.
   */
  insertMedia(id: string, device: MediaDevice, image: ImageRequest, options?: InsertOptions): Promise<void>;
  /**
   * Leaves the drive empty. Ends the inserts into this drive that were requested before: their downloads stop and they fail with
   * `insertFailed`. An empty drive resolves.
   */
  ejectMedia(id: string, device: MediaDevice, options?: OperationOptions): Promise<void>;
  /** Keeps with the machine how the images of a drive are to be downloaded. */
  setMedia(id: string, device: MediaDevice, change: MediaChange): Promise<void>;
}
