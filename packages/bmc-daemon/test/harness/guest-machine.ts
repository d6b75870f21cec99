import type { SerialLine } from './serial-line.js';

export interface GuestMachine {
  readonly name: string;
  readonly uuid?: string;
  readonly firmware: 'bios' | 'efi';
  /** `pc` has its drive on IDE, `q35` on SATA, for which the kernel of the Linux guests has no driver: give it a SCSI one. */
  readonly machine: 'pc' | 'q35';
  /** Raw image that the guest may write to. */
  readonly disk: string;
  /** Image in the CD drive; null: the drive is empty; absent: there is no drive. */
  readonly cdrom?: string | null;
  /** Default: what the machine has built in. */
  readonly cdromBus?: 'ide' | 'sata' | 'scsi';
  readonly serial: Pick<SerialLine, 'markup'>;
  /** Whether it has a network interface, which leads to QEMU's own network alone. Default false. */
  readonly network?: boolean;
}

const NO_SECURE_BOOT = `<firmware><feature enabled='no' name='secure-boot'/></firmware><loader stateless='no'/>`;

/** A definition for a guest of `guest-image.ts`, emulated (TCG), that boots its disk and talks on its serial line. */
export function guestMachineXml(options: GuestMachine): string {
  const { name, uuid, firmware, machine, disk, cdrom, serial, network = false } = options;
  const bus = options.cdromBus ?? (machine === 'pc' ? 'ide' : 'sata');
  const drive =
    cdrom === undefined
      ? ''
      : `<disk type='file' device='cdrom'><driver name='qemu' type='raw'/>${cdrom === null ? '' : `<source file='${cdrom}'/>`}` +
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
    ${network ? `<interface type='user'><model type='virtio'/></interface>` : ''}
    <memballoon model='none'/>
  </devices>
</domain>`;
}
