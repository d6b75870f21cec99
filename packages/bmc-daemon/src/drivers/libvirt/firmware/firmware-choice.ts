/**
 * Selects firmware files: those that EMULATOR_BOOT_LOADER_MAP has for a boot mode and an architecture, and
 * those for Secure Boot. Checks that the host has the mapped image.
 */
import { basename, dirname, join } from 'node:path';
import type { CallOptions, DomainCapabilitiesQuery } from '@rackless/libvirt';
import { DriverError } from '../../driver-error.js';
import type { FirmwareType } from '../../snapshot/firmware-snapshot.js';
import type { CompleteSnapshot } from '../../snapshot/system-snapshot.js';
import { attempt } from '../failure.js';
import {
  firmwareCatalog,
  readFirmwareImages,
  type FirmwareCatalog,
  type SecureBootTemplates,
} from '../firmware-catalog.js';
import { readGuestCapabilities } from '../guest-capabilities.js';
import type { HostFiles } from '../host-files.js';
import { readDomain } from '../xml/domain.js';
import type { FirmwareChoice } from '../xml/os/firmware.js';
import type { SecureBootMode } from '../../system-change.js';
import type { SecureBootFiles } from '../xml/os/secure-boot.js';

/**
 * Maps the firmware type and the architecture (libvirt's name: `x86_64`) to a firmware file. Null
 * or absent: libvirt selects the firmware.
 */
export type BootLoaderMap = Readonly<Partial<Record<FirmwareType, Readonly<Record<string, string | null>>>>>;

/**
 * Returns the template of the variables that is next to a UEFI image. Distributions give both files
 * similar names (`OVMF_CODE_4M.fd`, `OVMF_VARS_4M.fd`). Returns null if no such file exists. Also returns null
 * for another host, whose files are unknown. libvirt then finds the template in its firmware descriptors.
 */
async function templateNextTo(loaderPath: string, files: Pick<HostFiles, 'exists'>): Promise<string | null> {
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
  #catalog: Promise<FirmwareCatalog> | undefined;

  constructor(options: FirmwareChooserOptions) {
    this.#options = options;
  }

  /**
   * Forgets the catalog, so that the next use reads the descriptors again. The driver calls this after each
   * new connection, because packages may have been installed.
   */
  forget(): void {
    this.#catalog = undefined;
  }

  /** Returns the catalog of the host's firmware; for another host, a catalog without descriptors. Never rejects. */
  catalog(): Promise<FirmwareCatalog> {
    const { readImages = readFirmwareImages, templates, files } = this.#options;
    // The descriptors of this host do not describe another host.
    this.#catalog ??= (files.areLocal ? readImages() : Promise.resolve([])).then((images) =>
      firmwareCatalog(images, templates),
    );
    return this.#catalog;
  }

  /**
   * Returns the firmware files of a boot mode. If the map has no image for the architecture, both paths are null, and
   * libvirt selects the files. The template of the variables is the one that the settings name for Secure Boot
   * without keys. Without such a setting, it is the file next to the image.
   * @throws {DriverError} invalid, if the mapped file does not exist.
   */
  async bootModeFiles(firmware: FirmwareType, architecture: string): Promise<FirmwareChoice> {
    const loaderPath = await this.#mappedImage(firmware, architecture);
    if (loaderPath === null || firmware === 'bios') return { loaderPath, nvramTemplate: null };
    const { templates, files } = this.#options;
    return {
      loaderPath,
      nvramTemplate: templates.disabled ?? (await templateNextTo(loaderPath, files)),
      ...((await this.catalog()).requiresSmm(loaderPath) ? { requiresSmm: true } : {}),
    };
  }

  /**
   * Returns the image of the map; null if it has none. An image is rejected only if it is known to be missing.
   * @throws {DriverError} invalid, with the architecture and the path, if the image does not exist.
   */
  async #mappedImage(firmware: FirmwareType, architecture: string): Promise<string | null> {
    const { bootLoaderMap, files } = this.#options;
    const path = bootLoaderMap[firmware]?.[architecture] ?? null;
    if (path === null || (await files.exists(path)) !== false) return path;
    throw new DriverError(
      'invalid',
      `setting the firmware to ${firmware}: the boot loader of ${architecture}, ${path}, does not exist`,
      { field: 'firmware' },
    );
  }

  /**
   * Checks that the host has firmware with Secure Boot for the machine. If the host has descriptors
   * for the machine, one of them must have Secure Boot and enrolled keys, unless the settings name
   * a template with keys. On x86, and on a host without such descriptors, libvirt's capabilities
   * must report firmware with Secure Boot. The capabilities contain nothing about keys.
   * @param xml the definition of the machine.
   * @throws {DriverError} unsupported, with what is missing; another kind, if libvirt does not return its
   *   capabilities.
   */
  async checkSecureBoot(
    { name, architecture, machineType }: Pick<CompleteSnapshot, 'name' | 'architecture' | 'machineType'>,
    xml: string,
  ): Promise<void> {
    const { hypervisor, templates, timeoutMs } = this.#options;
    const doing = `switching on Secure Boot of machine ${name}`;
    const refusal = (what: string): DriverError =>
      new DriverError('unsupported', `${doing}: its host has no ${what} for ${machineType}`, { field: 'secureBoot' });
    const catalog = await this.catalog();
    const imageWith = (...names: readonly string[]) =>
      catalog.selected({
        architecture,
        machineType,
        firmwareFeatures: new Map(names.map((feature) => [feature, true])),
      });
    if (imageWith() !== null) {
      const hasKeys = imageWith('secure-boot', 'enrolled-keys') !== null || templates.enabled !== null;
      if (!hasKeys) throw refusal('firmware with Secure Boot and enrolled keys');
      // libvirt's capabilities report only the support of SMM, which exists only on x86. So other
      // architectures need no further check.
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
    if (readGuestCapabilities(text).hasProtectedVariables) return;
    throw refusal('firmware with Secure Boot');
  }

  /**
   * Returns the files that a definition must name for a mode: the image of the map, or `currentLoader` if the map
   * has none and the settings name a template. The template comes from the settings or from the descriptors; a
   * template without keys may also come from the folder of the image. Returns null if libvirt must select
   * the files: no image or no template is known, or a mode other than `off` needs an image with Secure Boot.
   * @param currentLoader the image that the definition names now; null: it names none.
   * @throws {DriverError} invalid, if a file of the map does not exist.
   */
  async secureBootFiles(
    architecture: string,
    mode: SecureBootMode,
    currentLoader: string | null,
  ): Promise<SecureBootFiles | null> {
    const { templates, files } = this.#options;
    const mapped = await this.#mappedImage('efi', architecture);
    const withKeys = mode === 'on';
    const configuredTemplate = withKeys ? templates.enabled : templates.disabled;
    // If the settings name the template, a definition with its own image keeps that image.
    const loaderPath = mapped ?? (configuredTemplate === null ? null : currentLoader);
    if (loaderPath === null) return null;
    const catalog = await this.catalog();
    const template =
      catalog.templateOfImage(loaderPath, { keys: withKeys }) ??
      (withKeys ? null : await templateNextTo(loaderPath, files));
    const requiresSmm = catalog.requiresSmm(loaderPath);
    if (mode === 'off' || (template !== null && requiresSmm)) {
      return template === null ? null : { loaderPath, template, requiresSmm };
    }
    // The image has no Secure Boot, or no template for the mode is known. So libvirt must select an
    // image and a template that match.
    return null;
  }
}
