/**
 * What the firmware files of this host are, by QEMU's descriptors: which image can do Secure Boot, which variables have keys in
 * them, which image libvirt selects by itself. A host whose files this daemon does not see has an empty one; then names decide.
 * @see https://gitlab.com/qemu-project/qemu/-/blob/master/docs/interop/firmware.json
 */
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import type { OperatingSystem } from './xml/domain.js';

/** One descriptor, of UEFI firmware in flash memory. */
export interface FirmwareImage {
  /** `/usr/share/OVMF/OVMF_CODE_4M.ms.fd`. */
  readonly executable: string;
  /** Master copy of its variables; null: none of its own. */
  readonly template: string | null;
  readonly targets: readonly { readonly architecture: string; readonly machines: readonly string[] }[];
  /** `secure-boot`, `enrolled-keys`, `requires-smm`. */
  readonly features: readonly string[];
}

/** What a definition leaves open about firmware. */
export interface FirmwareKnowledge {
  /** Whether the variables of this master copy have keys in them; null: it can not be told. */
  hasKeys(template: string): boolean | null;
  /** Whether the image needs SMM, as those do that protect their variables from the guest's system. */
  requiresSmm(executable: string): boolean;
  /** Master copies that go with the image, those with keys and those without; null: none that is known. */
  templateOf(executable: string, options: { readonly keys: boolean }): string | null;
  /** What libvirt takes for a definition that leaves the choice to it; null: not known. */
  selected(os: Pick<OperatingSystem, 'architecture' | 'machineType' | 'firmwareFeatures'>): FirmwareImage | null;
  /** The master copy that the variables of a definition are made of; null: not known. */
  templateFor(os: OperatingSystem): string | null;
}

/** Settings of sushy-tools that name the variables: `SECURE_BOOT_ENABLED_NVRAM`, `SECURE_BOOT_DISABLED_NVRAM`. */
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

/** Where libvirt looks, the first having precedence for a file of the same name. */
const directories = ['/etc/qemu/firmware', '/usr/share/qemu/firmware'];

/** Reads the descriptors, in libvirt's order. What can not be read, or is none, is left out. */
export async function readFirmwareImages(from: readonly string[] = directories): Promise<readonly FirmwareImage[]> {
  const files = new Map<string, string>();
  for (const directory of from.toReversed()) {
    // A host without QEMU's descriptors, or in another place.
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
    // An empty file switches a descriptor of the distribution off; one that is broken libvirt does not take either.
    return null;
  }
}

/** What the descriptors and the settings say; where both are silent, what distributions name their files. */
export function firmwareKnowledge(images: readonly FirmwareImage[], templates: SecureBootTemplates): FirmwareKnowledge {
  const hasKeys = (template: string): boolean | null => {
    if (template === templates.enabled) return true;
    if (template === templates.disabled) return false;
    const described = images.filter((image) => image.template === template);
    if (described.length > 0) return described.some(({ features }) => features.includes('enrolled-keys'));
    const name = basename(template);
    if (/\.(ms|secboot|snakeoil)\.|secboot|enrolled/i.test(name)) return true;
    return /VARS/i.test(name) ? false : null;
  };
  const selected: FirmwareKnowledge['selected'] = ({ architecture, machineType, firmwareFeatures }) =>
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
    templateOf: (executable, { keys }) => {
      const set = keys ? templates.enabled : templates.disabled;
      if (set !== null) return set;
      const fits = images.find((image) => {
        return image.executable === executable && image.template !== null && hasKeys(image.template) === keys;
      });
      return fits?.template ?? null;
    },
    selected,
    templateFor: (os) => {
      if (os.nvram?.template !== undefined && os.nvram.template !== null) return os.nvram.template;
      if (os.firmware !== null) return selected(os)?.template ?? null;
      const described = images.filter(({ executable }) => executable === os.loader?.path);
      return described[0]?.template ?? null;
    },
  };
}

/** What is known where no descriptor can be read. */
export const knownByName: FirmwareKnowledge = firmwareKnowledge([], { enabled: null, disabled: null });

/** Shell patterns as libvirt reads them: `pc-q35-*`. */
function matches(pattern: string, machineType: string): boolean {
  const expression = pattern
    .replaceAll(/[.+^${}()|\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${expression}$`).test(machineType);
}
