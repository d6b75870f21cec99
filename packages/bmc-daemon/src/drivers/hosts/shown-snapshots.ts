/**
 * Adds to the snapshots of machines the host that serves them. If several hosts have a machine of the same
 * UUID, also adds the names of these hosts, and logs a warning.
 */
import type { Log } from '@rackless/daemon/log/log.js';
import type { SystemSnapshot } from '../snapshot/system-snapshot.js';
import type { MachineIndex } from './machine-index.js';

/** The snapshots that clients of a driver for several hosts see. */
export class ShownSnapshots {
  readonly #index: MachineIndex;
  readonly #log: Pick<Log, 'warn'>;
  /** Shown snapshots by those of the hosts, so that two reads of an unchanged machine return the same object. */
  readonly #shown = new WeakMap<SystemSnapshot, SystemSnapshot>();
  readonly #originals = new WeakMap<SystemSnapshot, SystemSnapshot>();
  /** The hosts of the last warning, by UUID. */
  readonly #warned = new Map<string, string>();

  constructor(index: MachineIndex, log: Pick<Log, 'warn'>) {
    this.#index = index;
    this.#log = log;
  }

  /** Returns the snapshot with its host, and with `duplicates` if several hosts have its UUID. */
  show(snapshot: SystemSnapshot): SystemSnapshot {
    const { uuid } = snapshot;
    const host = this.#index.recordedOwner(uuid)?.name;
    const duplicates = this.#duplicatesOf(snapshot);
    const known = this.#shown.get(snapshot) ?? (snapshot.host === host ? snapshot : undefined);
    if (known?.host === host && known?.duplicates?.join() === duplicates?.join()) return known ?? snapshot;
    const shown = {
      ...snapshot,
      ...(host === undefined ? {} : { host }),
      ...(duplicates === undefined ? {} : { duplicates }),
    };
    this.#shown.set(snapshot, shown);
    this.#originals.set(shown, snapshot);
    return shown;
  }

  /**
   * Returns the snapshot of the host's driver for a shown one, because this driver recognizes only its own
   * objects.
   */
  originalOf(shown: SystemSnapshot): SystemSnapshot {
    return this.#originals.get(shown) ?? shown;
  }

  /**
   * Returns the names of all hosts with a machine of the same UUID. Undefined if there is only one such host,
   * during a migration, and if there are several for a short time only.
   */
  #duplicatesOf({ uuid, name }: SystemSnapshot): readonly string[] | undefined {
    const holders = this.#index.duplicates(uuid);
    if (holders === undefined) {
      this.#warned.delete(uuid);
      return undefined;
    }
    const hosts = holders.map((holder) => holder.name);
    const named = hosts.join(' and ');
    if (this.#warned.get(uuid) !== named) {
      this.#warned.set(uuid, named);
      this.#log.warn(`hosts ${named} have a machine ${name} with the same UUID ${uuid}`);
    }
    return hosts;
  }
}
