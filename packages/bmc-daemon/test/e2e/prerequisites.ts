/** Checks the prerequisites of the end-to-end tests, which scripts/test installs. */
import { execFile } from 'node:child_process';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe } from '@jest/globals';

const programs = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'unshare', 'tini', 'grub-mkimage', 'mcopy', 'xorriso'];
const files = {
  'OVMF for guests': '/usr/share/qemu/firmware/60-edk2-x86_64.json',
  'GRUB for BIOS': '/usr/lib/grub/i386-pc/kernel.img',
  'GRUB for UEFI': '/usr/lib/grub/x86_64-efi/kernel.img',
  'a build of bmc-daemon (npm run build)': join(import.meta.dirname, '../../dist/cli.js'),
};

async function missingHere(): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const program of programs) {
    await promisify(execFile)('sh', ['-c', `command -v ${program}`]).catch(() => missing.push(program));
  }
  for (const [what, path] of Object.entries(files)) await access(path).catch(() => missing.push(what));
  return missing;
}

const missing = process.env['RACKLESS_REQUIRE_ALL'] === '1' ? [] : await missingHere();

/**
 * Declares a suite. It is skipped, with the reason in its title, if a prerequisite is missing; with
 * RACKLESS_REQUIRE_ALL it fails.
 */
export function describeEndToEnd(title: string, suite: () => void): void {
  if (missing.length === 0) describe(title, suite);
  else describe.skip(`${title} (missing here: ${missing.join(', ')})`, suite);
}
