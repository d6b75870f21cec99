import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Boot sector that echoes the input of the first serial port:
 * `sti; again: mov dx,0x3fd; poll: in al,dx; test al,1; jnz ready; hlt; jmp poll;
 * ready: mov dl,0xf8; in al,dx; out dx,al; jmp again`.
 * It halts between timer ticks, so a guest uses almost no CPU time.
 */
const ECHO = Buffer.from(
  'fb' + 'bafd03' + 'ec' + 'a801' + '7503' + 'f4' + 'ebf8' + 'b2f8' + 'ec' + 'ee' + 'ebef',
  'hex',
);

/** Writes a bootable disk image of 1 MiB with the echo program. @returns its path. */
export async function writeEchoDisk(dir: string, name = 'echo.img'): Promise<string> {
  const disk = Buffer.alloc(1_048_576);
  ECHO.copy(disk);
  disk.writeUInt16LE(0xaa55, 510);
  const path = join(dir, name);
  await writeFile(path, disk);
  return path;
}

/** Options of {@link echoGuestXml}. */
export interface EchoGuest {
  readonly name: string;
  readonly disk: string;
  /** Further elements of `<devices>`. */
  readonly devices?: string;
  /** Further elements of `<domain>`. */
  readonly extra?: string;
}

/**
 * Returns the XML of a domain without acceleration: 16 MiB, virtio disk, empty CD drive, USB
 * controller, serial port.
 */
export function echoGuestXml({ name, disk, devices = '', extra = '' }: EchoGuest): string {
  return `<domain type='qemu'>
  <name>${name}</name>
  <memory unit='MiB'>16</memory>
  <vcpu>1</vcpu>
  <os><type arch='x86_64' machine='pc'>hvm</type><boot dev='hd'/></os>
  <features><acpi/></features>
  ${extra}
  <devices>
    <disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='${disk}'/><target dev='vda' bus='virtio'/></disk>
    <disk type='file' device='cdrom'><target dev='hda' bus='ide'/><readonly/></disk>
    <controller type='usb' model='piix3-uhci'/>
    <serial type='pty'><target port='0'/></serial>
    <memballoon model='none'/>
    ${devices}
  </devices>
</domain>`;
}
