/**
 * The network of managers. By default, all managers have the names and addresses of the host. A
 * client may give each its own names and addresses. Requests by these see only that machine. A
 * client may also set the name servers of the service.
 */
import type { Log } from '@rackless/daemon/log/log.js';
import { OperationQueue } from '../drivers/queue/operation-queue.js';
import { HostAddressError, type HostAddresses } from '../host/host-addresses.js';
import type { HostNetwork } from '../host/host-network.js';
import { addressBits, canonicalIp, unmappedIp } from '../host/ip-network.js';
import type { MachineAddresses } from '../offers/machine-addresses.js';
import type { StateFile } from '../state-file.js';
import type { Surroundings } from './address-check.js';
import { hostAlone, managerView, type ManagerView } from './manager-view.js';
import {
  indexNames,
  NetworkChangeError,
  managerAddresses,
  placeOf,
  planAddresses,
  planNames,
  type AddressChange,
  type NetworkChange,
} from './network-plan.js';
import { DuplicateAddressError, ManagerAddresses } from './manager-addresses.js';
import { nameOfHost } from './manager-names.js';
import {
  networkOf,
  withNetwork,
  type MachineNetwork,
  type ManagerNetworkState,
  type ConfiguredAddress,
} from './network-state.js';

interface ChangeOptions {
  /**
   * Whether to remove addresses 1 s later, because the reply may use one of them. Default: false.
   */
  readonly lateRemoval?: boolean;
}

/** The addresses and names of all managers. */
export interface ManagerNetwork extends MachineAddresses {
  /** Returns the network that the manager of a machine shows. */
  of(uuid: string): ManagerView;
  /**
   * Applies all of a change, also on the host, or none of it. Changes run one after the other.
   * @throws {NetworkChangeError}
   * @throws {StateFileError}
   */
  change(uuid: string, change: NetworkChange, options?: ChangeOptions): Promise<void>;
  /** Sets the stored addresses. Logs failures. */
  start(): Promise<void>;
  /**
   * Removes the settings of deleted machines.
   * @param isGone called for each machine with settings.
   */
  forget(isGone: (uuid: string) => boolean): Promise<void>;
  /** Removes all addresses from the host. The stored settings stay. */
  close(): Promise<void>;
}

interface ManagerNetworkOptions {
  readonly state: StateFile<ManagerNetworkState>;
  /** Reads the network of the host. */
  readonly hostNetwork: () => HostNetwork;
  readonly host: HostAddresses;
  /** Starts the service at an address. @returns the function that stops it. */
  readonly listenAt: (address: string) => Promise<() => void>;
  /** Receives the name servers to use; empty: those of the host. */
  readonly useNameServers: (servers: readonly string[]) => void;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

const QUEUE = 'network';
/** Delay for a reply over an address that is removed. */
const LATE_MS = 1_000;
/** Interval of the check for removed addresses. A restarted DHCP client may remove them. */
const WATCH_MS = 10_000;

/**
 * Creates the manager network from the stored settings. It changes the host only after {@link
 * ManagerNetwork.start}.
 */
export function createManagerNetwork(options: ManagerNetworkOptions): ManagerNetwork {
  const { state, hostNetwork, host, useNameServers, log } = options;
  const addresses = new ManagerAddresses(options);
  const turns = new OperationQueue();
  let names = indexNames(state.state, hostNetwork());
  let watch: NodeJS.Timeout | undefined;
  let closed = false;
  useNameServers(state.state.nameServers);

  const keep = (next: ManagerNetworkState): void => {
    state.update(() => next);
    names = indexNames(next, hostNetwork());
  };
  const restore = async (): Promise<void> => {
    if (!closed) await addresses.restore(managerAddresses(state.state));
  };
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => turns.run(QUEUE, work);

  const plan = async (uuid: string, change: NetworkChange): Promise<MachineNetwork> => {
    const named = planNames(uuid, change, state.state, hostNetwork());
    const addressed =
      change.addresses === undefined
        ? { planned: networkOf(state.state, uuid).addresses, faults: [] }
        : await planAddresses(uuid, change.addresses, state.state, around(change.addresses));
    const faults = [...named.faults, ...addressed.faults];
    if (faults.length > 0) throw new NetworkChangeError(faults);
    return { ...named.planned, addresses: [...addressed.planned] };
  };
  /** Returns the addresses and routes of the host. The state has the addresses of managers. */
  const around = (change: AddressChange) => async (): Promise<Surroundings> => {
    const managers = new Set(managerAddresses(state.state).map(({ address }) => address));
    const port = hostAlone(hostNetwork(), state.state).interfaces.find(({ name }) => name === change.device);
    try {
      const [present, routes] = await Promise.all([host.list(), host.routes()]);
      return {
        present: present.filter(({ address }) => !managers.has(address)),
        networks: [...(port?.ipv4 ?? []), ...(port?.ipv6 ?? [])],
        routes,
      };
    } catch (error) {
      if (!(error instanceof HostAddressError)) throw error;
      const of = change.ipv4 === undefined ? 'ipv6' : 'ipv4';
      throw new NetworkChangeError([{ of, kind: 'unable', why: error.message }], error);
    }
  };
  const add = async (uuid: string, own: ConfiguredAddress, change: AddressChange): Promise<void> => {
    try {
      const isOnLink = own.bits === addressBits(own.address) && own.device !== 'lo';
      if (isOnLink && (await host.isAnswered(own)))
        throw new DuplicateAddressError(`another host of the link has ${own.address}`);
      await addresses.add(uuid, own);
    } catch (error) {
      const kind = error instanceof DuplicateAddressError ? 'invalid' : 'unable';
      const why = error instanceof Error ? error.message : String(error);
      throw new NetworkChangeError([{ ...placeOf(change, own), part: 'address', kind, why }], error);
    }
  };

  const carryOut = async (uuid: string, change: NetworkChange, { lateRemoval = false }: ChangeOptions) => {
    const before = networkOf(state.state, uuid);
    const after = await plan(uuid, change);
    const added = after.addresses.filter((one) => !before.addresses.includes(one));
    const gone = before.addresses.filter((one) => !after.addresses.includes(one));
    try {
      for (const own of added) {
        // An address with another mask or on another interface must be removed first.
        await addresses.remove(own.address);
        if (change.addresses !== undefined) await add(uuid, own, change.addresses);
      }
      const { nameServers = state.state.nameServers } = change;
      keep({ ...withNetwork(state.state, uuid, after), nameServers: [...nameServers] });
      useNameServers(nameServers);
    } catch (error) {
      for (const { address } of added) await addresses.remove(address);
      await restore();
      throw error;
    }
    watchOver();
    // In the same queue, so that the next request for such an address waits until it is free.
    if (gone.length > 0) void inTurn(() => removeAddresses(gone, lateRemoval));
  };
  const removeAddresses = async (gone: readonly ConfiguredAddress[], late: boolean): Promise<void> => {
    if (late && !closed) await new Promise((resolve) => setTimeout(resolve, LATE_MS));
    const wanted = new Set(managerAddresses(state.state).map(({ address }) => address));
    for (const { address } of gone) if (!wanted.has(address)) await addresses.remove(address);
    // The kernel also removes secondary addresses of the network, unless promote_secondaries is
    // set.
    await restore();
  };
  const drop = async (uuid: string): Promise<void> => {
    const { addresses: gone } = networkOf(state.state, uuid);
    for (const { address } of gone) await addresses.remove(address);
    try {
      keep(withNetwork(state.state, uuid, { hostName: null, fqdn: null, addresses: [] }));
    } catch (error) {
      log.warn(`removing the network settings of the manager of ${uuid} failed`, { error });
    }
    if (gone.length > 0) await restore();
  };
  const watchOver = (): void => {
    if (watch !== undefined || closed || managerAddresses(state.state).length === 0) return;
    watch = setInterval(() => void inTurn(restore), WATCH_MS);
    watch.unref();
  };

  return {
    of: (uuid) => managerView(uuid, state.state, hostNetwork(), (address) => addresses.machineAt(address) === uuid),
    change: (uuid, change, changeOptions = {}) => inTurn(() => carryOut(uuid, change, changeOptions)),
    scopeOf: ({ headers, socket }) => {
      // Without addresses there is nothing to compare.
      if (addresses.size > 0 && socket.localAddress !== undefined) {
        const machine = addresses.machineAt(plainAddress(socket.localAddress));
        if (machine !== undefined) return machine;
      }
      if (names.size === 0 || headers.host === undefined) return null;
      const name = nameOfHost(headers.host);
      return name === undefined ? null : (names.get(name) ?? null);
    },
    machineAt: (address) => addresses.machineAt(plainAddress(address)) ?? null,
    isReserved: (address) => managerAddresses(state.state).some((stored) => stored.address === address),
    start: () =>
      inTurn(async () => {
        await restore();
        watchOver();
      }),
    forget: (isGone) =>
      inTurn(async () => {
        for (const uuid of Object.keys(state.state.machines).filter(isGone)) await drop(uuid);
      }),
    async close() {
      closed = true;
      clearInterval(watch);
      await inTurn(() => addresses.close());
    },
  };
}

/** Returns an address in the form of the stored addresses. */
function plainAddress(address: string): string {
  const plain = unmappedIp(address);
  return canonicalIp(plain) ?? plain;
}
