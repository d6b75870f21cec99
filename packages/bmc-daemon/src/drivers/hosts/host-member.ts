/** One host of several: its driver, whether it answers, and its last known machines. */
import { DriverError, isDriverError } from '../driver-error.js';
import type { HypervisorDriver } from '../driver.js';
import type { HostFacts, HostRef, HostSnapshot } from '../hosts-control.js';
import type { MachineChange } from '../machine-change.js';
import type { BackgroundWork } from '../queue/background-work.js';
import { settlesWithin } from '../queue/settles-within.js';
import type { SystemDetails, SystemSnapshot } from '../snapshot/system-snapshot.js';
import type { MachineStatistics } from '../statistics-control.js';
import { HostWatch, type Loss } from './host-watch.js';
import { KnownMachines, type StoredMachine } from './known-machines.js';

/** Maximum time that a lookup waits for a host. A list waits as long for a host that was listed before. */
export const LIST_WAIT_MS = 250;
/** Maximum time that a query of statistics waits for the host. */
const STATISTICS_WAIT_MS = 4_000;

/** Options of {@link HostMember}. */
interface HostMemberOptions extends HostRef {
  readonly driver: HypervisorDriver;
  /** The machines in the state folder; undefined: the machines of this host were never listed. */
  readonly stored: readonly StoredMachine[] | undefined;
  /** Limits how many machines are read in the background at once. All hosts share it. */
  readonly backgroundWork: BackgroundWork;
  readonly onChange: (member: HostMember, change: MachineChange) => void;
  /** Called as the option `onChange` of {@link HostWatch}. */
  readonly onLoss: (loss: Loss | null, wasLost: boolean) => void;
  /** Called after each successful list, and after each survey (the first reads of newly listed machines). */
  readonly onListed: () => void;
  /**
   * Called for an error that no caller gets, for example the error of a background read. Not called for
   * `unavailable` and `notFound`.
   */
  readonly onFault: (call: string, error: unknown) => void;
}

/** One host: its driver, the last known data of its machines, and checks whether it answers. */
export class HostMember {
  readonly name: string;
  readonly uri: string;
  readonly driver: HypervisorDriver;
  readonly known: KnownMachines;
  readonly watch: HostWatch;
  readonly #options: HostMemberOptions;
  #unsubscribe: (() => void) | undefined;
  /** Number of the last list that was requested. */
  #requested = 0;
  /** Number of the newest list whose result was used. */
  #used = 0;
  /** A list that takes longer than {@link LIST_WAIT_MS}. Until it ends, no other list and no lookup starts. */
  #overdue: Promise<void> | undefined;
  #isSurveying = false;
  /** True while lists fail although the host answers. */
  #failsToList = false;
  /** The last report of the host. */
  #facts: HostFacts | null = null;
  readonly #openedAt = new Date();
  #isClosed = false;
  #ending: DriverError | undefined;

  constructor(options: HostMemberOptions) {
    const { name, uri, driver, stored, onLoss } = options;
    this.#options = options;
    [this.name, this.uri, this.driver] = [name, uri, driver];
    this.known = new KnownMachines(name, stored);
    this.watch = new HostWatch({
      name,
      ping: async () => {
        await driver.ping();
        // A host that fails to list its machines may still answer pings, so the check must list them too.
        if (!this.#failsToList) return;
        await driver.listSystems();
        this.#failsToList = false;
      },
      onChange: (loss, wasLost) => {
        onLoss(loss, wasLost);
        if (loss === null) void this.refresh();
      },
    });
  }

  /** Starts the driver, which connects in the background, and the checks of the host. */
  async start(): Promise<void> {
    this.#unsubscribe = this.driver.onChange((change) => this.#options.onChange(this, change));
    await this.driver.start();
    void this.watch.check();
  }

  /** @param ending the error for calls that end because of this close. Default: the error of the driver. */
  async close(ending?: DriverError): Promise<void> {
    this.#isClosed = true;
    this.#ending = ending;
    this.#unsubscribe?.();
    this.watch.close();
    await this.driver.close();
  }

  /** The error given to {@link close}; undefined before. */
  get ending(): DriverError | undefined {
    return this.#ending;
  }

  /**
   * Lists the machines of the host. Waits only a short time if they were listed before. Does nothing
   * while the host does not answer, or while an earlier list takes long. Never rejects.
   */
  async refresh(): Promise<void> {
    if (this.watch.loss !== null || this.#overdue !== undefined) return;
    const listing = this.#list();
    if (!this.known.isListed) {
      await listing;
      return;
    }
    if (await settlesWithin(listing, LIST_WAIT_MS)) return;
    this.#overdue = listing.finally(() => {
      this.#overdue = undefined;
    });
  }

  /**
   * Looks for a machine that may be new on this host. Returns after a short time. Does nothing under the
   * conditions of {@link refresh}. Never rejects.
   */
  async look(id: string): Promise<void> {
    if (this.watch.loss !== null || this.#overdue !== undefined) return;
    const looking = this.watch
      .whileReachable(() => this.driver.getSystem(id))
      .then(
        (snapshot) => this.known.remember(snapshot),
        (error: unknown) => this.reportFault('looking for a machine', error),
      );
    await settlesWithin(looking, LIST_WAIT_MS);
  }

  /**
   * Reads a machine. Returns its last known data while the host does not answer.
   * @throws {DriverError} notFound; unavailable, if no data is known, or if the host answers its check but
   *   not this read; other errors of the read.
   */
  async read(uuid: string, shown?: readonly (keyof SystemDetails)[]): Promise<SystemSnapshot> {
    const { watch, known } = this;
    try {
      const snapshot = await watch.whileReachable(() => this.driver.getSystem(uuid, shown));
      known.remember(snapshot);
      return snapshot;
    } catch (error) {
      if (isDriverError(error, 'notFound')) known.remove(uuid);
      if (!isDriverError(error, 'unavailable')) throw error;
      const last = this.#last(uuid);
      if (last !== undefined) return last;
      // No data is known, or no check has shown a silence yet. Waits for a check. If the host is lost, returns known
      // data or throws. If it answers, throws the error of the read, or reads again if the host was silent before.
      const { silence } = watch;
      if (watch.loss === null) await watch.check();
      const next = this.#last(uuid);
      if (next !== undefined) return next;
      watch.assertReachable();
      if (silence === null) throw error;
    }
    return await this.read(uuid, shown);
  }

  /**
   * Reads the host itself. If it does not answer, returns its last report.
   * @throws {DriverError} an error that the host reports, but not unavailable.
   */
  async readHost(): Promise<HostSnapshot> {
    const { name, uri, driver } = this;
    try {
      const found = await this.watch.whileReachable(async () => await driver.hosts?.read(name));
      if (found?.reachable === false) void this.watch.check();
      this.#facts = found?.facts ?? this.#facts;
      if (found !== undefined) return { ...found, facts: this.#facts };
    } catch (error) {
      if (!isDriverError(error, 'unavailable')) throw error;
    }
    const { loss } = this.watch;
    const { reason = null, since = this.#openedAt } = loss ?? {};
    return { name, uri, reachable: loss === null, reason, since, facts: this.#facts };
  }

  /**
   * Returns the statistics of the machines. Returns none if they do not arrive in time, if the read fails, or if
   * the driver cannot read all of them at once. Never rejects.
   */
  async statistics(): Promise<readonly MachineStatistics[]> {
    const { driver, watch } = this;
    const { statistics } = driver;
    if (statistics === undefined || !('all' in statistics) || watch.loss !== null) return [];
    let all: readonly MachineStatistics[] = [];
    const reading = watch
      .whileReachable(() => statistics.all())
      .then(
        (found) => (all = found),
        (error: unknown) => this.reportFault('reading the statistics of its machines', error),
      );
    await settlesWithin(reading, STATISTICS_WAIT_MS);
    return all;
  }

  /**
   * Runs a call that changes a machine, or needs a running one.
   * @throws {DriverError} unavailable, at once if the last check of the host failed; the error of the call; the error
   *   given to {@link close}.
   */
  async run<Result>(call: () => Promise<Result>): Promise<Result> {
    this.watch.assertReachable();
    try {
      return await call();
    } catch (error) {
      if (!isDriverError(error, 'unavailable')) throw error;
      if (this.#ending !== undefined) throw this.#ending;
      void this.watch.check();
      throw error;
    }
  }

  /** Reports an error that no caller gets, except `unavailable` and `notFound`. */
  reportFault(call: string, error: unknown): void {
    if (!isDriverError(error, 'notFound', 'unavailable')) this.#options.onFault(call, error);
  }

  /** Returns the last known data of a machine while the host does not answer; else undefined. */
  #last(uuid: string): SystemSnapshot | undefined {
    const { silence } = this.watch;
    return silence === null ? undefined : this.known.last(uuid, silence);
  }

  get #isLost(): boolean {
    return this.watch.loss !== null;
  }

  async #list(): Promise<void> {
    const number = (this.#requested += 1);
    try {
      const list = await this.watch.whileReachable(() => this.driver.listSystems());
      // A list that ends after a newer one is outdated.
      if (number < this.#used) return;
      this.#used = number;
      this.known.replace(list);
      this.#options.onListed();
      void this.#survey();
    } catch (error) {
      // After `unavailable`, the flag stays as it is: the host did not answer. Only a check that lists the
      // machines successfully resets the flag.
      if (!isDriverError(error, 'unavailable')) this.#failsToList = true;
      if (!this.#isLost) void this.watch.check();
    }
  }

  /** Reads a machine whose data is unknown, unless a client has read it meanwhile, or the host is lost or closed. */
  async #readFirst(uuid: string): Promise<void> {
    if (this.#isClosed || this.#isLost || this.known.isRead(uuid)) return;
    await this.read(uuid).catch((error: unknown) => this.reportFault(`reading machine ${uuid}`, error));
  }

  /**
   * Reads the machines whose data is unknown, one after another, so that clients can see them if the host
   * stops answering. Ends early if it does.
   */
  async #survey(): Promise<void> {
    if (this.#isSurveying || !this.known.hasUnread) return;
    this.#isSurveying = true;
    try {
      for (const uuid of this.known.refs.keys()) {
        if (this.#isClosed || this.#isLost) return;
        if (!this.known.isRead(uuid)) await this.#options.backgroundWork.run(() => this.#readFirst(uuid));
      }
    } finally {
      this.#isSurveying = false;
      this.#options.onListed();
    }
  }
}

/** Returns the error for calls that end because the new configuration lacks the host, or changes its name or URI. */
export function endingOf({ name, uri }: HostRef, configured: readonly HostRef[]): DriverError {
  return configured.some((host) => host.name === name || host.uri === uri)
    ? new DriverError('unavailable', `using host ${name}: the configuration of the host changed`)
    : new DriverError('notFound', `using host ${name}: the host was removed from the configuration`);
}
