/** Facts about a host that decide how its new machines look. */
import { isLibvirtError, type Hypervisor } from '@rackless/libvirt';
import { attempt, driverError } from '../failure.js';
import { parseXml } from '../xml/parse.js';
import { attribute, child, childElements, textOf, type XmlElement } from '../xml/tree.js';
import { LabError } from './lab-error.js';
import type { LabHost } from './lab-host.js';
import { runsWithKvm } from './kvm-test.js';
import type { HostFacts, MachineSpec } from './machine-spec.js';

/** Machine types by architecture, in libvirt's names. */
const MACHINE_TYPES: Readonly<Record<string, string>> = { x86_64: 'q35', aarch64: 'virt' };

/**
 * Reads the facts, and checks that the host supports the machine.
 * @throws {LabError} with everything that is missing; DriverError unavailable.
 */
export async function readHostFacts(host: LabHost, spec: MachineSpec): Promise<HostFacts> {
  const { hypervisor, timeoutMs } = host;
  const options = { timeoutMs };
  const [hostName, text] = await attempt('reading the capabilities of the host', () =>
    Promise.all([hypervisor.getHostname(options), hypervisor.getCapabilities(options)]),
  );
  const architecture = textOf(child(parseXml(text).root, 'host', 'cpu', 'arch')) ?? '';
  const machineType = MACHINE_TYPES[architecture];
  if (machineType === undefined)
    throw new LabError([`the architecture of the host, ${architecture}, is not supported`]);
  const guests = { hypervisor, architecture, machineType, timeoutMs };
  const kvm = spec.emulate === true ? null : await readGuestKind(guests, 'kvm');
  if (spec.emulate === false && kvm === null) throw new LabError(['the host has no KVM: use --emulate']);
  // Guests of other architectures start no BIOS on the serial port, so libvirt's answer decides.
  const isKvmBroken =
    kvm !== null && spec.emulate === null && architecture === 'x86_64' && !(await runsWithKvm(hypervisor, timeoutMs));
  const usesKvm = kvm !== null && !isKvmBroken;
  const kind = usesKvm ? kvm : await readGuestKind(guests, 'qemu');
  if (kind === null) throw new LabError([`the host has no QEMU for ${architecture} guests: install qemu-system`]);
  const problems = [
    ...firmwareProblems(kind, spec, architecture),
    ...tpmProblems(kind, spec),
    ...cpuProblems(kind, spec),
  ];
  if (problems.length > 0) throw new LabError(problems);
  const cpuMode = ['host-passthrough', 'maximum', 'host-model'].find((mode) => supportsCpuMode(kind, mode));
  return {
    hostName,
    architecture,
    machineType: textOf(child(kind, 'machine')) ?? machineType,
    domainType: usesKvm ? 'kvm' : 'qemu',
    isKvmBroken,
    cpuMode: cpuMode ?? 'host-model',
  };
}

interface Guests {
  readonly hypervisor: Hypervisor;
  readonly architecture: string;
  readonly machineType: string;
  readonly timeoutMs: number;
}

/** Returns `<domainCapabilities>`; null if the host does not have this type of guests. */
async function readGuestKind(
  { hypervisor, architecture, machineType, timeoutMs }: Guests,
  virtType: 'kvm' | 'qemu',
): Promise<XmlElement | null> {
  const query = { arch: architecture, machine: machineType, virtType };
  try {
    return parseXml(await hypervisor.getDomainCapabilities(query, { timeoutMs })).root;
  } catch (error) {
    if (isLibvirtError(error, 'INVALID_ARG', 'CONFIG_UNSUPPORTED')) return null;
    throw driverError(`reading the capabilities of ${virtType} guests`, error);
  }
}

function firmwareProblems(kind: XmlElement, { firmware }: MachineSpec, architecture: string): readonly string[] {
  if (firmware === 'bios') {
    return architecture === 'x86_64' ? [] : [`${architecture} machines have no BIOS: omit --bios`];
  }
  if (enumValues(child(kind, 'os'), 'firmware').includes('efi')) return [];
  const instead = architecture === 'x86_64' ? ', or use --bios' : '';
  return [`the host has no UEFI firmware: install ovmf (Debian, Ubuntu) or edk2-ovmf (Fedora)${instead}`];
}

function tpmProblems(kind: XmlElement, { tpm }: MachineSpec): readonly string[] {
  if (!tpm || enumValues(child(kind, 'devices', 'tpm'), 'backendModel').includes('emulator')) return [];
  return ['the host has no emulated TPM: install swtpm, or omit --tpm'];
}

function cpuProblems(kind: XmlElement, { cpuModel }: MachineSpec): readonly string[] {
  if (cpuModel === null) return [];
  const custom = childElements(child(kind, 'cpu'), 'mode').find((mode) => attribute(mode, 'name') === 'custom');
  const usable = childElements(custom, 'model').filter((model) => attribute(model, 'usable') !== 'no');
  const names = usable.flatMap((model) => textOf(model) ?? []);
  if (names.includes(cpuModel)) return [];
  return [`the host has no CPU model ${cpuModel}; it has ${names.join(', ')}`];
}

function supportsCpuMode(kind: XmlElement, name: string): boolean {
  const modes = childElements(child(kind, 'cpu'), 'mode');
  return modes.some((mode) => attribute(mode, 'name') === name && attribute(mode, 'supported') === 'yes');
}

function enumValues(parent: XmlElement | undefined, name: string): readonly string[] {
  const found = childElements(parent, 'enum').find((candidate) => attribute(candidate, 'name') === name);
  return childElements(found, 'value').flatMap((value) => textOf(value) ?? []);
}
