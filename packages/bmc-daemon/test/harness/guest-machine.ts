import type { SerialLine } from './serial-line.js';

/** Options of a guest definition. */
export interface GuestMachine {
  readonly name: string;
  readonly uuid?: string;
  readonly firmware: 'bios' | 'efi';
  /**
   * The CD drive is on IDE for `pc` and on SATA for `q35`. The kernel of the Linux guests has no
   * SATA driver, so a Linux guest on `q35` needs `cdromBus: 'scsi'`.
   */
  readonly machine: 'pc' | 'q35';
  /** Raw image that the guest may write to. */
  readonly disk: string;
  /** Image in the CD drive; null: an empty drive; absent: no drive. */
  readonly cdrom?: string | null;
  /** Default: the built-in bus of the machine type. */
  readonly cdromBus?: 'ide' | 'sata' | 'scsi';
  readonly serial: Pick<SerialLine, 'markup'>;
  /** Whether the guest has an interface on QEMU's user network. Default false. */
  readonly network?: boolean;
}

const NO_SECURE_BOOT = `<firmware><feature enabled='no' name='secure-boot'/></firmware><loader stateless='no'/>`;

/** The UEFI firmware of Debian 13 boots from the network only with a random number generator. */
const NETWORK =
  `<interface type='user'><model type='virtio'/></interface>` +
  `<rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>`;

/**
 * Returns the domain XML of an emulated guest (TCG) that boots its disk and uses its serial line.
 */
export function guestMachineXml(options: GuestMachine): string {
  const { name, uuid, firmware, machine, disk, cdrom, serial, network = false } = options;
  const bus = options.cdromBus ?? (machine === 'pc' ? 'ide' : 'sata');
  const drive =
    cdrom === undefined
      ? ''
      : `<disk type='file' device='cdrom'>` +
        `<driver name='qemu' type='raw'/>${cdrom === null ? '' : `<source file='${cdrom}'/>`}` +
        `<target dev='${bus === 'ide' ? 'hdc' : 'sda'}' bus='${bus}'/><readonly/></disk>`;
  return `<domain type='qemu'>
  <name>${name}</name>
  ${uuid === undefined ? '' : `<uuid>${uuid}</uuid>`}
  <memory unit='MiB'>256</memory>
  <vcpu>1</vcpu>
  <os${firmware === 'efi' ? ` firmware='efi'` : ''}>
    <type arch='x86_64' machine='${machine}'>hvm</type>
    ${firmware === 'efi' ? NO_SECURE_BOOT : ''}
    <boot dev='hd'/>
  </os>
  <features><acpi/></features>
  <on_reboot>restart</on_reboot>
  <devices>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/>
      <source file='${disk}'/>
      <target dev='vda' bus='virtio'/>
    </disk>
    ${drive}
    ${bus === 'scsi' ? `<controller type='scsi' index='0' model='virtio-scsi'/>` : ''}
    ${serial.markup}
    ${network ? NETWORK : ''}
    <memballoon model='none'/>
  </devices>
</domain>`;
}
