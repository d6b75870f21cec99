/**
 * Reads QEMU's firmware descriptors of the libvirt host: which image supports Secure Boot, which
 * variables contain keys, and which image libvirt selects. Without descriptors, for example if libvirt runs
 * on another host, the catalog knows only the settings, and judges other files by their names.
 * @see https://gitlab.com/qemu-project/qemu/-/blob/master/docs/interop/firmware.json
 */
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import type { OperatingSystem } from './xml/domain.js';

/** One descriptor of UEFI firmware in flash memory. */
export interface FirmwareImage {
  /** Path, for example `/usr/share/OVMF/OVMF_CODE_4M.ms.fd`. */
  readonly executable: string;
  /** Template of its variables; null if it has none. */
  readonly template: string | null;
  readonly targets: readonly { readonly architecture: string; readonly machines: readonly string[] }[];
  /** Features of the descriptor, such as `secure-boot` or `enrolled-keys`. */
  readonly features: readonly string[];
}

/** Facts about firmware files that a definition does not contain. */
export interface FirmwareCatalog {
  /** Returns whether a template of variables contains the keys of Secure Boot; null if unknown. */
  hasKeys(template: string): boolean | null;
  /**
   * Returns whether the image requires SMM, which protects its variables from the guest; false if unknown.
   */
  requiresSmm(executable: string): boolean;
  /**
   * Returns the template for an image, with or without keys: the template of the settings, or else that of
   * a descriptor; null if unknown.
   */
  templateOfImage(executable: string, options: { readonly keys: boolean }): string | null;
  /** Returns the image that libvirt selects for a definition that names no image; null if unknown. */
  selected(os: Pick<OperatingSystem, 'architecture' | 'machineType' | 'firmwareFeatures'>): FirmwareImage | null;
  /** Returns the template of a definition's variables; null if unknown. */
  templateOfDefinition(os: OperatingSystem): string | null;
}

/**
 * Templates in sushy-tools' settings `SECURE_BOOT_ENABLED_NVRAM` and `SECURE_BOOT_DISABLED_NVRAM`.
 */
export interface SecureBootTemplates {
  readonly enabled: string | null;
  readonly disabled: string | null;
}

const descriptorSchema = z.object({
  'interface-types': z.array(z.string()),
  mapping: z.object({
    device: z.string(),
    executable: z.object({ filename: z.string() }).optional(),
    'nvram-template': z.object({ filename: z.string() }).optional(),
  }),
  targets: z.array(z.object({ architecture: z.string(), machines: z.array(z.string()) })),
  features: z.array(z.string()),
});

/** The folders of QEMU's descriptors. As in libvirt, the first has precedence for files with the same name. */
const directories = ['/etc/qemu/firmware', '/usr/share/qemu/firmware'];

/**
 * Reads the descriptors in the order of libvirt. Skips a file that is unreadable, or not a descriptor
 * of UEFI firmware in flash memory.
 */
export async function readFirmwareImages(from: readonly string[] = directories): Promise<readonly FirmwareImage[]> {
  const files = new Map<string, string>();
  for (const directory of from.toReversed()) {
    // A folder may be missing: not each host has both.
    const names = await readdir(directory).catch(() => []);
    for (const name of names.filter((candidate) => candidate.endsWith('.json'))) files.set(name, join(directory, name));
  }
  const images: FirmwareImage[] = [];
  for (const [, path] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const image = await readDescriptor(path);
    if (image !== null) images.push(image);
  }
  return images;
}

async function readDescriptor(path: string): Promise<FirmwareImage | null> {
  try {
    const { mapping, targets, features, ...rest } = descriptorSchema.parse(JSON.parse(await readFile(path, 'utf8')));
    if (!rest['interface-types'].includes('uefi') || mapping.executable === undefined) return null;
    const template = mapping['nvram-template']?.filename ?? null;
    return { executable: mapping.executable.filename, template, targets, features };
  } catch {
    // An empty file in /etc disables the distribution's descriptor with the same name. libvirt rejects a
    // damaged descriptor too.
    return null;
  }
}

/**
 * Derives the facts from the settings and the descriptors. If neither names a file, its name decides whether
 * it has keys or requires SMM, because distributions follow common naming rules. All other facts about this
 * file are then unknown.
 */
export function firmwareCatalog(images: readonly FirmwareImage[], templates: SecureBootTemplates): FirmwareCatalog {
  const hasKeys = (template: string): boolean | null => {
    if (template === templates.enabled) return true;
    if (template === templates.disabled) return false;
    const described = images.filter((image) => image.template === template);
    if (described.length > 0) return described.some(({ features }) => features.includes('enrolled-keys'));
    const name = basename(template);
    if (/\.(ms|secboot|snakeoil)\.|secboot|enrolled/i.test(name)) return true;
    return /VARS/i.test(name) ? false : null;
  };
  const selected: FirmwareCatalog['selected'] = ({ architecture, machineType, firmwareFeatures }) =>
    images.find(
      ({ targets, features }) =>
        [...firmwareFeatures].every(([name, wanted]) => features.includes(name) === wanted) &&
        targets.some(
          (target) =>
            target.architecture === architecture && target.machines.some((pattern) => matches(pattern, machineType)),
        ),
    ) ?? null;
  return {
    hasKeys,
    requiresSmm: (executable) => {
      const described = images.filter((image) => image.executable === executable);
      if (described.length > 0) return described.some(({ features }) => features.includes('requires-smm'));
      return /CODE.*\.(ms|secboot|snakeoil)\./.test(basename(executable));
    },
    templateOfImage: (executable, { keys }) => {
      const configured = keys ? templates.enabled : templates.disabled;
      if (configured !== null) return configured;
      const fits = images.find((image) => {
        return image.executable === executable && image.template !== null && hasKeys(image.template) === keys;
      });
      return fits?.template ?? null;
    },
    selected,
    templateOfDefinition: (os) => {
      if (os.nvram?.template !== undefined && os.nvram.template !== null) return os.nvram.template;
      if (os.firmware !== null) return selected(os)?.template ?? null;
      const described = images.filter(({ executable }) => executable === os.loader?.path);
      return described[0]?.template ?? null;
    },
  };
}

/** Facts derived from file names only. */
export const catalogOfFileNames: FirmwareCatalog = firmwareCatalog([], { enabled: null, disabled: null });

/** Matches a shell pattern as libvirt does, for example `pc-q35-*`. */
function matches(pattern: string, machineType: string): boolean {
  const expression = pattern
    .replaceAll(/[.+^${}()|\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${expression}$`).test(machineType);
}
