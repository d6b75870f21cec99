/**
 * A driver with machines in memory, for a first look without libvirt (`--fake`), for client
 * developers, and for tests. Power, boot override and media have the rules of the libvirt driver.
 * There are no guests. An allowed action succeeds at once, unless a plan delays it or lets it fail.
 * An insert also requests the image from its server.
 */
import { setImmediate } from 'node:timers/promises';
import type { ImageRequest } from '../../media/image.js';
import type { BootChoice } from '../rules/boot-override.js';
import { DriverError } from '../driver-error.js';
import type { CompleteDriver } from '../driver.js';
import type { InsertOptions, OperationOptions } from '../operation-options.js';
import { everyAction, type PowerAction } from '../power.js';
import type { SystemRef, CompleteSnapshot } from '../snapshot/system-snapshot.js';
import { changeOfState, type MachineChangeKind, type MachineChangeListener } from '../machine-change.js';
import type { GuestNetwork } from '../guest-network.js';
import { cdEffect, everyPart, type SystemChange } from '../system-change.js';
import { MachineQueue } from '../queue/machine-queue.js';
import { FakeConsoles } from './fake-console.js';
import { FakeChanges } from './fake-changes.js';
import { afterFirmwareStop } from './fake-firmware.js';
import { withoutImage, FakeMedia, withImage } from './fake-media.js';
import type { FakePlan } from './fake-plan.js';
import { FakePower } from './fake-power.js';
import { sampleFacts } from './sample-facts.js';
import { FakeStatistics } from './fake-statistics.js';
import { FakeTimetable, processClock, type FakeClock } from './fake-timetable.js';
import { FakeVolumes } from './fake-volumes.js';
import { probeImage } from './probe-image.js';
import { sampleMachines } from './sample-machines.js';

/** Options of the fake driver. */
interface FakeDriverOptions {
  /** Default: {@link sampleMachines}. */
  readonly machines?: readonly CompleteSnapshot[];
  /** Fetches an image. Default: {@link probeImage}. */
  readonly fetchImage?: (image: ImageRequest, options: InsertOptions) => Promise<void>;
  /** Clock of the statistics, in milliseconds. Default: the system clock. */
  readonly now?: () => number;
  /** Delays and failures. Default: none. */
  readonly plan?: FakePlan | undefined;
  /** Clock of the plan. Default: the clock of the process. */
  readonly clock?: FakeClock;
  /** Called at the end of `close`. */
  readonly onClose?: () => void;
}

/** A {@link CompleteDriver} with machines in memory. Snapshots are replaced, never changed. */
export class FakeDriver implements CompleteDriver {
  readonly name = 'fake';
  readonly #machines: Map<string, CompleteSnapshot>;
  /** Stays the same object until a machine is defined or undefined, so that callers can cache results. */
  #list: readonly SystemRef[] | undefined;
  /** UUIDs by name; undefined after a machine was defined or undefined. */
  #uuids: ReadonlyMap<string, string> | undefined;
  readonly powerActions = everyAction;
  readonly changeable = everyPart;
  readonly #changes = new FakeChanges();
  readonly media: FakeMedia;
  readonly guestNetwork: GuestNetwork = { facts: async (id) => sampleFacts(await this.getSystem(id)) };
  readonly console = new FakeConsoles((id) => this.find(id));
  readonly volumes = new FakeVolumes({
    find: (id) => this.find(id),
    update: (uuid, change) => this.#update(uuid, change),
  });
  readonly statistics: FakeStatistics;
  readonly #queue = new MachineQueue();
  readonly #timetable: FakeTimetable | undefined;
  readonly #power: FakePower;
  readonly #listeners = new Set<MachineChangeListener>();
  readonly #fetchImage: (image: ImageRequest, options: InsertOptions) => Promise<void>;
  readonly #onClose: () => void;

  constructor(options: FakeDriverOptions = {}) {
    this.#machines = new Map((options.machines ?? sampleMachines()).map((machine) => [machine.uuid, machine]));
    const { plan, clock = processClock } = options;
    this.#timetable =
      plan === undefined ? undefined : new FakeTimetable({ plan, clock, remove: (uuid) => this.#takeAway(uuid) });
    this.#power = new FakePower({
      find: (id) => this.find(id),
      update: (uuid, change) => this.#update(uuid, change),
      report: (machine, kind) => this.#report(machine, kind),
      queue: this.#queue,
      timetable: this.#timetable,
    });
    for (const machine of this.#machines.values()) this.#power.noteRun(machine);
    this.#fetchImage = options.fetchImage ?? ((image, insert) => probeImage(image, insert));
    this.media = new FakeMedia({
      find: (id) => this.find(id),
      update: (uuid, change) => this.#update(uuid, change),
      queue: this.#queue,
      before: (...call) => this.#timetable?.before(...call),
      fetchImage: this.#fetchImage,
    });
    this.#onClose = options.onClose ?? (() => undefined);
    this.statistics = new FakeStatistics({
      machines: () => this.#machines.values(),
      now: options.now ?? Date.now,
    });
  }

  async start(): Promise<void> {
    await setImmediate();
    this.#timetable?.start();
  }

  async close(): Promise<void> {
    this.#timetable?.close();
    await this.#queue.close();
    this.#onClose();
  }

  async ping(): Promise<void> {
    await setImmediate();
  }

  onChange(listener: MachineChangeListener): () => void {
    // A new function for each call, because a caller may add the same listener twice.
    const entry: MachineChangeListener = (change) => listener(change);
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  async listSystems(): Promise<readonly SystemRef[]> {
    await (this.#timetable?.beforeList() ?? setImmediate());
    this.#list ??= [...this.#machines.values()].map(({ uuid, name }) => ({ uuid, name }));
    return this.#list;
  }

  async getSystem(id: string): Promise<CompleteSnapshot> {
    // As with libvirt, a reply never arrives within the same turn of the event loop.
    await setImmediate();
    const wait = this.#timetable?.before('read', this.find(id));
    if (wait !== undefined) await wait;
    return this.find(id);
  }

  /**
   * Returns the current snapshot at once. A change listener that calls this method gets the
   * snapshot after the reported change.
   * @throws {DriverError} notFound.
   */
  find(id: string): CompleteSnapshot {
    const found = this.#machines.get(id.toLowerCase()) ?? this.#named(id);
    if (found === undefined)
      throw new DriverError('notFound', `looking up machine ${JSON.stringify(id)}: no such machine`);
    return found;
  }

  async power(id: string, action: PowerAction, options: OperationOptions = {}): Promise<void> {
    await this.#power.run(this.find(id), action, options);
  }

  async change(id: string, change: SystemChange, options: InsertOptions = {}): Promise<void> {
    await setImmediate();
    const machine = this.find(id);
    const { uuid } = machine;
    const image = change.cd?.image;
    if (image === undefined) {
      await this.#timetable?.before('change', machine, options.signal);
      this.#commit(uuid, change);
      return;
    }
    if (image === null) {
      const eject = async (): Promise<void> => {
        await (this.#timetable?.before('eject', machine, options.signal) ?? setImmediate());
        this.#commit(uuid, change);
      };
      await this.#queue.eject(machine, 'cdrom', eject, options);
      return;
    }
    const insert = async (signal: AbortSignal): Promise<void> => {
      // Checks the change before the download, so that an invalid part costs no download.
      this.#changes.after(this.find(uuid), change);
      if (this.#cdEffect(uuid, change) === 'insert') {
        await this.#timetable?.before('insert', machine, signal);
        await this.#fetchImage(image, { ...options, signal });
      }
      this.#commit(uuid, change);
    };
    await this.#queue.insert(machine, 'cdrom', insert, options);
  }

  /** Returns the boot source of the last start; undefined before the first start. @throws {DriverError} notFound. */
  bootedFrom(id: string): BootChoice | undefined {
    return this.#power.bootedFrom(this.find(id).uuid);
  }

  /** Adds or replaces a machine, as a user of virsh can, without a request to the daemon. */
  define(machine: CompleteSnapshot): void {
    const current = this.#machines.get(machine.uuid);
    this.#machines.set(machine.uuid, machine);
    this.#power.noteRun(machine);
    this.#machinesChanged();
    if (current === undefined) this.#report(machine, 'defined');
    else this.#reportDifference(current, machine);
  }

  /** Removes a machine, as a user of virsh can. @throws {DriverError} notFound. */
  undefine(id: string): void {
    const machine = this.find(id);
    this.#machines.delete(machine.uuid);
    this.#power.forget(machine.uuid);
    this.#machinesChanged();
    this.#report(machine, 'undefined');
  }

  /** Removes a machine. @returns the function that adds it again; undefined if there is no such machine. */
  #takeAway(uuid: string): (() => void) | undefined {
    const machine = this.#machines.get(uuid);
    if (machine === undefined) return undefined;
    this.undefine(uuid);
    return () => {
      if (!this.#machines.has(uuid)) this.define(machine);
    };
  }

  #machinesChanged(): void {
    this.#list = undefined;
    this.#uuids = undefined;
  }

  #named(name: string): CompleteSnapshot | undefined {
    // If several machines have the same name, the first one has precedence, so the map gets it last.
    this.#uuids ??= new Map([...this.#machines.values()].reverse().map((machine) => [machine.name, machine.uuid]));
    const uuid = this.#uuids.get(name);
    return uuid === undefined ? undefined : this.#machines.get(uuid);
  }

  /** Returns the effect of a change on the CD drive. @throws {DriverError} mediaInUse. */
  #cdEffect(uuid: string, { cd }: SystemChange): ReturnType<typeof cdEffect> {
    return cd === undefined ? 'keep' : cdEffect(this.media.drive(uuid, 'cdrom'), cd, this.find(uuid).name);
  }

  /** Applies all parts of a change at once. @throws {DriverError} before any change. */
  #commit(uuid: string, change: SystemChange): void {
    const effect = this.#cdEffect(uuid, change);
    const before = this.find(uuid);
    const changed = this.#changes.after(before, change);
    this.#changes.note(before, change);
    if (effect === 'keep') {
      this.#update(uuid, changed);
      return;
    }
    const image = change.cd?.image ?? null;
    const drive = this.media.drive(uuid, 'cdrom');
    const after = effect === 'insert' && image !== null ? withImage(drive, image) : withoutImage(drive);
    const media = changed.media.map((current) => (current.device === 'cdrom' ? after : current));
    this.#update(uuid, { ...changed, media });
  }

  #update(uuid: string, change: Partial<CompleteSnapshot>): void {
    const current = this.find(uuid);
    const machine = this.#power.withCurrentRun({ ...current, ...change });
    this.#machines.set(uuid, machine);
    this.#reportDifference(current, machine);
  }

  #reportDifference(before: CompleteSnapshot, after: CompleteSnapshot): void {
    const kind = changeOfState(before.state, after.state);
    if (kind !== undefined) this.#report(after, kind);
    if (before.media !== after.media) this.#report(after, 'media');
    // Ignores Secure Boot of the current run: it changes only with the state, whose change is reported above.
    const rest = (machine: CompleteSnapshot) => ({
      ...machine,
      ...afterFirmwareStop(machine),
      state: null,
      media: null,
    });
    if (isDifferent(rest(before), rest(after))) this.#report(after, 'changed');
  }

  #report({ uuid, name }: SystemRef, kind: MachineChangeKind): void {
    this.console.follow({ kind, uuid, name });
    this.statistics.follow({ kind, uuid, name });
    for (const listener of this.#listeners) listener({ kind, uuid, name });
  }
}

/**
 * Returns whether two objects have different members. Most members are the same objects, so it compares these
 * first.
 */
function isDifferent(left: Readonly<Record<string, unknown>>, right: Readonly<Record<string, unknown>>): boolean {
  return Object.keys({ ...left, ...right }).some(
    (key) => left[key] !== right[key] && JSON.stringify(left[key]) !== JSON.stringify(right[key]),
  );
}
