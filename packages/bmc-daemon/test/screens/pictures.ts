/** Pictures of a guest's screen, and their comparison. */
import { readFile } from 'node:fs/promises';
import type { Guest, TestHost } from '../libvirt-driver/host.js';

/** A picture with four bytes for each pixel: blue, green, red, unused. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly pixels: Buffer;
}

/** A share of pixels: more than a blinking cursor, and less than a line of text. */
export const CURSOR = 0.001;

/** Returns the picture that QEMU itself writes. @throws {Error} if its file is no PPM. */
export async function screenshot(host: TestHost, guest: Guest): Promise<Picture> {
  const file = host.file('screen.ppm');
  await host.virsh('qemu-monitor-command', guest.name, '--hmp', `screendump ${file}`);
  const bytes = await readFile(file);
  const head = /^P6\s+(\d+)\s+(\d+)\s+255\s/.exec(bytes.subarray(0, 40).toString('latin1'));
  if (head === null) throw new Error('the screenshot is no PPM');
  const [width, height] = [Number(head[1]), Number(head[2])];
  const colors = bytes.subarray(head[0].length);
  const pixels = Buffer.alloc(width * height * 4);
  for (let from = 0, to = 0; to < pixels.length; from += 3, to += 4) {
    pixels[to] = colors[from + 2] ?? 0;
    pixels[to + 1] = colors[from + 1] ?? 0;
    pixels[to + 2] = colors[from] ?? 0;
  }
  return { width, height, pixels };
}

/**
 * Returns the share of pixels that differ; 1 if the sizes differ.
 * @param tolerance the difference of a color that still counts as the same, for lossy pictures.
 */
export function difference(left: Picture, right: Picture, tolerance = 0): number {
  if (left.width !== right.width || left.height !== right.height) return 1;
  let differing = 0;
  for (let at = 0; at < left.pixels.length; at += 4) {
    if (differs(at) || differs(at + 1) || differs(at + 2)) differing += 1;
  }
  return (differing * 4) / left.pixels.length;

  // Tests compare thousands of pictures, so this function allocates nothing.
  function differs(index: number): boolean {
    return Math.abs((left.pixels[index] ?? 0) - (right.pixels[index] ?? 0)) > tolerance;
  }
}

/** Returns the share of bytes that are not dark. */
export const litShare = ({ pixels }: Picture): number => pixels.filter((byte) => byte > 100).length / pixels.length;

/** Returns the characters of a screen in VGA's text mode, from the memory of the guest. */
export async function screenText(host: TestHost, guest: Guest): Promise<string> {
  const cells = await host.virsh('qemu-monitor-command', guest.name, '--hmp', 'xp /2000xh 0xb8000');
  const codes = [...cells.matchAll(/ 0x[0-9a-f]{2}([0-9a-f]{2})/g)].map(([, code = '']) => Number.parseInt(code, 16));
  return String.fromCharCode(...codes);
}

/** Returns a disk whose program writes on the screen the keys that the user presses. */
export function typingDisk(): Buffer {
  // mov ah,0; int 16h; mov ah,0Eh; mov bx,7; int 10h; jmp to the start
  const program = [0xb4, 0x00, 0xcd, 0x16, 0xb4, 0x0e, 0xbb, 0x07, 0x00, 0xcd, 0x10, 0xeb, 0xf3];
  const disk = Buffer.alloc(1024 * 1024);
  disk.set(program);
  disk.set([0x55, 0xaa], 510);
  return disk;
}
