import { execFile } from 'node:child_process';
import { copyFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** As `scripts/guests/build-guest --help` says. */
export interface GuestImage {
  readonly kind: 'disk' | 'iso';
  readonly system: 'grub' | 'linux';
  /** Up to 11 letters, digits, - and _. Default `RACKLESS`. */
  readonly label?: string;
}

const builder = fileURLToPath(new URL('../../../../scripts/guests/build-guest', import.meta.url));

/**
 * Path of a bootable image, built where it is not in the cache yet: 0.3 s for GRUB, 3 s for Linux and once the download of a
 * kernel. Shared by all suites, so to be read only: a CD, or copied by {@link copyGuestImage}.
 */
export async function guestImage({ kind, system, label = 'RACKLESS' }: GuestImage): Promise<string> {
  const { stdout } = await promisify(execFile)(builder, ['--kind', kind, `--${system}`, '--label', label]);
  return stdout.trim();
}

/** A copy of the image that a guest may write to. */
export async function copyGuestImage(image: GuestImage, path: string): Promise<string> {
  await copyFile(await guestImage(image), path);
  return path;
}
