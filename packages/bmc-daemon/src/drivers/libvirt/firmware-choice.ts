/** Which firmware a boot mode means on an architecture: EMULATOR_BOOT_LOADER_MAP, checked against the host. */
import { access } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { DriverError, type FirmwareType } from '../driver.js';
import type { FirmwareChoice } from './xml/firmware.js';

/** Mode to architecture (libvirt's name: `x86_64`) to a firmware file; null, or nothing: libvirt selects the firmware. */
export type BootLoaderMap = Readonly<Partial<Record<'UEFI' | 'Legacy', Readonly<Record<string, string | null>>>>>;

/** @throws {DriverError} invalid, naming architecture and path, where the mapped file does not exist. */
export async function chooseFirmware(
  map: BootLoaderMap,
  firmware: FirmwareType,
  architecture: string,
): Promise<FirmwareChoice> {
  const mode = firmware === 'efi' ? 'UEFI' : 'Legacy';
  const loaderPath = map[mode]?.[architecture] ?? null;
  if (loaderPath === null) return { loaderPath, nvramTemplate: null };
  if (!(await exists(loaderPath))) {
    throw new DriverError(
      'invalid',
      `setting the boot mode to ${mode}: the boot loader of ${architecture}, ${loaderPath}, does not exist`,
      { field: 'Boot/BootSourceOverrideMode' },
    );
  }
  return { loaderPath, nvramTemplate: firmware === 'efi' ? await variableStore(loaderPath) : null };
}

/**
 * The empty variable store that belongs to a UEFI image: distributions name the two alike (`OVMF_CODE_4M.fd`, `OVMF_VARS_4M.fd`).
 * Null leaves the pairing to libvirt, which knows the files that its own firmware descriptions name.
 */
async function variableStore(loaderPath: string): Promise<string | null> {
  const name = basename(loaderPath);
  const candidates = [name, name.replace(/\.secboot/, '')]
    .map((candidate) => candidate.replace(/CODE/, 'VARS').replace(/_EFI/, '_VARS'))
    .filter((candidate) => candidate !== name)
    .map((candidate) => join(dirname(loaderPath), candidate));
  for (const candidate of candidates) if (await exists(candidate)) return candidate;
  return null;
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    // Whatever keeps it from being seen keeps it from being used.
    return false;
  }
}
