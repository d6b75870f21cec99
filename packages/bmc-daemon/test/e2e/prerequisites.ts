/** Checks the prerequisites of the end-to-end tests, which scripts/test installs. */
import { spawnSync } from 'node:child_process';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { describeUnless } from '../../../libvirt/test/harness/installed.js';

const programs = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'unshare', 'tini', 'grub-mkimage', 'mcopy', 'xorriso'];
const files = {
  'OVMF for guests': '/usr/share/qemu/firmware/60-edk2-x86_64.json',
  'GRUB for BIOS': '/usr/lib/grub/i386-pc/kernel.img',
  'GRUB for UEFI': '/usr/lib/grub/x86_64-efi/kernel.img',
  'a build of bmc-daemon (npm run build)': join(import.meta.dirname, '../../dist/cli.js'),
};

const missingPrograms = (names: readonly string[]): readonly string[] =>
  names.filter((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0);

async function missingHere(): Promise<readonly string[]> {
  const missing = [...missingPrograms(programs)];
  for (const [what, path] of Object.entries(files)) await access(path).catch(() => missing.push(what));
  return missing;
}

const missing = await missingHere();

/**
 * Declares a suite that is skipped if a prerequisite is missing; in CI, the suite then fails.
 * @param furtherPrograms programs that only this suite needs.
 */
export function describeEndToEnd(title: string, suite: () => void, furtherPrograms: readonly string[] = []): void {
  const all = [...missing, ...missingPrograms(furtherPrograms)];
  describeUnless(all.length === 0 ? undefined : `missing here: ${all.join(', ')}`, title, suite);
}
