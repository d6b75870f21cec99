/**
 * Selects the firmware of a boot mode and an architecture: EMULATOR_BOOT_LOADER_MAP, checked
 * against the host.
 */
import { basename, dirname, join } from 'node:path';
import type { CallOptions, DomainCapabilitiesQuery } from '@rackless/libvirt';
import { DriverError } from '../../driver-error.js';
import type { FirmwareType } from '../../snapshot/firmware-snapshot.js';
import type { CompleteSnapshot } from '../../snapshot/system-snapshot.js';
import { attempt } from '../failure.js';
import {
  firmwareKnowledge,
  knownByName,
  readFirmwareImages,
  type FirmwareKnowledge,
  type SecureBootTemplates,
} from '../firmware-catalogue.js';
import { localFiles, type HostFiles } from '../host-files.js';
import { readDomain } from '../xml/domain.js';
import type { FirmwareChoice } from '../xml/os/firmware.js';
import { parseXml } from '../xml/parse.js';
import { attribute, child, childElements, textOf } from '../xml/tree.js';
import type { SecureBootMode } from '../../system-change.js';
import type { SecureBootFiles } from '../xml/os/secure-boot.js';

/**
 * Maps the firmware type and the architecture (libvirt's name: `x86_64`) to a firmware file. Null
 * or absent: libvirt selects the firmware.
 */
export type BootLoaderMap = Readonly<Partial<Record<FirmwareType, Readonly<Record<string, string | null>>>>>;

/**
 * Returns the firmware files of a firmware type on this host.
 * @param variables template of the variables for a UEFI image of the map; null: the template that
 *   the name of the image implies.
 * @param files the files of the host. A file that may exist is accepted.
 * @throws {DriverError} invalid, with the architecture and the path, if the mapped file does not
 *   exist.
 */
export async function chooseFirmware(
  map: BootLoaderMap,
  firmware: FirmwareType,
  architecture: string,
  variables: string | null = null,
  files: Pick<HostFiles, 'exists'> = localFiles,
): Promise<FirmwareChoice> {
  const loaderPath = map[firmware]?.[architecture] ?? null;
  if (loaderPath === null) return { loaderPath, nvramTemplate: null };
  if ((await files.exists(loaderPath)) === false) {
    throw new DriverError(
      'invalid',
      `setting the firmware to ${firmware}: the boot loader of ${architecture}, ${loaderPath}, does not exist`,
      { field: 'firmware' },
    );
  }
  if (firmware === 'bios') return { loaderPath, nvramTemplate: null };
  return {
    loaderPath,
    nvramTemplate: variables ?? (await variableStore(loaderPath, files)),
    ...(knownByName.requiresSmm(loaderPath) ? { requiresSmm: true } : {}),
  };
}

/**
 * Returns the empty variable store of a UEFI image. Distributions give both files similar names
 * (`OVMF_CODE_4M.fd`, `OVMF_VARS_4M.fd`). Null if no such file exists: libvirt then finds the store in
 * its firmware descriptors.
 */
async function variableStore(loaderPath: string, files: Pick<HostFiles, 'exists'>): Promise<string | null> {
  const name = basename(loaderPath);
  const candidates = [name, name.replace(/\.secboot/, '')]
    .map((candidate) => candidate.replace(/CODE/, 'VARS').replace(/_EFI/, '_VARS'))
    .filter((candidate) => candidate !== name)
    .map((candidate) => join(dirname(loaderPath), candidate));
  for (const candidate of candidates) if ((await files.exists(candidate)) === true) return candidate;
  return null;
}

/** The part of a connection that returns the capabilities of a host. */
interface CapabilitiesSource {
  getDomainCapabilities(query: DomainCapabilitiesQuery, options: CallOptions): Promise<string>;
}

/** Dependencies of {@link FirmwareChooser}. */
interface FirmwareChooserOptions {
  readonly bootLoaderMap: BootLoaderMap;
  readonly templates: SecureBootTemplates;
  readonly hypervisor: CapabilitiesSource;
  readonly timeoutMs: number;
  readonly files: HostFiles;
  /** Reads the descriptors. Default: {@link readFirmwareImages}. */
  readonly readImages?: typeof readFirmwareImages;
}

/** Selects firmware files, for Secure Boot in particular. */
export class FirmwareChooser {
  readonly #options: FirmwareChooserOptions;
  #knowledge: Promise<FirmwareKnowledge> | undefined;

  constructor(options: FirmwareChooserOptions) {
    this.#options = options;
  }

  /** Forgets the catalog after a new connection, because packages may have been installed. */
  forget(): void {
    this.#knowledge = undefined;
  }

  /** Returns the catalog of this host's firmware. Never rejects. */
  knowledge(): Promise<FirmwareKnowledge> {
    const { readImages = readFirmwareImages, templates, files } = this.#options;
    // The descriptors of this host do not describe another host.
    this.#knowledge ??= (files.areLocal ? readImages() : Promise.resolve([])).then((images) =>
      firmwareKnowledge(images, templates),
    );
    return this.#knowledge;
  }

  /**
   * Checks that the host has firmware with Secure Boot for the machine: in the descriptors, which
   * know about keys, and in the capabilities of libvirt.
   * @param xml the definition of the machine.
   * @throws {DriverError} unsupported, with what is missing.
   */
  async checkSecureBoot({ name, architecture, machineType }: CompleteSnapshot, xml: string): Promise<void> {
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
      // Other architectures need no further check: the capabilities of libvirt report only whether SMM
      // is supported, which only x86 has.
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
   * Returns the files that a definition must name for a mode: an image of the map, or its present
   * image, with variables from the settings or the descriptors. Null: libvirt selects the files.
   * @throws {DriverError} invalid, if a file of the map does not exist.
   */
  async secureBootFiles(
    architecture: string,
    mode: SecureBootMode,
    presentLoader: string | null,
  ): Promise<SecureBootFiles | null> {
    const { bootLoaderMap, templates, files } = this.#options;
    const mapped = (await chooseFirmware(bootLoaderMap, 'efi', architecture, null, files)).loaderPath;
    const keys = mode === 'on';
    const named = keys ? templates.enabled : templates.disabled;
    // If the settings name the variables, a definition with its own image keeps that image.
    const loaderPath = mapped ?? (named === null ? null : presentLoader);
    if (loaderPath === null) return null;
    const knowledge = await this.knowledge();
    const template =
      knowledge.templateOf(loaderPath, { keys }) ?? (keys ? null : await variableStore(loaderPath, files));
    const requiresSmm = knowledge.requiresSmm(loaderPath);
    if (mode === 'off' || (template !== null && requiresSmm)) {
      return template === null ? null : { loaderPath, template, requiresSmm };
    }
    // The image has no Secure Boot, or no template with keys is known: libvirt finds a matching
    // pair.
    return null;
  }
}
