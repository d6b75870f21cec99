/** Data of lab machines: the requested hardware, their names, and the properties of their host. */

/** A network of libvirt, or a bridge of the host. */
export interface NetworkLink {
  readonly type: 'network' | 'bridge';
  readonly name: string;
}

/** Buses for disks. On SCSI and SATA a Linux guest names them `sda`, on VirtIO `vda`. */
export const DISK_BUSES = ['scsi', 'virtio', 'sata'] as const;

/** Models of network cards that QEMU has for PCI, by libvirt's names. */
export const NIC_MODELS = ['virtio', 'e1000e', 'e1000', 'igb', 'rtl8139', 'vmxnet3'] as const;

type DiskBus = (typeof DISK_BUSES)[number];

/** The kinds of devices that a boot order can contain. */
export const BOOT_DEVICES = ['network', 'disk', 'cdrom'] as const;

/** One of {@link BOOT_DEVICES}. */
export type LabBootDevice = (typeof BOOT_DEVICES)[number];

/** The firmware of a machine. */
export type LabFirmware = 'bios' | 'uefi' | 'secure-boot';

/** The hardware of a machine. */
export interface MachineSpec {
  readonly cpus: number;
  readonly memoryMiB: number;
  /** One size for each disk. */
  readonly diskBytes: readonly number[];
  readonly diskBus: DiskBus;
  /** Storage pool of the disks; null: `default`, or the pool of the daemon if the host has no `default`. */
  readonly pool: string | null;
  /** One entry for each interface. */
  readonly networks: readonly NetworkLink[];
  readonly nicModel: (typeof NIC_MODELS)[number];
  readonly firmware: LabFirmware;
  readonly tpm: boolean;
  readonly bootOrder: readonly LabBootDevice[];
  /** True: no KVM. False: KVM. Null: KVM if guests run with it on the host. */
  readonly emulate: boolean | null;
  /** libvirt's name of a CPU; null: the CPU of the host, or with emulation the CPU with most features. */
  readonly cpuModel: string | null;
}

/** Names and addresses of the machines of one command. */
export interface Naming {
  readonly name: string;
  /** Null: one machine with this name. A number: machines `name-1` to `name-<count>`. */
  readonly count: number | null;
  /** Addresses of the interfaces of a single machine; null: derived from the names of the host and the machine. */
  readonly macs: readonly string[] | null;
  /** The first bytes of all addresses, `52:54:00:aa`; the other bytes count up from 1. Null: as for `macs`. */
  readonly macPrefix: string | null;
}

/** Returns the names of the machines of a command, in the order of their numbers. */
export function machineNames({ name, count }: Pick<Naming, 'name' | 'count'>): readonly string[] {
  return count === null ? [name] : Array.from({ length: count }, (_, index) => `${name}-${index + 1}`);
}

/** Properties of a host that determine the definitions of its new machines. */
export interface GuestPlatform {
  /** Name of the host. Derived addresses depend on it. */
  readonly hostName: string;
  readonly architecture: string;
  /** With its version, `pc-q35-7.2`: firmware descriptors name machine types in this form. */
  readonly machineType: string;
  readonly domainType: 'kvm' | 'qemu';
  /** True: libvirt offers KVM, but a test guest did not run with it. */
  readonly isKvmBroken: boolean;
  /** Mode of `<cpu>` for a machine without a CPU model. */
  readonly cpuMode: string;
}
