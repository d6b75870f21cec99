/** Several hosts and their machines: lists, lookups, and the host of each call. */
import type { Log } from '@rackless/daemon/log/log.js';
import { onlyMachine } from '../by-machine.js';
import { DriverError, isDriverError } from '../driver-error.js';
import type { HypervisorDriver } from '../driver.js';
import type { NetworkFacts } from '../guest-network.js';
import type { HostChange, HostChangeListener, HostRef, HostsControl } from '../hosts-control.js';
import type { BackgroundWork } from '../queue/background-work.js';
import { settlesWithin } from '../queue/settles-within.js';
import type { SystemDetails, SystemRef, SystemSnapshot } from '../snapshot/system-snapshot.js';
import type { MachineStatistics } from '../statistics-control.js';
import { endingOf, HostMember, LIST_WAIT_MS } from './host-member.js';
import type { HostStore } from './host-store.js';
import { LoggedFaults } from './logged-faults.js';
import { MachineIndex } from './machine-index.js';
import { MergedChanges } from './merged-changes.js';
import { ShownSnapshots } from './shown-snapshots.js';

/** Maximum number of host names in the name of the driver. */
const MAX_NAMED = 5;

/** Options of {@link Hosts}. */
export interface HostsOptions {
  readonly hosts: readonly HostRef[];
  /** Creates the driver of a host; `start` connects it. It may call `onReadAhead` with machines read in advance. */
  readonly open: (host: HostRef, onReadAhead: (snapshot: SystemSnapshot) => void) => HypervisorDriver;
  /** The last known machines of all hosts in the state folder. */
  readonly store: HostStore;
  /** Limits the first reads of machines. The drivers of the hosts use it too. */
  readonly backgroundWork: BackgroundWork;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/** The hosts and their machines. */
export class Hosts {
  readonly changes: MergedChanges;
  readonly shown: ShownSnapshots;
  readonly #options: HostsOptions;
  readonly #index: MachineIndex;
  readonly #faults: LoggedFaults;
  readonly #listeners = new Set<{ readonly listener: HostChangeListener }>();
  #members: readonly HostMember[];
  #isStarted = false;
  #changing: Promise<void> = Promise.resolve();

  constructor(options: HostsOptions) {
    this.#options = options;
    this.#faults = new LoggedFaults(options.log);
    this.#index = new MachineIndex({
      members: () => this.#members,
      onMoved: (change) => this.changes.publish(change),
    });
    this.changes = new MergedChanges({
      index: this.#index,
      look: (uuid) => void this.#look(uuid),
      isListIncomplete: () => this.isListIncomplete,
    });
    this.shown = new ShownSnapshots(this.#index, options.log);
    this.#members = options.hosts.map((host) => this.#open(host));
  }

  get name(): string {
    const names = this.#members.map(({ name }) => name);
    const rest = names.length - MAX_NAMED;
    return `libvirt hosts ${names.slice(0, MAX_NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
  }

  async start(): Promise<void> {
    this.#isStarted = true;
    await Promise.all(this.#members.map((member) => member.start()));
  }

  async close(): Promise<void> {
    await this.#changing.catch(reportedToCaller);
    this.changes.close();
    this.#options.store.close();
    await Promise.all(this.#members.map((member) => member.close()));
  }

  setHosts(next: readonly HostRef[]): Promise<void> {
    this.#changing = this.#changing.catch(reportedToCaller).then(() => this.#setHosts(next));
    return this.#changing;
  }

  get control(): HostsControl {
    return {
      hasHostList: true,
      list: () => this.#members.map(({ name, uri }) => ({ name, uri })),
      read: async (name) => {
        const member = this.#members.find((each) => each.name === name);
        if (member === undefined) throw new DriverError('notFound', `looking up host ${name}: no such host`);
        return await member.readHost();
      },
      onChange: (listener) => {
        const entry = { listener };
        this.#listeners.add(entry);
        return () => void this.#listeners.delete(entry);
      },
    };
  }

  /**
   * Resolves if any host answers. Waits only for first checks, and only until one succeeds.
   * @throws {DriverError} unavailable, if no host answers.
   */
  async ping(): Promise<void> {
    const unchecked = this.#members.filter(({ watch }) => !watch.isChecked);
    if (this.#members.some(({ watch }) => watch.isChecked && watch.loss === null)) return;
    const checks = unchecked.map(async ({ watch }) => {
      await watch.check();
      watch.assertReachable();
    });
    await Promise.any(checks).catch(() => this.#failWithLoss());
  }

  /** Returns the machines of all hosts. @throws {DriverError} unavailable, if no host was ever listed. */
  async list(): Promise<readonly SystemRef[]> {
    await Promise.all(this.#members.map((member) => member.refresh()));
    if (this.#members.every(({ known }) => !known.isListed)) this.#failWithLoss();
    return this.#index.list();
  }

  /** Whether any host was never listed, so that its machines are unknown. */
  get isListIncomplete(): boolean {
    return this.#members.some(({ known }) => !known.isListed);
  }

  /**
   * Reads a machine on the host that serves it. If several hosts have the machine, first reads it on all of them, for
   * at most {@link LIST_WAIT_MS}, and then decides again which host serves it.
   * @throws {DriverError} as {@link onHost}.
   */
  async read(id: string, shown?: readonly (keyof SystemDetails)[]): Promise<SystemSnapshot> {
    const snapshot = await this.#onOwner(id, async (member, uuid) => {
      const others = this.#index.holders(uuid).filter((holder) => holder !== member);
      if (others.length === 0) return await member.read(uuid, shown);
      // The states of all copies decide which host serves the machine.
      const before = member.known.stateOf(uuid);
      const reads = [member, ...others].map((each) => each.read(uuid, shown).catch(() => undefined));
      await settlesWithin(Promise.all(reads), LIST_WAIT_MS);
      const owner = this.#index.settle(uuid, before) ?? member;
      return await owner.read(uuid, shown);
    });
    return this.shown.show(snapshot);
  }

  /**
   * Runs a call on the host that serves the machine: a call that changes it, or needs a running one.
   * @throws {DriverError} notFound, also for a name of several machines; unavailable, if the host does not answer, or
   *   if a lost host that was never listed may have the machine; the error of the call.
   */
  async onHost<Result>(id: string, call: (member: HostMember, uuid: string) => Promise<Result>): Promise<Result> {
    return await this.#onOwner(id, (member, uuid) => member.run(() => call(member, uuid)));
  }

  /** Returns the host to which a machine migrates at the moment; undefined if it does not migrate. */
  migrationTarget(uuid: string): HostMember | undefined {
    return this.#index.migrationTarget(uuid);
  }

  /**
   * Returns the network facts of a guest; none while its host does not answer, or if its driver has none.
   * @throws {DriverError} as {@link onHost}.
   */
  async facts(id: string): Promise<NetworkFacts> {
    return await this.#onOwner(id, async ({ watch, driver: { guestNetwork } }, uuid) => {
      if (watch.loss !== null || guestNetwork === undefined) return new Map();
      return await watch
        .whileReachable(() => guestNetwork.facts(uuid))
        .catch((error: unknown) => {
          if (isDriverError(error, 'unavailable')) return new Map();
          throw error;
        });
    });
  }

  /** Returns the statistics of all hosts that answer in time, of each machine only from the host that serves it. */
  async statistics(): Promise<readonly MachineStatistics[]> {
    const byHost = await Promise.all(
      this.#members.map(async (member) =>
        (await member.statistics()).filter(({ uuid }) => this.#index.owner(uuid) === member),
      ),
    );
    return byHost.flat();
  }

  async #setHosts(next: readonly HostRef[]): Promise<void> {
    const before = this.#members;
    this.#members = next.map(
      (host) => before.find(({ name, uri }) => name === host.name && uri === host.uri) ?? this.#open(host),
    );
    const removed = before.filter((member) => !this.#members.includes(member));
    const added = this.#members.filter((member) => !before.includes(member));
    for (const member of removed) {
      for (const ref of member.known.refs.values()) {
        if (this.#index.owner(ref.uuid) === undefined) this.changes.reportRemoval(member, ref);
      }
    }
    this.#options.store.scheduleWrite();
    // Closed and not started members report no loss, so listeners get none after `removed` or before `added`.
    const closing = removed.map((member) => member.close(endingOf(member, next)));
    for (const { name } of removed) {
      this.#options.log.info(`host ${name} was removed`);
      this.#report({ kind: 'removed', name });
    }
    for (const { name } of added) {
      this.#options.log.info(`host ${name} was added`);
      this.#report({ kind: 'added', name });
    }
    const starting = this.#isStarted ? added.map((member) => member.start()) : [];
    await Promise.all([...starting, ...closing]);
  }

  #report(change: HostChange): void {
    for (const { listener } of this.#listeners) listener(change);
  }

  #open(host: HostRef): HostMember {
    const { open, store, backgroundWork, log } = this.#options;
    const member: HostMember = new HostMember({
      ...host,
      driver: open(host, (snapshot) => member.known.update(snapshot)),
      stored: store.machinesOf(host),
      backgroundWork,
      onChange: (from, change) => {
        this.changes.handle(from, change);
        store.scheduleWrite();
      },
      onLoss: (loss, wasLost) => {
        const { name } = host;
        if (loss !== null) {
          const { reason } = loss;
          log.warn(`host ${name} does not answer: its machines show their last known data`, { reason });
          this.#report({ kind: 'lost', name, reason });
          return;
        }
        log.info(`host ${name} answers`);
        if (wasLost) this.#report({ kind: 'back', name });
      },
      onListed: () => store.scheduleWrite(),
      onFault: (call, error) => this.#faults.warn(`${call} on host ${host.name} failed`, error),
    });
    store.add(member, () => this.#members.includes(member));
    return member;
  }

  /**
   * Runs a call on the host that serves a machine. If the call rejects with `notFound`, and the machine is now on
   * another host, runs the call there.
   * @throws {DriverError} notFound, also for a name of several machines; unavailable, if a lost host that was
   *   never listed may have the machine; the error of the call.
   */
  async #onOwner<Result>(id: string, call: (member: HostMember, uuid: string) => Promise<Result>): Promise<Result> {
    const { uuid } = await this.#find(id);
    const member = this.#index.owner(uuid);
    if (member === undefined) throw notFound(id);
    try {
      return await call(member, uuid);
    } catch (error) {
      // The close of a removed host can end a call halfway. Such a call does not run again on another host.
      if (!isDriverError(error, 'notFound') || error === member.ending) throw error;
      await this.#look(uuid);
      const next = this.#index.owner(uuid);
      if (next === undefined || next === member) throw error;
      return await call(next, uuid);
    }
  }

  async #find(id: string): Promise<SystemRef> {
    const found = this.#index.matching(id);
    if (found.length > 0) return onlyMachine(found, id);
    await this.#look(id);
    const next = this.#index.matching(id);
    if (next.length === 0) this.#assertAllListed();
    return onlyMachine(next, id);
  }

  /** Looks for a machine on all hosts that answer. */
  async #look(id: string): Promise<void> {
    await Promise.all(this.#members.map((member) => member.look(id)));
  }

  /** @throws {DriverError} unavailable, if a host that was never listed does not answer: it may have the machine. */
  #assertAllListed(): void {
    for (const { known, watch } of this.#members) if (!known.isListed) watch.assertReachable();
  }

  /** @throws {DriverError} unavailable, with the reason of the first host that does not answer. */
  #failWithLoss(): never {
    for (const { watch } of this.#members) watch.assertReachable();
    throw new DriverError('unavailable', 'asking libvirt: no host has answered yet');
  }
}

/** Ignores the error of an earlier change of the hosts: its caller got the error. Later changes still run. */
const reportedToCaller = (): void => undefined;

const notFound = (id: string): DriverError => new DriverError('notFound', `looking up machine ${id}: no such machine`);
