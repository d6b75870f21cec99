/**
 * The network of managers. By default, all managers have the names and addresses of the host. A
 * client may give a manager its own names and addresses. Requests to these names and addresses see
 * only the machine of that manager. A client may also set the name servers of the service.
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

/** The part of the manager network that resources use. */
export type NetworkOfManagers = MachineAddresses & Pick<ManagerNetwork, 'viewOf' | 'change'>;

/** The addresses and names of all managers. */
export interface ManagerNetwork extends MachineAddresses {
  /** Returns the network that the manager of a machine shows. */
  viewOf(uuid: string): ManagerView;
  /**
   * Applies all of a change, also on the host, or none of it. Exception: the host loses removed addresses
   * only after the promise resolves, and a failed removal is only logged. Changes run one after the other.
   * @throws {NetworkChangeError}
   * @throws {StateFileError}
   */
  change(uuid: string, change: NetworkChange, options?: ChangeOptions): Promise<void>;
  /** Adds the stored addresses to the host. Logs failures. */
  start(): Promise<void>;
  /**
   * Removes the settings of deleted machines, and their addresses from the host.
   * @param isGone returns whether a machine was deleted. It is called for each machine with settings.
   */
  forget(isGone: (uuid: string) => boolean): Promise<void>;
  /** Removes the addresses of all managers from the host. The stored settings do not change. */
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
/** Delay of a removal, because the reply to the request may use the removed address. */
const LATE_MS = 1_000;
/** Interval of the check for addresses that another program, such as a DHCP client, has removed. */
const WATCH_MS = 10_000;

/**
 * Creates the manager network from the stored settings. It changes the host only after {@link
 * ManagerNetwork.start}.
 */
export function createManagerNetwork(options: ManagerNetworkOptions): ManagerNetwork {
  return new StoredManagerNetwork(options);
}

class StoredManagerNetwork implements ManagerNetwork {
  readonly #options: ManagerNetworkOptions;
  readonly #addresses: ManagerAddresses;
  readonly #queue = new OperationQueue();
  /** The UUIDs of machines by the names of their managers. */
  #names: ReadonlyMap<string, string>;
  #watch: NodeJS.Timeout | undefined;
  #isClosed = false;

  readonly scopeOf: MachineAddresses['scopeOf'] = ({ headers, socket }) => {
    // Without addresses of managers, no local address belongs to a machine.
    if (this.#addresses.size > 0 && socket.localAddress !== undefined) {
      const machine = this.machineAt(socket.localAddress);
      if (machine !== null) return machine;
    }
    if (this.#names.size === 0 || headers.host === undefined) return null;
    const name = nameOfHost(headers.host);
    return name === undefined ? null : (this.#names.get(name) ?? null);
  };

  constructor(options: ManagerNetworkOptions) {
    this.#options = options;
    this.#addresses = new ManagerAddresses(options);
    this.#names = indexNames(this.#state, options.hostNetwork());
    options.useNameServers(this.#state.nameServers);
  }

  viewOf(uuid: string): ManagerView {
    const isActive = (address: string): boolean => this.#addresses.machineAt(address) === uuid;
    return managerView(uuid, this.#state, this.#options.hostNetwork(), isActive);
  }

  change(uuid: string, change: NetworkChange, options: ChangeOptions = {}): Promise<void> {
    return this.#enqueue(() => this.#carryOut(uuid, change, options));
  }

  machineAt(address: string): string | null {
    return this.#addresses.machineAt(plainAddress(address)) ?? null;
  }

  isReserved(address: string): boolean {
    return managerAddresses(this.#state).some((stored) => stored.address === address);
  }

  start(): Promise<void> {
    return this.#enqueue(async () => {
      await this.#restore();
      this.#watchAddresses();
    });
  }

  forget(isGone: (uuid: string) => boolean): Promise<void> {
    return this.#enqueue(async () => {
      for (const uuid of Object.keys(this.#state.machines).filter(isGone)) await this.#removeMachine(uuid);
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#watch);
    await this.#enqueue(() => this.#addresses.close());
  }

  get #state(): ManagerNetworkState {
    return this.#options.state.state;
  }

  #store(next: ManagerNetworkState): void {
    this.#options.state.update(() => next);
    this.#names = indexNames(next, this.#options.hostNetwork());
  }

  /** Runs a change after all earlier changes. */
  #enqueue<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#queue.run(QUEUE, work);
  }

  async #carryOut(uuid: string, change: NetworkChange, { lateRemoval = false }: ChangeOptions): Promise<void> {
    const before = networkOf(this.#state, uuid);
    const after = await this.#plan(uuid, change);
    const added = after.addresses.filter((one) => !before.addresses.includes(one));
    const gone = before.addresses.filter((one) => !after.addresses.includes(one));
    try {
      for (const own of added) {
        // The service may have added this address with another mask or on another interface. So remove it first.
        await this.#addresses.remove(own.address);
        if (change.addresses !== undefined) await this.#add(uuid, own, change.addresses);
      }
      const { nameServers = this.#state.nameServers } = change;
      this.#store({ ...withNetwork(this.#state, uuid, after), nameServers: [...nameServers] });
      this.#options.useNameServers(nameServers);
    } catch (error) {
      for (const { address } of added) await this.#addresses.remove(address);
      await this.#restore();
      throw error;
    }
    this.#watchAddresses();
    // Removes the addresses in the same queue, so that the next change waits until they are free.
    if (gone.length > 0) void this.#enqueue(() => this.#removeAddresses(gone, lateRemoval));
  }

  /**
   * Returns the network of a machine after a change.
   * @throws {NetworkChangeError} if the change is invalid.
   */
  async #plan(uuid: string, change: NetworkChange): Promise<MachineNetwork> {
    const { addresses } = change;
    const named = planNames(uuid, change, this.#state, this.#options.hostNetwork());
    const addressed =
      addresses === undefined
        ? { planned: networkOf(this.#state, uuid).addresses, faults: [] }
        : await planAddresses(uuid, addresses, this.#state, () => this.#surroundings(addresses));
    const faults = [...named.faults, ...addressed.faults];
    if (faults.length > 0) throw new NetworkChangeError(faults);
    return { ...named.planned, addresses: [...addressed.planned] };
  }

  /**
   * Returns the addresses and routes of the host, without the addresses of managers.
   * @throws {NetworkChangeError} if the host cannot list them.
   */
  async #surroundings(change: AddressChange): Promise<Surroundings> {
    const { host, hostNetwork } = this.#options;
    const managers = new Set(managerAddresses(this.#state).map(({ address }) => address));
    const networkInterface = hostAlone(hostNetwork(), this.#state).interfaces.find(
      ({ name }) => name === change.device,
    );
    try {
      const [present, routes] = await Promise.all([host.list(), host.routes()]);
      return {
        hostAddresses: present.filter(({ address }) => !managers.has(address)),
        networks: [...(networkInterface?.ipv4 ?? []), ...(networkInterface?.ipv6 ?? [])],
        routes,
      };
    } catch (error) {
      if (!(error instanceof HostAddressError)) throw error;
      const field = change.ipv4 === undefined ? 'ipv6' : 'ipv4';
      throw new NetworkChangeError([{ field, kind: 'unable', why: error.message }], error);
    }
  }

  async #add(uuid: string, own: ConfiguredAddress, change: AddressChange): Promise<void> {
    try {
      const isOnLink = own.bits === addressBits(own.address) && own.device !== 'lo';
      if (isOnLink && (await this.#options.host.isAnswered(own)))
        throw new DuplicateAddressError(`another host of the link has ${own.address}`);
      await this.#addresses.add(uuid, own);
    } catch (error) {
      const kind = error instanceof DuplicateAddressError ? 'invalid' : 'unable';
      const why = error instanceof Error ? error.message : String(error);
      throw new NetworkChangeError([{ ...placeOf(change, own), part: 'address', kind, why }], error);
    }
  }

  async #removeAddresses(gone: readonly ConfiguredAddress[], late: boolean): Promise<void> {
    if (late && !this.#isClosed) await new Promise((resolve) => setTimeout(resolve, LATE_MS));
    const wanted = new Set(managerAddresses(this.#state).map(({ address }) => address));
    for (const { address } of gone) if (!wanted.has(address)) await this.#addresses.remove(address);
    // With the first address of a network, the kernel also removes the other addresses of the network,
    // unless promote_secondaries is set. So restore them.
    await this.#restore();
  }

  /** Removes the settings of a deleted machine, and its addresses from the host. */
  async #removeMachine(uuid: string): Promise<void> {
    const { addresses: gone } = networkOf(this.#state, uuid);
    for (const { address } of gone) await this.#addresses.remove(address);
    try {
      this.#store(withNetwork(this.#state, uuid, { hostName: null, fqdn: null, addresses: [] }));
    } catch (error) {
      this.#options.log.warn(`removing the network settings of the manager of ${uuid} failed`, { error });
    }
    if (gone.length > 0) await this.#restore();
  }

  /** Adds the stored addresses that the host has lost. */
  async #restore(): Promise<void> {
    if (!this.#isClosed) await this.#addresses.restore(managerAddresses(this.#state));
  }

  #watchAddresses(): void {
    if (this.#watch !== undefined || this.#isClosed || managerAddresses(this.#state).length === 0) return;
    this.#watch = setInterval(() => void this.#enqueue(() => this.#restore()), WATCH_MS);
    this.#watch.unref();
  }
}

/** Returns an address in the form of the stored addresses. */
function plainAddress(address: string): string {
  const plain = unmappedIp(address);
  return canonicalIp(plain) ?? plain;
}
