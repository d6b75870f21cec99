/** Reads the properties of a host that determine the definitions of its new machines. */
import { attempt } from '../../failure.js';
import { guestCapabilities, MACHINE_TYPES, type GuestCapabilities } from '../../guest-capabilities.js';
import { readCapabilities } from '../../host-capabilities.js';
import { LabError } from '../lab-error.js';
import type { LabHost } from '../lab-host.js';
import type { GuestPlatform, MachineSpec } from '../machine-spec.js';
import { runsWithKvm } from './kvm-test.js';

/** Architectures of hosts on which the definitions are tested. */
const ARCHITECTURES: readonly string[] = ['x86_64', 'aarch64'];

/**
 * Reads the platform, and checks that the host supports the machine.
 * @throws {LabError} if the host lacks QEMU, or the firmware, the TPM, the CPU model or the KVM that the spec requires.
 *   Also if the architecture of the host is not supported. {DriverError} if libvirt fails.
 */
export async function readGuestPlatform(host: LabHost, spec: MachineSpec): Promise<GuestPlatform> {
  const { hypervisor, timeoutMs } = host;
  const options = { timeoutMs };
  const [hostName, text] = await attempt('reading the capabilities of the host', () =>
    Promise.all([hypervisor.getHostname(options), hypervisor.getCapabilities(options)]),
  );
  const { architecture } = readCapabilities(text);
  const machineType = MACHINE_TYPES[architecture];
  if (machineType === undefined || !ARCHITECTURES.includes(architecture))
    throw new LabError([`the architecture of the host, ${architecture}, is not supported`]);
  const guests = (virtType: 'kvm' | 'qemu') =>
    attempt(`reading the capabilities of ${virtType} guests`, () =>
      guestCapabilities(hypervisor, { arch: architecture, machine: machineType, virtType }, timeoutMs),
    );
  const kvm = spec.emulate === true ? null : await guests('kvm');
  if (spec.emulate === false && kvm === null) throw new LabError(['the host has no KVM: use --emulate']);
  // The test needs a BIOS on the serial port, which only x86 has. On other architectures, libvirt's answer
  // decides.
  const isKvmBroken =
    kvm !== null && spec.emulate === null && architecture === 'x86_64' && !(await runsWithKvm(hypervisor, timeoutMs));
  const usesKvm = kvm !== null && !isKvmBroken;
  const kind = usesKvm ? kvm : await guests('qemu');
  if (kind === null) throw new LabError([`the host has no QEMU for ${architecture} guests: install qemu-system`]);
  const problems = [
    ...firmwareProblems(kind, spec, architecture),
    ...tpmProblems(kind, spec),
    ...cpuProblems(kind, spec),
  ];
  if (problems.length > 0) throw new LabError(problems);
  const cpuMode = ['host-passthrough', 'maximum', 'host-model'].find((mode) => kind.cpuModes.includes(mode));
  return {
    hostName,
    architecture,
    machineType: kind.machineType ?? machineType,
    domainType: usesKvm ? 'kvm' : 'qemu',
    isKvmBroken,
    cpuMode: cpuMode ?? 'host-model',
  };
}

function firmwareProblems(kind: GuestCapabilities, { firmware }: MachineSpec, architecture: string): readonly string[] {
  if (firmware === 'bios') {
    return architecture === 'x86_64' ? [] : [`${architecture} machines have no BIOS: omit --bios`];
  }
  if (kind.firmware.includes('efi')) return [];
  const instead = architecture === 'x86_64' ? ', or use --bios' : '';
  return [`the host has no UEFI firmware: install ovmf (Debian, Ubuntu) or edk2-ovmf (Fedora)${instead}`];
}

function tpmProblems({ hasEmulatedTpm }: GuestCapabilities, { tpm }: MachineSpec): readonly string[] {
  return !tpm || hasEmulatedTpm ? [] : ['the host has no emulated TPM: install swtpm, or omit --tpm'];
}

function cpuProblems({ cpuModels }: GuestCapabilities, { cpuModel }: MachineSpec): readonly string[] {
  if (cpuModel === null || cpuModels.includes(cpuModel)) return [];
  return [`the host has no CPU model ${cpuModel}; it has ${cpuModels.join(', ')}`];
}
