/** Host addresses in memory, for tests of a manager's network. */
import type { InterfaceAddress, HostAddresses, HostRoute } from '../../src/host/host-addresses.js';

/** Host addresses in memory, which can fail on demand. */
export interface AddressesInMemory extends HostAddresses {
  /** Addresses that were added and not removed, such as `192.0.2.9/32 eth0`. */
  readonly set: ReadonlySet<string>;
  /** Makes later calls of `add` fail with the error; undefined: they succeed. */
  failWith(error: Error | undefined): void;
}

/** The initial state of the host. */
export interface AddressesInMemoryOptions {
  /** Addresses of the host. Default: none. */
  readonly present?: readonly InterfaceAddress[];
  readonly routes?: readonly HostRoute[];
  /** Addresses that other hosts on the link use. */
  readonly answered?: readonly string[];
}

const textOf = ({ address, prefix, device }: InterfaceAddress): string => `${address}/${prefix} ${device}`;

/** Creates a host that first has only the addresses `present`. */
export function addressesInMemory(options: AddressesInMemoryOptions = {}): AddressesInMemory {
  const { present = [], routes = [], answered = [] } = options;
  const added = new Map<string, InterfaceAddress>();
  let failure: Error | undefined;
  return {
    get set() {
      return new Set(added.keys());
    },
    failWith: (error) => void (failure = error),
    list: () => Promise.resolve([...present, ...added.values()].map((one) => ({ ...one, state: 'usable' as const }))),
    routes: () => Promise.resolve(routes),
    add: (one) => {
      if (failure !== undefined) return Promise.reject(failure);
      added.set(textOf(one), one);
      return Promise.resolve();
    },
    remove: (one) => {
      added.delete(textOf(one));
      return Promise.resolve();
    },
    isAnswered: ({ address }) => Promise.resolve(answered.includes(address)),
  };
}
