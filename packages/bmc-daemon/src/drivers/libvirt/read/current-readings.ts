/**
 * Stores readings that are still current: there was no edit of this daemon and no event of libvirt since. A
 * request that has just read a machine can then change it without a second read.
 */
import type { SystemSnapshot } from '../../snapshot/system-snapshot.js';

/** The XML of a reading. */
export interface ReadXml {
  /** The definition, with its passwords. */
  readonly inactiveXml: string;
  /** The XML of the running machine; null if it was off. */
  readonly liveXml: string | null;
}

interface CurrentReading extends ReadXml {
  readonly snapshot: SystemSnapshot;
}

/** The current readings of the machines of one host. */
export class CurrentReadings {
  readonly #readings = new Map<string, CurrentReading>();
  /** Number of changes of each machine, by UUID. */
  readonly #changes = new Map<string, number>();
  /** Number of changes of the connection. */
  #connections = 0;

  /**
   * Begins a reading.
   * @returns a function that stores the result, unless the machine or the connection changed meanwhile.
   */
  begin(uuid: string): (reading: CurrentReading) => void {
    const [before, connection] = [this.#changes.get(uuid), this.#connections];
    return (reading) => {
      const isCurrent = this.#changes.get(uuid) === before && this.#connections === connection;
      if (isCurrent) this.#readings.set(uuid, reading);
    };
  }

  /** Forgets the reading of a machine that may have changed. */
  forget(uuid: string): void {
    this.#changes.set(uuid, (this.#changes.get(uuid) ?? 0) + 1);
    this.#readings.delete(uuid);
  }

  /**
   * Forgets all readings when the connection is lost or opened, because machines may have changed
   * meanwhile.
   */
  forgetAll(): void {
    this.#connections += 1;
    this.#readings.clear();
  }

  /** Returns the current snapshot of a machine; undefined if there is none. */
  snapshotOf(uuid: string): SystemSnapshot | undefined {
    return this.#readings.get(uuid)?.snapshot;
  }

  /** Returns the XML of a snapshot; undefined if the snapshot is not current. */
  xmlOf(uuid: string, snapshot: SystemSnapshot | undefined): ReadXml | undefined {
    const reading = this.#readings.get(uuid);
    return reading !== undefined && reading.snapshot === snapshot ? reading : undefined;
  }

  /** Forgets machines that do not exist anymore. */
  retain(uuids: ReadonlySet<string>): void {
    for (const known of [this.#readings, this.#changes]) {
      for (const uuid of known.keys()) if (!uuids.has(uuid)) known.delete(uuid);
    }
  }
}
