/** Facts about a machine that enrollment needs, read from its resources. */
import { readMembers } from '../redfish/collection.js';
import { flagAt, linkAt, linksAt, textAt, type Resource } from '../redfish/resource.js';
import { bootOf } from './boot.js';
import { managersOf, summaryOf, type Machine, type MachineSummary } from './machine.js';

/** A network interface. */
interface InterfaceFacts {
  readonly name: string | undefined;
  /** Lower case, with colons. */
  readonly mac: string;
  /** Undefined: the service does not report it. */
  readonly linkUp: boolean | undefined;
}

/** Facts about a machine. */
export interface MachineFacts extends MachineSummary {
  /** `x86_64`, `aarch64`, …; undefined if the service does not report it. */
  readonly architecture: string | undefined;
  /** Undefined: the service does not report it. */
  readonly bootMode: 'uefi' | 'legacy' | undefined;
  readonly secureBoot: boolean | undefined;
  readonly virtualMedia: boolean;
  /** The interfaces with a valid MAC address, each address once. Those with a link come first. */
  readonly interfaces: readonly InterfaceFacts[];
  /** The address of the BMC, such as `https://192.0.2.1:8000`. */
  readonly bmc: string;
  /** URIs of the managers. */
  readonly managers: readonly string[];
}

/** Reads the facts about a machine. @throws {CommandFailure} */
export async function readFacts(machine: Machine): Promise<MachineFacts> {
  const { service, resource } = machine;
  const managers = managersOf(machine);
  const secureBoot = linkAt(resource, 'SecureBoot');
  const enabled = secureBoot === undefined ? undefined : await service.find(secureBoot);
  return {
    ...summaryOf(machine),
    architecture: await readArchitecture(machine),
    bootMode: bootModeOf(machine),
    secureBoot: flagAt(enabled, 'SecureBootEnable'),
    virtualMedia: await hasVirtualMedia(machine, managers),
    interfaces: await readInterfaces(machine),
    bmc: service.origin.origin,
    managers,
  };
}

function bootModeOf(machine: Machine): MachineFacts['bootMode'] {
  const { mode } = bootOf(machine);
  if (mode === undefined) return undefined;
  return mode === 'UEFI' ? 'uefi' : 'legacy';
}

async function hasVirtualMedia({ service, resource }: Machine, managers: readonly string[]): Promise<boolean> {
  if (linkAt(resource, 'VirtualMedia') !== undefined) return true;
  for (const uri of managers) if (linkAt(await service.find(uri), 'VirtualMedia') !== undefined) return true;
  return false;
}

/** The Linux kernel's names of Redfish's instruction sets. */
const architectures: Readonly<Record<string, string>> = {
  'x86-64': 'x86_64',
  x86: 'i686',
  'ARM-A64': 'aarch64',
  'ARM-A32': 'armv7l',
  PowerISA: 'ppc64le',
  RV64: 'riscv64',
};

async function readArchitecture({ service, resource }: Machine): Promise<string | undefined> {
  const collection = linkAt(resource, 'Processors');
  if (collection === undefined) return undefined;
  // All processors of a machine have the same architecture, so one read is enough.
  const [first] = linksAt(await service.find(collection), 'Members');
  const processor = first === undefined ? undefined : await service.find(first);
  const set = textAt(processor, 'InstructionSet');
  if (set !== undefined) return architectures[set] ?? set.toLowerCase();
  return textAt(processor, 'ProcessorArchitecture') === 'x86' ? 'x86_64' : undefined;
}

async function readInterfaces({ service, resource }: Machine): Promise<readonly InterfaceFacts[]> {
  const collection = linkAt(resource, 'EthernetInterfaces');
  if (collection === undefined || (await service.find(collection)) === undefined) return [];
  const interfaces = (await readMembers(service, collection)).flatMap(interfaceOf);
  const unique = interfaces.filter(({ mac }, index) => interfaces.findIndex((each) => each.mac === mac) === index);
  return [...unique].sort((a, b) => Number(b.linkUp ?? false) - Number(a.linkUp ?? false));
}

function interfaceOf(resource: Resource): InterfaceFacts[] {
  const mac = (textAt(resource, 'PermanentMACAddress') ?? textAt(resource, 'MACAddress') ?? '')
    .toLowerCase()
    .replaceAll('-', ':');
  if (!/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(mac) || mac === '00:00:00:00:00:00') return [];
  const link = textAt(resource, 'LinkStatus');
  return [{ name: textAt(resource, 'Id'), mac, linkUp: link === undefined ? undefined : link === 'LinkUp' }];
}
