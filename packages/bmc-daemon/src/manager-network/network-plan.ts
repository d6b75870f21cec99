/** Checks a change of a manager's network, before anything changes. */
import type { InterfaceAddress } from '../host/host-addresses.js';
import type { IpNetwork } from '../host/ip-network.js';
import { checkAddress, type Surroundings } from './address-check.js';
import { requestNames, isHostName, type HostNames } from './manager-names.js';
import {
  networkOf,
  withoutMachine,
  type MachineNetwork,
  type ManagerNetworkState,
  type ConfiguredAddress,
} from './network-state.js';

/** All addresses of a manager on one interface, by family. An absent family does not change. */
export interface AddressChange {
  readonly device: string;
  readonly ipv4?: readonly IpNetwork[];
  readonly ipv6?: readonly IpNetwork[];
}

/** A change of a manager's network. Absent members do not change. */
export interface NetworkChange {
  /** Null, or the name of the host, removes the manager's own name. The same applies to `fqdn`. */
  readonly hostName?: string | null;
  readonly fqdn?: string | null;
  readonly addresses?: AddressChange;
  /** Name servers of the whole service; empty: those of the host. */
  readonly nameServers?: readonly string[];
}

/** One fault of a change: the field, and for an address its place in the request. */
export interface NetworkFault {
  readonly field: 'hostName' | 'fqdn' | 'ipv4' | 'ipv6';
  /** For an address: its index in the requested list. */
  readonly index?: number;
  readonly part?: 'address' | 'prefix';
  /**
   * `invalid`: no manager can have the value, or this manager, this host or another host already has it;
   * `taken`: another manager has the value; `unable`: the host rejects the value.
   */
  readonly kind: 'invalid' | 'taken' | 'unable';
  /** A sentence for clients, without its period. */
  readonly why: string;
  /** For `taken`: UUID of the machine whose manager has the value. */
  readonly holder?: string;
}

/** The error for a rejected change; nothing has changed. */
export class NetworkChangeError extends Error {
  override readonly name = 'NetworkChangeError';
  readonly faults: readonly NetworkFault[];

  constructor(faults: readonly NetworkFault[], cause?: unknown) {
    super(`changing the network of a manager: ${faults.map(({ why }) => why).join('; ')}`, { cause });
    this.faults = faults;
  }
}

/** The planned names or addresses. The caller must not apply them if there are faults. */
interface Planned<Part> {
  readonly planned: Part;
  readonly faults: readonly NetworkFault[];
}

/** Returns all names of managers with the UUID of their machine. */
export function indexNames({ machines }: ManagerNetworkState, host: HostNames): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(machines).flatMap(([uuid, own]) => requestNames(own, host).map((name) => [name, uuid])),
  );
}

/** Returns all addresses of managers with the UUID of their machine. */
export function managerAddresses({
  machines,
}: ManagerNetworkState): readonly (ConfiguredAddress & { readonly uuid: string })[] {
  return Object.entries(machines).flatMap(([uuid, own]) => own.addresses.map((one) => ({ ...one, uuid })));
}

/** Plans the names of a manager. A name that another manager has is a fault. */
export function planNames(
  uuid: string,
  change: Pick<NetworkChange, 'hostName' | 'fqdn'>,
  state: ManagerNetworkState,
  host: HostNames,
): Planned<Pick<MachineNetwork, 'hostName' | 'fqdn'>> {
  const before = networkOf(state, uuid);
  const own = (name: string | null): string | null => (name === null || isHostName(name, host) ? null : name);
  const { hostName = before.hostName, fqdn = before.fqdn } = change;
  const planned = { hostName: own(hostName), fqdn: own(fqdn) };
  const taken = indexNames(withoutMachine(state, uuid), host);
  const clash = requestNames(planned, host).find((name) => taken.has(name));
  if (clash === undefined) return { planned, faults: [] };
  // The fault belongs to the name that the client has set. Possibly only another name clashes: the FQDN
  // that the service derives from this host name and the domain of the host.
  const given = (['hostName', 'fqdn'] as const).filter((field) => typeof change[field] === 'string');
  const field = given.find((one) => change[one]?.toLowerCase() === clash) ?? given[0] ?? 'hostName';
  const holder = taken.get(clash);
  const why = `the manager of another machine is called ${clash}`;
  return { planned, faults: [{ field, kind: 'taken', why, ...(holder === undefined ? {} : { holder }) }] };
}

/**
 * Plans the addresses of a manager on all interfaces.
 * @param surroundings called only if there is a new address.
 */
export async function planAddresses(
  uuid: string,
  change: AddressChange,
  state: ManagerNetworkState,
  surroundings: () => Promise<Surroundings>,
): Promise<Planned<readonly ConfiguredAddress[]>> {
  const { device } = change;
  const before = networkOf(state, uuid).addresses;
  const families = (['ipv4', 'ipv6'] as const).filter((family) => change[family] !== undefined);
  const planned = before.filter((one) => one.device !== device || !families.includes(familyOf(one)));
  const faults: NetworkFault[] = [];
  let host: Surroundings | undefined;
  for (const field of families) {
    for (const [index, { address, prefix }] of (change[field] ?? []).entries()) {
      const same = before.find((one) => one.device === device && one.address === address && one.prefix === prefix);
      const wanted = { address, prefix, device };
      const fault = faultOf(uuid, wanted, planned, state);
      if (fault !== undefined) faults.push({ field, index, ...fault });
      else if (same !== undefined) planned.push(same);
      else {
        const verdict = checkAddress(wanted, (host ??= await surroundings()));
        if (typeof verdict === 'number') planned.push({ ...wanted, bits: verdict });
        else faults.push({ field, index, kind: 'invalid', ...verdict });
      }
    }
  }
  return { planned, faults };
}

/** Returns the family of an address and its index in the request; -1 if the request omits it. */
export function placeOf(change: AddressChange, { address }: IpNetwork): Pick<NetworkFault, 'field' | 'index'> {
  const field = familyOf({ address });
  return { field, index: (change[field] ?? []).findIndex((one) => one.address === address) };
}

function faultOf(
  uuid: string,
  { address }: InterfaceAddress,
  planned: readonly ConfiguredAddress[],
  state: ManagerNetworkState,
): Pick<NetworkFault, 'part' | 'kind' | 'why' | 'holder'> | undefined {
  if (planned.some((one) => one.address === address)) {
    return { part: 'address', kind: 'invalid', why: 'this manager already has it' };
  }
  const holder = managerAddresses(state).find((one) => one.address === address && one.uuid !== uuid);
  if (holder === undefined) return undefined;
  return { part: 'address', kind: 'taken', why: 'the manager of another machine has it', holder: holder.uuid };
}

function familyOf({ address }: Pick<IpNetwork, 'address'>): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4';
}
