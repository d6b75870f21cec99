/**
 * Reads machines as snapshots. XML can change without an event, so each request reads it.
 * Concurrent readers of a machine share a read, and unchanged XML is not parsed again.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { isLibvirtError } from '@rackless/libvirt';
import { DriverError } from '../../driver-error.js';
import type { DomainState, CompleteSnapshot } from '../../snapshot/system-snapshot.js';
import { DiskCapacity, type Capacities, type NamedDisk } from './disk-capacity.js';
import { attempt } from '../failure.js';
import { catalogOfFileNames, type FirmwareCatalog } from '../firmware-catalog.js';
import type { MachineCondition, Inventory, Machine } from '../machine/inventory.js';
import { readDomain, type Domain } from '../xml/domain.js';
import { parseXml } from '../xml/parse.js';
import { CurrentReadings } from './current-readings.js';
import { machineReader, sameReading, type Reading } from './reading.js';
import { hasHostCpu, readSnapshot } from '../xml/snapshot.js';

/** Time limit for libvirtd to report whether a machine runs. */
const ALIVE_WAIT_MS = 1_000;

/**
 * Time that a reader waits for a new reading of a machine that did not answer before. A working
 * libvirtd needs 1 ms.
 */
const SILENT_WAIT_MS = 100;

interface CachedReading extends Reading {
  readonly disks: readonly NamedDisk[];
  readonly capacities: Capacities;
  readonly snapshot: CompleteSnapshot;
  /**
   * True if the machine uses the CPU of the host, and the name of that CPU is not known yet. The
   * next reader requests it again.
   */
  readonly awaitsHostCpu: boolean;
}

/** A machine for which libvirt does not answer, because its QEMU hangs. */
interface Silence {
  readonly state: DomainState;
  /**
   * Returns the last reading with `unansweredSince`.
   * @throws {DriverError} unavailable, if there is none.
   */
  readonly answer: () => CompleteSnapshot;
}

/**
 * A read in progress. Its result is stored only if no newer read of the machine has begun, or if there is no
 * stored result yet.
 */
interface Read {
  readonly result: Promise<CompleteSnapshot>;
  /**
   * Whether other readers may share this read. False after libvirt has answered, because the sizes
   * of disks can take another second, and the XML is then old.
   */
  isJoinable: boolean;
}

/** Functions that a read calls while it makes progress. */
interface Progress {
  readonly isNewest: () => boolean;
  /** Called when libvirt has answered. */
  readonly onXml: () => void;
  /** Stores the reading as current. */
  readonly store: ReturnType<CurrentReadings['begin']>;
}

/** Dependencies of {@link SystemReader}. */
interface SystemReaderOptions {
  readonly inventory: Inventory;
  /** Maximum time that a read waits for libvirt. */
  readonly timeoutMs: number;
  /** Time that the first reader of a machine waits for the sizes of its disks. */
  readonly diskSizeWaitMs: number;
  /** Firmware files of the host. Default: a catalog that recognizes the firmware by its file name. */
  readonly catalog?: () => Promise<FirmwareCatalog>;
  /**
   * Returns the name of the host's CPU; null if it has none, undefined if not known yet. Default:
   * null.
   */
  readonly hostCpuModel?: () => Promise<string | null | undefined>;
  /** Returns whether QEMU can stream images. Default: false. */
  readonly streams?: () => boolean;
  /** Stores the current readings. Default: a store that only this reader uses. */
  readonly current?: CurrentReadings;
}

/** Reads machines as snapshots. Caches each snapshot until its XML, state or disk sizes change. */
export class SystemReader {
  readonly current: CurrentReadings;
  readonly #inventory: Inventory;
  readonly #timeoutMs: number;
  readonly #capacity: DiskCapacity;
  readonly #catalog: () => Promise<FirmwareCatalog>;
  readonly #hostCpuModel: () => Promise<string | null | undefined>;
  readonly #readMachine: (machine: Machine, condition: MachineCondition) => Promise<Reading>;
  readonly #cached = new Map<string, CachedReading>();
  readonly #reads = new Map<string, Read>();
  readonly #silent = new Map<string, Silence>();

  constructor(options: SystemReaderOptions) {
    const { inventory, timeoutMs, diskSizeWaitMs, catalog, hostCpuModel, streams, current } = options;
    this.current = current ?? new CurrentReadings();
    this.#inventory = inventory;
    this.#timeoutMs = timeoutMs;
    this.#capacity = new DiskCapacity(diskSizeWaitMs);
    this.#catalog = catalog ?? (() => Promise.resolve(catalogOfFileNames));
    this.#hostCpuModel = hostCpuModel ?? (() => Promise.resolve(null));
    this.#readMachine = machineReader({ timeoutMs, streams: streams ?? (() => false) });
  }

  /**
   * Reads a machine. If libvirt did not answer the previous read of this machine, waits only 0.1 s for a new reading,
   * and then returns the last successful one. The new reading continues, and later readers get its result. If the
   * state of the machine has changed since the last reading, waits for a new reading.
   * @throws {DriverError} notFound, unavailable; other kinds for other errors of libvirt.
   */
  read(machine: Machine): Promise<CompleteSnapshot> {
    const running = this.#reads.get(machine.uuid);
    const reading = running?.isJoinable === true ? running.result : this.#begin(machine);
    const silence = this.#silent.get(machine.uuid);
    return silence === undefined ? reading : this.#readSilent(machine, reading, silence);
  }

  #begin(machine: Machine): Promise<CompleteSnapshot> {
    const { uuid } = machine;
    const isNewest = (): boolean => this.#reads.get(uuid) === read;
    const onXml = (): void => {
      read.isJoinable = false;
    };
    const store = this.current.begin(uuid);
    const result = this.#read(machine, { isNewest, onXml, store }).finally(() => {
      if (isNewest()) this.#reads.delete(uuid);
    });
    const read: Read = { result, isJoinable: true };
    this.#reads.set(uuid, read);
    return result;
  }

  async #readSilent(machine: Machine, reading: Promise<CompleteSnapshot>, silence: Silence): Promise<CompleteSnapshot> {
    // The reading may fail after the caller has got the old reading. Without this handler, Node would then
    // end the process.
    reading.catch(() => undefined);
    const { state } = await this.#inventory.condition(machine);
    if (state !== silence.state) {
      // The running read began before the state changed, and would return the old state.
      if (this.#silent.get(machine.uuid) === silence) this.forget(machine.uuid);
      return await this.read(machine);
    }
    const outcome = await Promise.race([reading, delay(SILENT_WAIT_MS, null, { ref: false })]);
    return outcome ?? silence.answer();
  }

  /** Returns the last reading of the machine; reads it if there is none. @throws as {@link read}. */
  async recent(machine: Machine): Promise<{ readonly system: CompleteSnapshot; readonly inactiveXml: string }> {
    const system = this.#cached.get(machine.uuid)?.snapshot ?? (await this.read(machine));
    return { system, inactiveXml: this.#cached.get(machine.uuid)?.inactiveXml ?? '' };
  }

  /** Returns the XML of the last reading, which may be outdated; undefined if there is none. */
  lastReading(uuid: string): { readonly inactiveXml: string; readonly liveXml: string | null } | undefined {
    return this.#cached.get(uuid);
  }

  /**
   * Makes the next call of {@link read} begin a new read, which sees all changes before this call. A read in progress
   * then does not replace a stored result.
   */
  forget(uuid: string): void {
    this.current.forget(uuid);
    this.#reads.delete(uuid);
    this.#silent.delete(uuid);
  }

  /**
   * Does the same as {@link forget}, after a change for which libvirt did not answer. Does nothing for a
   * machine that did not answer before, so that its readers still do not wait.
   */
  forgetUnlessSilent(uuid: string): void {
    if (!this.#silent.has(uuid)) this.forget(uuid);
  }

  /** Forgets machines that do not exist anymore. */
  retain(uuids: ReadonlySet<string>): void {
    this.current.retain(uuids);
    for (const known of [this.#cached, this.#silent]) {
      for (const uuid of known.keys()) if (!uuids.has(uuid)) known.delete(uuid);
    }
  }

  async #read(machine: Machine, { isNewest, onXml, store }: Progress): Promise<CompleteSnapshot> {
    const condition = await this.#inventory.condition(machine);
    const last = this.#cached.get(machine.uuid);
    let reading: Reading;
    try {
      reading = await attempt(`reading machine ${machine.name}`, () => this.#readMachine(machine, condition));
    } catch (error) {
      if (!isSilence(error) || !(await this.#isOnlyQemuSilent(machine))) throw error;
      const silence = this.#silence(machine, condition.state, error);
      if (isNewest()) this.#silent.set(machine.uuid, silence);
      return silence.answer();
    }
    if (isNewest()) this.#silent.delete(machine.uuid);
    onXml();
    const stored = (snapshot: CompleteSnapshot): CompleteSnapshot => {
      // Only a reading with passwords can be the base of a change. An older read that ends late must not replace
      // a newer reading.
      if (reading.hasPasswords && isNewest()) store({ snapshot, ...reading });
      return snapshot;
    };
    const unchanged = last !== undefined && sameReading(last, reading);
    // Parses each text once, because this is the most expensive part of a first reading.
    const documents = lazy(() => ({
      inactive: parseXml(reading.inactiveXml),
      live: reading.liveXml === null ? null : parseXml(reading.liveXml),
    }));
    const disks = unchanged ? last.disks : namedDisks(readDomain(documents().live ?? documents().inactive));
    const capacities = await this.#capacity.read(machine.domain, disks);
    if (unchanged && last.capacities === capacities) {
      if (!last.awaitsHostCpu || (await this.#hostCpuModel()) === undefined) return stored(last.snapshot);
    }
    const { host } = machine;
    const extras = {
      state: reading.state,
      failure: reading.failure,
      migrating: reading.migrating,
      autostart: reading.autostart,
      persistent: machine.persistent,
      capacityBytes: capacities,
      catalog: await this.#catalog(),
      streams: reading.streams,
    };
    const snapshotFor = (hostCpuModel: string | null): CompleteSnapshot => ({
      ...readSnapshot(documents().inactive, documents().live, { ...extras, hostCpuModel }),
      ...(host === undefined ? {} : { host }),
    });
    const plain = snapshotFor(null);
    const hostCpuModel = hasHostCpu(plain) ? await this.#hostCpuModel() : null;
    const snapshot = typeof hostCpuModel === 'string' ? snapshotFor(hostCpuModel) : plain;
    // The first result is stored in any case, because `recent` needs a result.
    if (isNewest() || last === undefined) {
      const awaitsHostCpu = hostCpuModel === undefined;
      this.#cached.set(machine.uuid, { ...reading, disks, capacities, snapshot, awaitsHostCpu });
    }
    return stored(snapshot);
  }

  /**
   * Returns whether only the QEMU of this machine hangs. While a call waits for a hung QEMU, libvirt 11.3 and
   * later do not return the machine's XML, but answer other requests. Clients read a machine before they
   * switch it off, so the reader returns the last reading. This reading is correct: a change of devices needs
   * the lock that the waiting call has.
   */
  async #isOnlyQemuSilent({ domain }: Machine): Promise<boolean> {
    try {
      return await domain.isActive({ timeoutMs: Math.min(this.#timeoutMs, ALIVE_WAIT_MS) });
    } catch {
      return false; // libvirtd does not answer at all, so the caller reports the failed read.
    }
  }

  #silence({ uuid }: Machine, state: DomainState, error: unknown): Silence {
    const known = this.#silent.get(uuid);
    if (known?.state === state) return known;
    const last = this.#cached.get(uuid);
    const snapshot = last?.state === state ? { ...last.snapshot, unansweredSince: new Date() } : null;
    return {
      state,
      answer: () => {
        if (snapshot === null) throw error;
        return snapshot;
      },
    };
  }
}

/** Returns the disks without their XML elements. A cached element would keep the whole parsed definition in memory. */
function namedDisks({ devices }: Domain): readonly NamedDisk[] {
  return devices.disks.map(({ target, source: { name } }) => ({ target, source: { name } }));
}

/** Returns a function that creates a value at its first call. */
function lazy<Value>(create: () => Value): () => Value {
  let created: { readonly value: Value } | undefined;
  return () => (created ??= { value: create() }).value;
}

/** Returns whether libvirt did not answer in time on an open connection. */
const isSilence = (error: unknown): boolean =>
  error instanceof DriverError && isLibvirtError(error.cause, 'CALL_TIMEOUT', 'OPERATION_TIMEOUT');
