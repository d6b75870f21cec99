/** Examines whether machines of a host can use UEFI and Secure Boot. */
import { existsSync } from 'node:fs';
import type { Hypervisor } from '@rackless/libvirt';
import { commandLine } from '../../../findings/commands.js';
import { problem, warning, type Finding } from '../../../findings/finding.js';
import { readFirmwareImages, type FirmwareImage, type SecureBootTemplates } from '../firmware-catalog.js';
import { guestCapabilities, MACHINE_TYPES } from '../guest-capabilities.js';
import type { HostCapabilities } from '../host-capabilities.js';
import type { ExaminedHost } from './examined-host.js';

const SUBJECT = 'firmware';

/** Files and capabilities that decide about firmware. */
interface FirmwareOptions {
  readonly capabilities: HostCapabilities;
  /** EMULATOR_SECURE_BOOT_ENABLED_NVRAM and EMULATOR_SECURE_BOOT_DISABLED_NVRAM. */
  readonly templates: SecureBootTemplates;
  /** Reads the descriptors of this host. Default: {@link readFirmwareImages}. */
  readonly readImages?: typeof readFirmwareImages;
}

/**
 * Asks libvirt for its firmware, and checks that the files of this host's firmware descriptors exist. For a host
 * without QEMU, returns no findings.
 * @throws {LibvirtError} if libvirt does not answer, or answers with an unexpected error.
 */
export async function examineFirmware(
  hypervisor: Pick<Hypervisor, 'getDomainCapabilities'>,
  host: ExaminedHost,
  { capabilities, templates, readImages = readFirmwareImages }: FirmwareOptions,
): Promise<readonly Finding[]> {
  const { architecture, emulator } = capabilities;
  if (emulator === null) return [];
  const offered = await offeredFirmware(hypervisor, host, capabilities);
  if (offered === null) return [];
  const install = firmwareInstallCommand(architecture, host);
  const images = host.isLocal ? await readImages() : [];
  const usable = images.filter(({ targets }) => targets.some((target) => target.architecture === architecture));
  const missing = host.isLocal ? missingFiles(usable, firmwareInstallCommand(architecture, host, { again: true })) : [];
  if (!offered.hasUefi) {
    const message = `libvirt finds no UEFI firmware for ${architecture}, so clients cannot select the boot mode UEFI.`;
    return [...missing, ...missingTemplates(host, templates), warning(SUBJECT, message, install)];
  }
  // Without descriptors, it is unknown whether a firmware has enrolled keys. So missing keys are not reported then.
  const mayHaveKeys =
    usable.length === 0 ||
    templates.enabled !== null ||
    usable.some(({ features }) => features.includes('secure-boot') && features.includes('enrolled-keys'));
  const lacks = !offered.hasSecureBoot ? 'Secure Boot' : mayHaveKeys ? null : 'Secure Boot with enrolled keys';
  const message = `No UEFI firmware has ${lacks ?? ''}, so clients cannot enable Secure Boot.`;
  return [
    ...missing,
    ...missingTemplates(host, templates),
    ...(lacks === null ? [] : [warning(SUBJECT, message, install)]),
  ];
}

/**
 * Returns which firmware libvirt offers; null if its hypervisor driver, such as the test driver, reports none.
 * @throws {LibvirtError} for every other error, for example if libvirt does not answer.
 */
async function offeredFirmware(
  hypervisor: Pick<Hypervisor, 'getDomainCapabilities'>,
  { timeoutMs }: ExaminedHost,
  { architecture, hasKvm }: HostCapabilities,
): Promise<{ readonly hasUefi: boolean; readonly hasSecureBoot: boolean } | null> {
  const machine = MACHINE_TYPES[architecture];
  const kind = { arch: architecture, virtType: hasKvm ? 'kvm' : 'qemu', ...(machine === undefined ? {} : { machine }) };
  const found = await guestCapabilities(hypervisor, kind, timeoutMs);
  if (found === null) return null;
  return {
    hasUefi: found.firmware.includes('efi'),
    // libvirt reports only whether SMM protects the UEFI variables. Only q35 has SMM, so this report
    // says nothing about Secure Boot of other machine types.
    hasSecureBoot: machine !== 'q35' || found.hasProtectedVariables,
  };
}

/**
 * Returns a finding for each missing file. libvirt selects a descriptor without a check of its files, so the
 * start of a machine then fails.
 */
function missingFiles(images: readonly FirmwareImage[], install: string): readonly Finding[] {
  const files = images.flatMap(({ executable, template }) => [executable, ...(template === null ? [] : [template])]);
  return [...new Set(files)]
    .filter((file) => !existsSync(file))
    .map((file) => {
      const message = `QEMU's firmware descriptors name ${file}, which does not exist, so machines with UEFI cannot start.`;
      return problem(SUBJECT, message, install);
    });
}

function missingTemplates(host: ExaminedHost, templates: SecureBootTemplates): readonly Finding[] {
  if (!host.isLocal) return [];
  const settings = [
    ['EMULATOR_SECURE_BOOT_ENABLED_NVRAM', templates.enabled],
    ['EMULATOR_SECURE_BOOT_DISABLED_NVRAM', templates.disabled],
  ] as const;
  return settings.flatMap(([name, file]) => {
    if (file === null || existsSync(file)) return [];
    const message = `${name} names ${file}, which does not exist, so clients cannot change Secure Boot.`;
    return [problem(SUBJECT, message, commandLine('ls', '/usr/share/OVMF'))];
  });
}

/** @param options.again the command reinstalls the package, because its files are missing. */
function firmwareInstallCommand(architecture: string, host: ExaminedHost, { again = false } = {}): string {
  const isArm = architecture === 'aarch64';
  const names = isArm
    ? { debian: 'qemu-efi-aarch64', fedora: 'edk2-aarch64', suse: 'qemu-uefi-aarch64', arch: 'edk2-aarch64' }
    : { debian: 'ovmf', fedora: 'edk2-ovmf', suse: 'qemu-ovmf-x86_64', arch: 'edk2-ovmf' };
  return host.install(names, { again });
}
