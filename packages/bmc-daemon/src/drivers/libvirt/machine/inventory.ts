/**
 * Lists the machines and their states. libvirt reports every change of the list and of the states
 * by a lifecycle event. So both are cached until such an event or a new connection. Other data of a
 * machine may change without an event.
 */
import {
  ConnectListAllDomainsFlags,
  DomainEventDefinedDetail,
  DomainEventType,
  DomainPausedReason,
  DomainShutoffReason,
  type Domain,
  type Hypervisor,
} from '@rackless/libvirt';
import { DriverError } from '../../driver-error.js';
import type { DomainState, SystemRef } from '../../snapshot/system-snapshot.js';
import { attempt } from '../failure.js';

/** A machine of the host. */
export interface Machine extends SystemRef {
  readonly domain: Domain;
  /** False for a transient machine, which exists only while it runs. */
  readonly persistent: boolean;
}

/** The states in the order of libvirt's numbers (virDomainState). */
const STATES: readonly DomainState[] = [
  'nostate',
  'running',
  'blocked',
  'paused',
  'shutdown',
  'shutoff',
  'crashed',
  'pmsuspended',
];

/** The state of a machine, and its failure if there is one. */
export interface MachineCondition {
  readonly state: DomainState;
  readonly failure: 'crashed' | 'ioError' | null;
  /** Whether the machine is paused because it comes from, or goes to, another host. */
  readonly migrating: boolean;
}

interface Listing {
  readonly machines: readonly Machine[];
  readonly byUuid: ReadonlyMap<string, Machine>;
  readonly byName: ReadonlyMap<string, Machine>;
}

/** A cached value that was read or is being read. */
interface Cached<Value> {
  readonly promise: Promise<Value>;
}

/** The list of machines that was read, or is being read. */
interface CachedListing extends Cached<Listing> {
  /** Machines that started or stopped while the list was read. */
  readonly changedMeanwhile: Set<string>;
  /** UUIDs of the persistent machines; undefined while the list is being read. */
  persistent?: ReadonlySet<string>;
}

/** The machines of one host and their states. */
export class Inventory {
  readonly #hypervisor: Hypervisor;
  readonly #timeoutMs: number;
  readonly #hostName: string | undefined;
  readonly #states = new Map<string, Cached<MachineCondition>>();
  #listing: CachedListing | undefined;
  /** False if libvirtd sends no events. The inventory then caches nothing. */
  #hasEvents = true;

  /**
   * @param timeoutMs maximum time of a read.
   * @param hostName name of the host in {@link SystemRef}.
   */
  constructor(hypervisor: Hypervisor, timeoutMs: number, hostName?: string) {
    this.#hypervisor = hypervisor;
    this.#timeoutMs = timeoutMs;
    this.#hostName = hostName;
  }

  /** Subscribes to events. On a host without events, the inventory caches nothing. */
  start(): void {
    const subscription = this.#hypervisor.events.on('lifecycle', ({ domain, event, detail }) => {
      // Ignores a new definition of a persistent machine, which does not change the state. Each change
      // by this daemon causes such an event.
      const isUpdate = event === DomainEventType.DEFINED && detail === DomainEventDefinedDetail.UPDATED;
      if (isUpdate && this.#listing?.persistent?.has(domain.uuid) === true) return;
      this.forgetState(domain.uuid);
      const changesList = event === DomainEventType.UNDEFINED || (event === DomainEventType.DEFINED && !isUpdate);
      if (changesList) this.#listing = undefined;
      else this.#forgetListUnlessPersistent(domain.uuid);
    });
    subscription.ready.catch(() => {
      this.#hasEvents = false;
    });
    this.#hypervisor.onStateChange(() => {
      this.#listing = undefined;
      this.#states.clear();
    });
  }

  /**
   * Forgets the state of a machine after a call that changes it, because the reply may arrive
   * before the event.
   */
  forgetState(uuid: string): void {
    this.#states.delete(uuid);
  }

  /** Returns all machines. @throws {DriverError} unavailable. */
  async list(): Promise<readonly Machine[]> {
    return (await this.#read()).machines;
  }

  /**
   * Returns a machine.
   * @param id a UUID or a name. A UUID has precedence over an equal name.
   * @throws {DriverError} notFound, unavailable.
   */
  async find(id: string): Promise<Machine> {
    const cached = this.#listing;
    const found = lookUp(await this.#read(), id);
    if (found !== undefined) return found;
    // Reads the list once more, because the event of a new machine may not have arrived yet.
    if (cached !== undefined && this.#listing === cached) this.#listing = undefined;
    const retried = lookUp(await this.#read(), id);
    if (retried !== undefined) return retried;
    throw new DriverError('notFound', `looking up machine ${JSON.stringify(id)}: no such machine`);
  }

  /** Returns the state of a machine. @throws {DriverError} notFound, unavailable. */
  async state(machine: Machine): Promise<DomainState> {
    return (await this.condition(machine)).state;
  }

  /** Returns the state and the failure of a machine. @throws {DriverError} notFound, unavailable. */
  condition({ uuid, name, domain }: Machine): Promise<MachineCondition> {
    const known = this.#states.get(uuid);
    if (known !== undefined && this.#mayCache()) return known.promise;
    const reading = attempt(`reading the state of machine ${name}`, async () => {
      const { state: number, reason } = await domain.getState({ timeoutMs: this.#timeoutMs });
      const state = STATES[number] ?? 'nostate';
      const migrating = state === 'paused' && reason === DomainPausedReason.MIGRATION;
      return { state, failure: failureOf(state, reason), migrating };
    });
    const cached = { promise: reading };
    this.#states.set(uuid, cached);
    reading.catch(() => {
      if (this.#states.get(uuid) === cached) this.#states.delete(uuid);
    });
    return reading;
  }

  /**
   * Forgets the list after the start or the end of a transient machine. The start and the stop of a
   * persistent machine do not change the list, so the start of many machines does not cause many
   * reads of the list.
   */
  #forgetListUnlessPersistent(uuid: string): void {
    const listing = this.#listing;
    if (listing === undefined) return;
    if (listing.persistent === undefined) listing.changedMeanwhile.add(uuid);
    else if (!listing.persistent.has(uuid)) this.#listing = undefined;
  }

  #mayCache(): boolean {
    return this.#hasEvents && this.#hypervisor.state === 'connected';
  }

  #read(): Promise<Listing> {
    if (this.#listing !== undefined && this.#mayCache()) return this.#listing.promise;
    const reading = attempt('listing the machines', async () => {
      const options = { timeoutMs: this.#timeoutMs };
      const [all, transient] = await Promise.all([
        this.#hypervisor.listAllDomains(0, options),
        this.#hypervisor.listAllDomains(ConnectListAllDomainsFlags.TRANSIENT, options),
      ]);
      const listed = listing(all, new Set(transient.map(({ uuid }) => uuid)), this.#hostName);
      const persistent = new Set(listed.machines.filter((machine) => machine.persistent).map(({ uuid }) => uuid));
      cached.persistent = persistent;
      const isOutdated = [...cached.changedMeanwhile].some((uuid) => !persistent.has(uuid));
      if (isOutdated && this.#listing === cached) this.#listing = undefined;
      return listed;
    });
    const cached: CachedListing = { promise: reading, changedMeanwhile: new Set() };
    this.#listing = cached;
    reading.catch(() => {
      if (this.#listing === cached) this.#listing = undefined;
    });
    return reading;
  }
}

/**
 * Returns the failure that a state and its reason show; null if there is none. A lost process also counts as a
 * crash, because libvirt reports the same reason for a guest that panicked with `<on_crash>destroy`.
 */
function failureOf(state: DomainState, reason: number): MachineCondition['failure'] {
  if (state === 'crashed') return 'crashed';
  if (state === 'shutoff') return reason === DomainShutoffReason.CRASHED ? 'crashed' : null;
  if (state !== 'paused') return null;
  if (reason === DomainPausedReason.IOERROR) return 'ioError';
  return reason === DomainPausedReason.CRASHED ? 'crashed' : null;
}

function listing(domains: readonly Domain[], transient: ReadonlySet<string>, host: string | undefined): Listing {
  const machines = domains.map((domain) => ({
    uuid: domain.uuid,
    name: domain.name,
    domain,
    persistent: !transient.has(domain.uuid),
    ...(host === undefined ? {} : { host }),
  }));
  return {
    machines,
    byUuid: new Map(machines.map((machine) => [machine.uuid, machine])),
    byName: new Map(machines.map((machine) => [machine.name, machine])),
  };
}

function lookUp({ byUuid, byName }: Listing, id: string): Machine | undefined {
  return byUuid.get(id.toLowerCase()) ?? byName.get(id);
}
