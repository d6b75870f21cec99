/** The addresses of a host that is none: what the tests of a manager's network work with where no real host is needed. */
import type { DeviceAddress, HostAddresses, HostRoute } from '../../src/host-addresses.js';

export interface AddressesInMemory extends HostAddresses {
  /** What was added and not removed: `192.0.2.9/32 eth0`. */
  readonly set: ReadonlySet<string>;
  /** From now on this is what adding one ends with; undefined: it is added. */
  failWith(error: Error | undefined): void;
}

export interface AddressesInMemoryOptions {
  /** The host's own. Default: none. */
  readonly present?: readonly DeviceAddress[];
  readonly routes?: readonly HostRoute[];
  /** Addresses that other hosts of the link answer for. */
  readonly answered?: readonly string[];
}

const textOf = ({ address, prefix, device }: DeviceAddress): string => `${address}/${prefix} ${device}`;

/** A host that does what it is asked to. */
export function addressesInMemory(options: AddressesInMemoryOptions = {}): AddressesInMemory {
  const { present = [], routes = [], answered = [] } = options;
  const added = new Map<string, DeviceAddress>();
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
