/**
 * Which machines there are and what they are doing. Both are sound from libvirt's lifecycle events (everything else may
 * change silently), so they are read once and kept until an event or a new connection says otherwise.
 */
import {
  ConnectListAllDomainsFlags,
  DomainPausedReason,
  DomainShutoffReason,
  type Domain,
  type Hypervisor,
} from '@rackless/libvirt';
import { DriverError, type DomainState, type SystemRef } from '../driver.js';
import { attempt } from './failure.js';

/** What the drivers say when a lifecycle event comes. */
export interface Machine extends SystemRef {
  readonly domain: Domain;
  /** False: it exists only as long as it runs. */
  readonly persistent: boolean;
}

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

/** What a machine is doing, and what went wrong where something did. */
export interface Condition {
  readonly state: DomainState;
  readonly failure: 'crashed' | 'ioError' | null;
}

interface Listing {
  readonly machines: readonly Machine[];
  readonly byUuid: ReadonlyMap<string, Machine>;
  readonly byName: ReadonlyMap<string, Machine>;
}

/** A value that was read, or is being read; a newer one replaces it. */
interface Kept<Value> {
  readonly promise: Promise<Value>;
}

/** The machines of one host, and what each is doing. */
export class Inventory {
  readonly #hypervisor: Hypervisor;
  readonly #timeoutMs: number;
  readonly #states = new Map<string, Kept<Condition>>();
  #listing: Kept<Listing> | undefined;
  /** False where libvirtd refuses to send events: then nothing may be kept. */
  #eventful = true;

  /** @param timeoutMs the longest that a read may take. */
  constructor(hypervisor: Hypervisor, timeoutMs: number) {
    this.#hypervisor = hypervisor;
    this.#timeoutMs = timeoutMs;
  }

  /** Begins to listen. Nothing may be kept on a host that sends no events, and every read then asks it. */
  start(): void {
    const subscription = this.#hypervisor.events.on('lifecycle', ({ domain }) => {
      this.forgetState(domain.uuid);
      // Definitions come and go, and so do transient machines with their start and stop.
      this.#listing = undefined;
    });
    subscription.ready.catch(() => {
      this.#eventful = false;
    });
    this.#hypervisor.onStateChange(() => {
      this.#listing = undefined;
      this.#states.clear();
    });
  }

  /** After a call of our own: its answer may come before its event. */
  forgetState(uuid: string): void {
    this.#states.delete(uuid);
  }

  /** @throws {DriverError} unavailable. */
  async list(): Promise<readonly Machine[]> {
    return (await this.#read()).machines;
  }

  /**
   * @param id a UUID or a name; a name that is some machine's UUID too loses.
   * @throws {DriverError} notFound, unavailable.
   */
  async find(id: string): Promise<Machine> {
    const kept = this.#listing;
    const found = lookUp(await this.#read(), id);
    if (found !== undefined) return found;
    // The event of a machine defined a moment ago may still be on its way: a miss is worth asking again.
    if (kept !== undefined && this.#listing === kept) this.#listing = undefined;
    const second = lookUp(await this.#read(), id);
    if (second !== undefined) return second;
    throw new DriverError('notFound', `looking up machine ${JSON.stringify(id)}: no such machine`);
  }

  /** @throws {DriverError} notFound, unavailable. */
  async state(machine: Machine): Promise<DomainState> {
    return (await this.condition(machine)).state;
  }

  /** @throws {DriverError} notFound, unavailable. */
  condition({ uuid, name, domain }: Machine): Promise<Condition> {
    const known = this.#states.get(uuid);
    if (known !== undefined && this.#mayKeep()) return known.promise;
    const reading = attempt(`reading the state of machine ${name}`, async () => {
      const { state: number, reason } = await domain.getState({ timeoutMs: this.#timeoutMs });
      const state = STATES[number] ?? 'nostate';
      return { state, failure: failureOf(state, reason) };
    });
    const kept = { promise: reading };
    this.#states.set(uuid, kept);
    reading.catch(() => {
      if (this.#states.get(uuid) === kept) this.#states.delete(uuid);
    });
    return reading;
  }

  #mayKeep(): boolean {
    return this.#eventful && this.#hypervisor.state === 'connected';
  }

  #read(): Promise<Listing> {
    if (this.#listing !== undefined && this.#mayKeep()) return this.#listing.promise;
    const reading = attempt('listing the machines', async () => {
      const options = { timeoutMs: this.#timeoutMs };
      const [all, transient] = await Promise.all([
        this.#hypervisor.listAllDomains(0, options),
        this.#hypervisor.listAllDomains(ConnectListAllDomainsFlags.TRANSIENT, options),
      ]);
      return listing(all, new Set(transient.map(({ uuid }) => uuid)));
    });
    const kept = { promise: reading };
    this.#listing = kept;
    reading.catch(() => {
      if (this.#listing === kept) this.#listing = undefined;
    });
    return reading;
  }
}

/** An ended process counts as crashed, too: libvirt says the same of a guest that panicked with `<on_crash>destroy`. */
function failureOf(state: DomainState, reason: number): Condition['failure'] {
  if (state === 'crashed') return 'crashed';
  if (state === 'shutoff') return reason === DomainShutoffReason.CRASHED ? 'crashed' : null;
  if (state !== 'paused') return null;
  if (reason === DomainPausedReason.IOERROR) return 'ioError';
  return reason === DomainPausedReason.CRASHED ? 'crashed' : null;
}

function listing(domains: readonly Domain[], transient: ReadonlySet<string>): Listing {
  const machines = domains.map((domain) => ({
    uuid: domain.uuid,
    name: domain.name,
    domain,
    persistent: !transient.has(domain.uuid),
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
