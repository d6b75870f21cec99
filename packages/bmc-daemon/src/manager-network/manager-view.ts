/** The network of the host as the manager of one machine has it. */
import type { HostInterface, HostNetwork } from '../host-network.js';
import { canonicalIp, type IpNetwork } from '../ip-network.js';
import { shownNames, type HostNames } from './manager-names.js';
import { networkOf, type ManagerNetworkState } from './network-state.js';
import { managerAddresses } from './network-plan.js';

/** An address that a manager is reached at. */
export interface ManagerAddress extends IpNetwork {
  /** The manager's own; else the host's, which all share. */
  readonly isOwn: boolean;
}

/** An interface of the host as one manager has it. */
export interface ManagerInterface extends Omit<HostInterface, 'ipv4' | 'ipv6'> {
  /** In use: the manager's own, or the host's where it has none. */
  readonly ipv4: readonly ManagerAddress[];
  readonly ipv6: readonly ManagerAddress[];
  /** What is its own, in use or not. */
  readonly ownIpv4: readonly IpNetwork[];
  readonly ownIpv6: readonly IpNetwork[];
}

export interface ManagerView extends HostNames {
  /** Those in use. */
  readonly nameServers: readonly string[];
  /** Those that a client has given; empty: the host's are in use. */
  readonly ownNameServers: readonly string[];
  readonly interfaces: readonly ManagerInterface[];
}

/** @param isSet whether an address of the manager's is on the host, and answered at. */
export function managerView(
  uuid: string,
  state: ManagerNetworkState,
  network: HostNetwork,
  isSet: (address: string) => boolean,
): ManagerView {
  const own = networkOf(state, uuid);
  const { nameServers } = state;
  return {
    ...shownNames(own, network),
    nameServers: nameServers.length > 0 ? nameServers : network.nameServers,
    ownNameServers: nameServers,
    interfaces: hostAlone(network, state).interfaces.map((port): ManagerInterface => {
      const mine = own.addresses.filter(({ device }) => device === port.name);
      const family = (six: boolean): readonly IpNetwork[] =>
        mine.filter(({ address }) => address.includes(':') === six).map(({ address, prefix }) => ({ address, prefix }));
      const inUse = (list: readonly IpNetwork[], shared: readonly IpNetwork[]): readonly ManagerAddress[] => {
        const set = list.filter(({ address }) => isSet(address));
        return (set.length > 0 ? set : shared).map((one) => ({ ...one, isOwn: set.length > 0 }));
      };
      const [ownIpv4, ownIpv6] = [family(false), family(true)];
      return { ...port, ipv4: inUse(ownIpv4, port.ipv4), ipv6: inUse(ownIpv6, port.ipv6), ownIpv4, ownIpv6 };
    }),
  };
}

/** The host's network without the addresses of managers, and without what has no other: a label is listed as an interface. */
export function hostAlone(network: HostNetwork, state: ManagerNetworkState): HostNetwork {
  const managers = new Set(managerAddresses(state).map(({ address }) => address));
  if (managers.size === 0) return network;
  const isHosts = ({ address }: IpNetwork): boolean => !managers.has(canonicalIp(address) ?? address);
  const interfaces = network.interfaces.flatMap((port) => {
    const left = { ...port, ipv4: port.ipv4.filter(isHosts), ipv6: port.ipv6.filter(isHosts) };
    return left.ipv4.length + left.ipv6.length === 0 ? [] : [left];
  });
  return { ...network, interfaces };
}
