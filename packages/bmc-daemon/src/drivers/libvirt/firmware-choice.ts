/** Which firmware a boot mode means on an architecture: EMULATOR_BOOT_LOADER_MAP, checked against the host. */
import { access } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { CallOptions, DomainCapabilitiesQuery } from '@rackless/libvirt';
import { DriverError, type FirmwareType, type SystemSnapshot } from '../driver.js';
import { attempt } from './failure.js';
import {
  firmwareKnowledge,
  knownByName,
  readFirmwareImages,
  type FirmwareKnowledge,
  type SecureBootTemplates,
} from './firmware-catalogue.js';
import { readDomain } from './xml/domain.js';
import type { FirmwareChoice } from './xml/firmware.js';
import { child, childElements, attribute, parseXml, textOf } from './xml/parse.js';
import type { SecureBootMode } from '../system-change.js';
import type { SecureBootFiles } from './xml/secure-boot.js';

/** Kind of firmware to architecture (libvirt's name: `x86_64`) to a firmware file; null, or nothing: libvirt selects the firmware. */
export type BootLoaderMap = Readonly<Partial<Record<FirmwareType, Readonly<Record<string, string | null>>>>>;

/**
 * The files that a kind of firmware means on this host.
 * @param variables master copy of the variables for a UEFI image of the map; null: the one that its name goes with.
 * @throws {DriverError} invalid, naming architecture and path, where the mapped file does not exist. */
export async function chooseFirmware(
  map: BootLoaderMap,
  firmware: FirmwareType,
  architecture: string,
  variables: string | null = null,
): Promise<FirmwareChoice> {
  const loaderPath = map[firmware]?.[architecture] ?? null;
  if (loaderPath === null) return { loaderPath, nvramTemplate: null };
  if (!(await exists(loaderPath))) {
    throw new DriverError(
      'invalid',
      `setting the firmware to ${firmware}: the boot loader of ${architecture}, ${loaderPath}, does not exist`,
      { field: 'firmware' },
    );
  }
  if (firmware === 'bios') return { loaderPath, nvramTemplate: null };
  return {
    loaderPath,
    nvramTemplate: variables ?? (await variableStore(loaderPath)),
    ...(knownByName.requiresSmm(loaderPath) ? { requiresSmm: true } : {}),
  };
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

/** The part of a connection that tells what a host can run. */
interface CapabilitiesSource {
  getDomainCapabilities(query: DomainCapabilitiesQuery, options: CallOptions): Promise<string>;
}

/** What decides which files a machine's firmware is. */
export interface FirmwareChooserOptions {
  readonly bootLoaderMap: BootLoaderMap;
  readonly templates: SecureBootTemplates;
  readonly hypervisor: CapabilitiesSource;
  readonly timeoutMs: number;
  /** How descriptors are read. Default: {@link readFirmwareImages}. */
  readonly readImages?: typeof readFirmwareImages;
}

/** What the host has for Secure Boot. */
export class FirmwareChooser {
  readonly #options: FirmwareChooserOptions;
  #knowledge: Promise<FirmwareKnowledge> | undefined;

  constructor(options: FirmwareChooserOptions) {
    this.#options = options;
  }

  /** After a new connection: packages may have been installed. */
  forget(): void {
    this.#knowledge = undefined;
  }

  /** Of this host's files. Never rejects. */
  knowledge(): Promise<FirmwareKnowledge> {
    const { readImages = readFirmwareImages, templates } = this.#options;
    this.#knowledge ??= readImages().then((images) => firmwareKnowledge(images, templates));
    return this.#knowledge;
  }

  /**
   * Looks for firmware with Secure Boot for the machine: among the descriptors, which know of keys, as far as they can be read here,
   * and in what libvirt says of the host.
   * @param xml its definition.
   * @throws {DriverError} unsupported, saying what is missing.
   */
  async checkSecureBoot({ name, architecture, machineType }: SystemSnapshot, xml: string): Promise<void> {
    const { hypervisor, templates, timeoutMs } = this.#options;
    const doing = `switching Secure Boot of machine ${name} on`;
    const refusal = (what: string): DriverError =>
      new DriverError('unsupported', `${doing}: its host has no ${what} for ${machineType}`, { field: 'secureBoot' });
    const knowledge = await this.knowledge();
    const withFeatures = (...names: readonly string[]) =>
      knowledge.selected({
        architecture,
        machineType,
        firmwareFeatures: new Map(names.map((feature) => [feature, true])),
      });
    if (withFeatures() !== null) {
      const keys = withFeatures('secure-boot', 'enrolled-keys') !== null || templates.enabled !== null;
      if (!keys) throw refusal("firmware with Secure Boot and its vendor's keys");
      // What libvirt tells is about SMM, which other processors have not.
      if (!/^(x86_64|i686)$/.test(architecture)) return;
    }
    const { type, emulator } = readDomain(xml);
    const query = { arch: architecture, machine: machineType, virtType: type };
    const text = await attempt(doing, () =>
      hypervisor.getDomainCapabilities(
        { ...query, ...(emulator === null ? {} : { emulatorBinary: emulator }) },
        { timeoutMs },
      ),
    );
    const loader = child(parseXml(text).root, 'os', 'loader');
    const secure = childElements(loader, 'enum').find((candidate) => attribute(candidate, 'name') === 'secure');
    if (childElements(secure, 'value').some((value) => textOf(value) === 'yes')) return;
    throw refusal('firmware with Secure Boot');
  }

  /**
   * The files that a definition is to name for a mode, where it should: an image of the map, or the one that it names already, with
   * the variables of the settings or of the descriptors. Null: libvirt selects them.
   * @throws {DriverError} invalid, where a file of the map does not exist.
   */
  async secureBootFiles(
    architecture: string,
    mode: SecureBootMode,
    presentLoader: string | null,
  ): Promise<SecureBootFiles | null> {
    const { bootLoaderMap, templates } = this.#options;
    const mapped = (await chooseFirmware(bootLoaderMap, 'efi', architecture)).loaderPath;
    const keys = mode === 'on';
    const named = keys ? templates.enabled : templates.disabled;
    // A definition that names its files goes on doing so where the settings say which ones they are.
    const loaderPath = mapped ?? (named === null ? null : presentLoader);
    if (loaderPath === null) return null;
    const knowledge = await this.knowledge();
    const template = knowledge.templateOf(loaderPath, { keys }) ?? (keys ? null : await variableStore(loaderPath));
    const requiresSmm = knowledge.requiresSmm(loaderPath);
    if (mode === 'off' || (template !== null && requiresSmm)) {
      return template === null ? null : { loaderPath, template, requiresSmm };
    }
    // The image has no Secure Boot, or nobody has told which variables have keys: libvirt finds a pair that belongs together.
    return null;
  }
}
