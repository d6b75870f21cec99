/**
 * The network of the machines' managers. All share the host's as long as nobody says otherwise; a client may give each a name and
 * addresses of its own, by which requests see that machine alone, and the service name servers of its own.
 */
import type { IncomingMessage } from 'node:http';
import type { Log } from '@rackless/daemon/log.js';
import { OperationQueue } from '../drivers/operation-queue.js';
import { HostAddressError, type HostAddresses } from '../host-addresses.js';
import type { HostNetwork } from '../host-network.js';
import { addressBits, canonicalIp, unmappedIp } from '../ip-network.js';
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
  type ManagerAddress,
} from './network-state.js';

export interface ChangeOptions {
  /** Addresses go a second later: the answer may have to go over one of them. Default false. */
  readonly lateRemoval?: boolean;
}

export interface ManagerNetwork {
  /** The network as the manager of a machine shows it. */
  of(uuid: string): ManagerView;
  /**
   * Makes a change, on the host too, or none at all. Changes wait for each other.
   * @throws {NetworkChangeError} @throws {StateFileError}
   */
  change(uuid: string, change: NetworkChange, options?: ChangeOptions): Promise<void>;
  /** UUID of the machine by whose own name or address a request comes; null: by the host's. */
  readonly scopeOf: (request: Pick<IncomingMessage, 'headers' | 'socket'>) => string | null;
  /** UUID of the machine whose own address it is. */
  machineAt(address: string): string | null;
  /** Sets the addresses that are kept; what can not be set the log tells. */
  start(): Promise<void>;
  /** Machines are gone: what was their managers' is nobody's. @param isGone told of each that has something of its own. */
  forget(isGone: (uuid: string) => boolean): Promise<void>;
  /** Takes every address back from the host; what was set stays in mind. */
  close(): Promise<void>;
}

export interface ManagerNetworkOptions {
  readonly state: StateFile<ManagerNetworkState>;
  /** The host's, read anew. */
  readonly hostNetwork: () => HostNetwork;
  readonly host: HostAddresses;
  /** Has the service answer at an address. @returns what ends that. */
  readonly listenAt: (address: string) => Promise<() => void>;
  /** Told of the name servers that are to be asked from now on; none: those of the host. */
  readonly useNameServers: (servers: readonly string[]) => void;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

const QUEUE = 'network';
/** For an answer to go out over an address that goes away. */
const LATE_MS = 1_000;
/** How often it is looked whether somebody has taken addresses away, as a DHCP client may that starts anew. */
const WATCH_MS = 10_000;

/** Begins with what is kept; nothing is set on the host before {@link ManagerNetwork.start}. */
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
  /** What there is on the host; addresses of managers are looked for in the state. */
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
  const add = async (uuid: string, own: ManagerAddress, change: AddressChange): Promise<void> => {
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
        // With another mask, or on another interface: it can not be there twice.
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
    // In the same queue: whoever wants such an address next waits until it is free.
    if (gone.length > 0) void inTurn(() => removeAddresses(gone, lateRemoval));
  };
  const removeAddresses = async (gone: readonly ManagerAddress[], late: boolean): Promise<void> => {
    if (late && !closed) await new Promise((resolve) => setTimeout(resolve, LATE_MS));
    const wanted = new Set(managerAddresses(state.state).map(({ address }) => address));
    for (const { address } of gone) if (!wanted.has(address)) await addresses.remove(address);
    // The kernel takes others of the same network along, unless it is told not to (promote_secondaries).
    await restore();
  };
  const drop = async (uuid: string): Promise<void> => {
    const { addresses: gone } = networkOf(state.state, uuid);
    for (const { address } of gone) await addresses.remove(address);
    try {
      keep(withNetwork(state.state, uuid, { hostName: null, fqdn: null, addresses: [] }));
    } catch (error) {
      log.warn(`forgetting the network of the manager of ${uuid} failed`, { error });
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
      // Nothing is looked at where there is nothing to be found.
      if (addresses.size > 0 && socket.localAddress !== undefined) {
        const machine = addresses.machineAt(plainAddress(socket.localAddress));
        if (machine !== undefined) return machine;
      }
      if (names.size === 0 || headers.host === undefined) return null;
      const name = nameOfHost(headers.host);
      return name === undefined ? null : (names.get(name) ?? null);
    },
    machineAt: (address) => addresses.machineAt(plainAddress(address)) ?? null,
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

/** As own addresses are written. */
function plainAddress(address: string): string {
  const plain = unmappedIp(address);
  return canonicalIp(plain) ?? plain;
}
