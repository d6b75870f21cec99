/** libvirt's capabilities for one kind of guests: `<domainCapabilities>`. */
import { isLibvirtError, type DomainCapabilitiesQuery, type Hypervisor } from '@rackless/libvirt';
import { parseXml } from './xml/parse.js';
import { attribute, child, childElements, textOf, type XmlElement } from './xml/tree.js';

/** The facts that the service uses. */
export interface GuestCapabilities {
  /** Type of the machine with its version: `pc-q35-7.2`; null if libvirt reports none. */
  readonly machineType: string | null;
  /** Firmware that libvirt selects by itself: `bios`, `efi`. */
  readonly firmware: readonly string[];
  /** Whether UEFI firmware can protect its variables from the guest, which Secure Boot needs on x86. */
  readonly hasProtectedVariables: boolean;
  /** Whether libvirt finds swtpm. */
  readonly hasEmulatedTpm: boolean;
  /** Supported modes of `<cpu>`: `host-passthrough`, `maximum`, `host-model`, `custom`. */
  readonly cpuModes: readonly string[];
  /** CPU models, except those that libvirt reports as not usable on the host. */
  readonly cpuModels: readonly string[];
}

/** The parameters that select a kind of guests. */
type GuestKind = Pick<DomainCapabilitiesQuery, 'arch' | 'machine' | 'virtType' | 'emulatorBinary'>;

/** The machine type to query, by architecture. Secure Boot on x86 needs q35, which is not the default type. */
export const MACHINE_TYPES: Readonly<Record<string, string>> = {
  x86_64: 'q35',
  i686: 'q35',
  aarch64: 'virt',
  riscv64: 'virt',
};

/**
 * Reads the capabilities; null if the host does not support this kind of guests.
 * @throws {LibvirtError} for every other error, for example if libvirt does not answer.
 */
export async function guestCapabilities(
  hypervisor: Pick<Hypervisor, 'getDomainCapabilities'>,
  kind: GuestKind,
  timeoutMs: number,
): Promise<GuestCapabilities | null> {
  try {
    return readGuestCapabilities(await hypervisor.getDomainCapabilities(kind, { timeoutMs }));
  } catch (error) {
    if (isLibvirtError(error, 'NO_SUPPORT', 'INVALID_ARG', 'CONFIG_UNSUPPORTED')) return null;
    throw error;
  }
}

/**
 * Reads the answer of `virConnectGetDomainCapabilities`.
 * @throws {DriverError} internal, if it is not well-formed.
 */
export function readGuestCapabilities(xml: string): GuestCapabilities {
  const { root } = parseXml(xml);
  const os = child(root, 'os');
  const modes = childElements(child(root, 'cpu'), 'mode').filter((mode) => attribute(mode, 'supported') === 'yes');
  const custom = modes.find((mode) => attribute(mode, 'name') === 'custom');
  return {
    machineType: textOf(child(root, 'machine')),
    firmware: enumValues(os, 'firmware'),
    hasProtectedVariables: enumValues(child(os, 'loader'), 'secure').includes('yes'),
    hasEmulatedTpm: enumValues(child(root, 'devices', 'tpm'), 'backendModel').includes('emulator'),
    cpuModes: modes.flatMap((mode) => attribute(mode, 'name') ?? []),
    cpuModels: childElements(custom, 'model')
      .filter((model) => attribute(model, 'usable') !== 'no')
      .flatMap((model) => textOf(model) ?? []),
  };
}

function enumValues(parent: XmlElement | undefined, name: string): readonly string[] {
  const found = childElements(parent, 'enum').find((candidate) => attribute(candidate, 'name') === name);
  return childElements(found, 'value').flatMap((value) => textOf(value) ?? []);
}
