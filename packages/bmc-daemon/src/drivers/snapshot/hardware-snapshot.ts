/** Disks, interfaces, memory and processors of a machine, in hypervisor terms. */

/** State of the indicator of a machine or a disk. */
export type IndicatorState = 'lit' | 'off' | 'blinking';

/** A disk or a drive of the running machine, or of the definition if the machine is off. */
export interface DiskSnapshot {
  /** Target, such as `vda` or `sdb`. With Nova: the id of a volume, or `root`, `ephemeral` or `swap`. */
  readonly target: string;
  readonly device: 'disk' | 'cdrom' | 'floppy' | 'lun';
  /** The bus, such as `virtio`, `sata` or `usb`. With Nova: `local`, or `volume` for Cinder's volumes. */
  readonly bus: string;
  /** Path, volume or URL of the source; null for an empty drive, or if unknown. */
  readonly source: string | null;
  readonly serial: string | null;
  readonly readonly: boolean;
  /** Virtual size; null if unknown (an empty drive, a missing file). */
  readonly capacityBytes: number | null;
  /** Null: no client has set it. */
  readonly indicator: IndicatorState | null;
  /** Name of the volume: with libvirt, only of a volume that was created over Redfish. Null: none, or unknown. */
  readonly label: string | null;
  /** Id of the configured storage that shows the disk; null: the storage of the disk's bus. */
  readonly storage: string | null;
  /** True if the disk is in the definition, and the running machine gets it after a power cycle. */
  readonly pending: boolean;
}

/** A network interface of the running machine, or of the definition if the machine is off. */
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
  /** libvirt's model, such as `dimm` or `virtio-mem`. */
  readonly model: string;
  /** Memory of this module that the guest can use now. */
  readonly sizeKiB: number;
  /** Memory that this module adds to the machine. */
  readonly totalKiB: number;
  /** Null if the module is in no slot. */
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
   * CPU model of the definition, for example `qemu64`. With CPU passthrough, the model of the
   * host's CPU. Null if unknown.
   */
  readonly model: string | null;
}

/** The entries of `<sysinfo type='smbios'>`. An absent entry is null. */
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
