/** The network of the host from the view of one manager. */
import type { HostInterface, HostNetwork } from '../host/host-network.js';
import { canonicalIp, type IpNetwork } from '../host/ip-network.js';
import { shownNames, type HostNames } from './manager-names.js';
import { networkOf, type ManagerNetworkState } from './network-state.js';
import { managerAddresses } from './network-plan.js';

/** An address of a manager. */
export interface ManagerAddress extends IpNetwork {
  /** True for an address of this manager only, false for a shared address of the host. */
  readonly isOwn: boolean;
}

/** An interface of the host from the view of one manager. */
export interface ManagerInterface extends Omit<HostInterface, 'ipv4' | 'ipv6'> {
  /** Active addresses: those of the manager, or else those of the host. */
  readonly ipv4: readonly ManagerAddress[];
  readonly ipv6: readonly ManagerAddress[];
  /** Addresses of the manager, active or not. */
  readonly ownIpv4: readonly IpNetwork[];
  readonly ownIpv6: readonly IpNetwork[];
}

/** The network of one manager, as Redfish shows it. */
export interface ManagerView extends HostNames {
  /** Active name servers. */
  readonly nameServers: readonly string[];
  /** Name servers that a client has set, for all managers; empty: those of the host. */
  readonly ownNameServers: readonly string[];
  readonly interfaces: readonly ManagerInterface[];
}

/**
 * Returns the view of a manager.
 * @param isSet returns whether an address of the manager is set on the host, and the service
 *   listens at this address.
 */
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
    interfaces: hostAlone(network, state).interfaces.map((nic): ManagerInterface => {
      const mine = own.addresses.filter(({ device }) => device === nic.name);
      const family = (six: boolean): readonly IpNetwork[] =>
        mine.filter(({ address }) => address.includes(':') === six).map(({ address, prefix }) => ({ address, prefix }));
      const inUse = (list: readonly IpNetwork[], shared: readonly IpNetwork[]): readonly ManagerAddress[] => {
        const set = list.filter(({ address }) => isSet(address));
        return (set.length > 0 ? set : shared).map((one) => ({ ...one, isOwn: set.length > 0 }));
      };
      const [ownIpv4, ownIpv6] = [family(false), family(true)];
      return { ...nic, ipv4: inUse(ownIpv4, nic.ipv4), ipv6: inUse(ownIpv6, nic.ipv6), ownIpv4, ownIpv6 };
    }),
  };
}

/**
 * Returns the network of the host without addresses of managers. Also omits an interface that has
 * only such addresses: Node lists the label of an address as an interface.
 */
export function hostAlone(network: HostNetwork, state: ManagerNetworkState): HostNetwork {
  const managers = new Set(managerAddresses(state).map(({ address }) => address));
  if (managers.size === 0) return network;
  const isHosts = ({ address }: IpNetwork): boolean => !managers.has(canonicalIp(address) ?? address);
  const interfaces = network.interfaces.flatMap((nic) => {
    const hostNic = { ...nic, ipv4: nic.ipv4.filter(isHosts), ipv6: nic.ipv6.filter(isHosts) };
    return hostNic.ipv4.length + hostNic.ipv6.length === 0 ? [] : [hostNic];
  });
  return { ...network, interfaces };
}
