/** What a client wants of the network of a machine's manager, and whether it can be had: worked out before anything is done. */
import type { DeviceAddress } from '../host-addresses.js';
import type { IpNetwork } from '../ip-network.js';
import { checkAddress, type Surroundings } from './address-check.js';
import { answeredNames, isHostName, type HostNames } from './manager-names.js';
import {
  networkOf,
  withoutMachine,
  type MachineNetwork,
  type ManagerNetworkState,
  type ManagerAddress,
} from './network-state.js';

/** All own addresses of a manager on one interface, by family; a family that is absent stays as it is. */
export interface AddressChange {
  readonly device: string;
  readonly ipv4?: readonly IpNetwork[];
  readonly ipv6?: readonly IpNetwork[];
}

/** What to make of the network of a manager; absent members stay as they are. */
export interface NetworkChange {
  /** Null, or the host's name: none of its own. */
  readonly hostName?: string | null;
  readonly fqdn?: string | null;
  readonly addresses?: AddressChange;
  /** Of the whole service; empty: the host's. */
  readonly nameServers?: readonly string[];
}

/** One thing that is wrong with a change. */
export interface NetworkFault {
  readonly of: 'hostName' | 'fqdn' | 'ipv4' | 'ipv6';
  /** Of an address: its place in the list that was asked for. */
  readonly index?: number;
  readonly part?: 'address' | 'prefix';
  /** `taken`: another machine's manager has it; `unable`: the host does not let the service. */
  readonly kind: 'invalid' | 'taken' | 'unable';
  /** A sentence for clients, without its full stop. */
  readonly why: string;
  /** UUID of the machine that has it. */
  readonly holder?: string;
}

/** Nothing was changed. */
export class NetworkChangeError extends Error {
  override readonly name = 'NetworkChangeError';
  readonly faults: readonly NetworkFault[];

  constructor(faults: readonly NetworkFault[], cause?: unknown) {
    super(`changing the network of a manager: ${faults.map(({ why }) => why).join('; ')}`, { cause });
    this.faults = faults;
  }
}

/** What a part of a change comes to; with faults it is not to be carried out. */
export interface Planned<Part> {
  readonly planned: Part;
  readonly faults: readonly NetworkFault[];
}

/** Every name that a request may come by, with the machine that it means. */
export function indexNames({ machines }: ManagerNetworkState, host: HostNames): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(machines).flatMap(([uuid, own]) => answeredNames(own, host).map((name) => [name, uuid])),
  );
}

/** Every address of a manager, with whose it is. */
export function managerAddresses({
  machines,
}: ManagerNetworkState): readonly (ManagerAddress & { readonly uuid: string })[] {
  return Object.entries(machines).flatMap(([uuid, own]) => own.addresses.map((one) => ({ ...one, uuid })));
}

/** The names of a machine's manager. No other may have one of them. */
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
  const clash = answeredNames(planned, host).find((name) => taken.has(name));
  if (clash === undefined) return { planned, faults: [] };
  // Of two names it is the one that the client gave; with the host's domain behind it, too.
  const given = (['hostName', 'fqdn'] as const).filter((of) => typeof change[of] === 'string');
  const of = given.find((one) => change[one]?.toLowerCase() === clash) ?? given[0] ?? 'hostName';
  const holder = taken.get(clash);
  const why = `the manager of another machine is called ${clash}`;
  return { planned, faults: [{ of, kind: 'taken', why, ...(holder === undefined ? {} : { holder }) }] };
}

/**
 * The addresses of a machine's manager on all interfaces.
 * @param surroundings asked for only where there is an address that it does not have yet.
 */
export async function planAddresses(
  uuid: string,
  change: AddressChange,
  state: ManagerNetworkState,
  surroundings: () => Promise<Surroundings>,
): Promise<Planned<readonly ManagerAddress[]>> {
  const { device } = change;
  const before = networkOf(state, uuid).addresses;
  const families = (['ipv4', 'ipv6'] as const).filter((family) => change[family] !== undefined);
  const planned = before.filter((one) => one.device !== device || !families.includes(familyOf(one)));
  const faults: NetworkFault[] = [];
  let known: Surroundings | undefined;
  for (const of of families) {
    for (const [index, { address, prefix }] of (change[of] ?? []).entries()) {
      const same = before.find((one) => one.device === device && one.address === address && one.prefix === prefix);
      const wanted = { address, prefix, device };
      const fault = faultOf(uuid, wanted, planned, state);
      if (fault !== undefined) faults.push({ of, index, ...fault });
      else if (same !== undefined) planned.push(same);
      else {
        const verdict = checkAddress(wanted, (known ??= await surroundings()));
        if (typeof verdict === 'number') planned.push({ ...wanted, bits: verdict });
        else faults.push({ of, index, kind: 'invalid', ...verdict });
      }
    }
  }
  return { planned, faults };
}

/** Where an address stands in what was asked for. */
export function placeOf(change: AddressChange, { address }: IpNetwork): Pick<NetworkFault, 'of' | 'index'> {
  const of = familyOf({ address });
  return { of, index: (change[of] ?? []).findIndex((one) => one.address === address) };
}

function faultOf(
  uuid: string,
  { address }: DeviceAddress,
  planned: readonly ManagerAddress[],
  state: ManagerNetworkState,
): Pick<NetworkFault, 'part' | 'kind' | 'why' | 'holder'> | undefined {
  if (planned.some((one) => one.address === address)) {
    return { part: 'address', kind: 'invalid', why: 'this manager has it in another place' };
  }
  const holder = managerAddresses(state).find((one) => one.address === address && one.uuid !== uuid);
  if (holder === undefined) return undefined;
  return { part: 'address', kind: 'taken', why: 'the manager of another machine has it', holder: holder.uuid };
}

function familyOf({ address }: Pick<IpNetwork, 'address'>): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4';
}
