/**
 * The capacities of a machine's disks. libvirt opens the images for this, and asks the QEMU of a
 * running machine, which may hang. The sizes are therefore cached and refreshed in the background.
 * Readers wait, for a short time, only until the first read of a machine or of changed disks has ended.
 */
import { withDeadline } from '@rackless/daemon/deadline.js';
import type { Domain } from '@rackless/libvirt';

/**
 * A disk: its target and its source. Has no XML element, which would keep the whole
 * parsed definition in memory.
 */
export interface NamedDisk {
  readonly target: string;
  readonly source: { readonly name: string | null };
}

/** Bytes by target name, for each disk with a known size. */
export type Capacities = ReadonlyMap<string, number>;

/** Age of the sizes of a machine at which the next reader starts a new read. RETRY_MS applies if a size is unknown. */
const FRESH_MS = 60_000;
const RETRY_MS = 5_000;

interface CachedCapacities {
  /** Identifies the disks and their sources. If this text changes, the sizes are read again. */
  readonly key: string;
  readonly capacities: Capacities;
  readonly freshUntil: number;
}

/** Caches the sizes of disks, because a hung QEMU does not return them. */
export class DiskCapacity {
  readonly #known = new Map<string, CachedCapacities>();
  readonly #reading = new Map<string, { readonly key: string; readonly promise: Promise<Capacities> }>();
  readonly #waitMs: number;

  /** @param waitMs maximum time that a reader waits. */
  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  /**
   * Returns virtual sizes in bytes by target, for disks with a known size; empty if the first read of these
   * disks does not end in time. After this read, returns the same object until a size changes. Never rejects.
   * @param domain the machine.
   * @param disks its disks.
   */
  async read(domain: Domain, disks: readonly NamedDisk[]): Promise<Capacities> {
    const { uuid } = domain;
    const key = JSON.stringify(disks.map(({ target, source }) => [target, source.name]));
    const known = this.#known.get(uuid);
    if (known?.key === key) {
      if (performance.now() > known.freshUntil) void this.#refresh(domain, disks, key);
      return known.capacities;
    }
    return await withDeadline(this.#refresh(domain, disks, key), this.#waitMs, () => new Map());
  }

  #refresh(domain: Domain, disks: readonly NamedDisk[], key: string): Promise<Capacities> {
    const { uuid } = domain;
    const running = this.#reading.get(uuid);
    if (running?.key === key) return running.promise;
    const promise = this.#measure(domain, disks).then((found) => {
      const previous = this.#known.get(uuid);
      const capacities = previous !== undefined && isSame(previous.capacities, found) ? previous.capacities : found;
      const filled = disks.filter(({ source }) => source.name !== null).length;
      this.#known.set(uuid, {
        key,
        capacities,
        freshUntil: performance.now() + (found.size === filled ? FRESH_MS : RETRY_MS),
      });
      if (this.#reading.get(uuid)?.promise === promise) this.#reading.delete(uuid);
      return capacities;
    });
    this.#reading.set(uuid, { key, promise });
    return promise;
  }

  async #measure(domain: Domain, disks: readonly NamedDisk[]): Promise<Capacities> {
    const found = new Map<string, number>();
    for (const { target, source } of disks) {
      if (source.name === null) continue;
      try {
        const { capacityBytes } = await domain.getBlockInfo(target, { timeoutMs: this.#waitMs });
        found.set(target, capacityBytes);
      } catch {
        // The file is missing, libvirt's driver does not support the call, or QEMU hangs: the size is
        // unknown, and the result has no entry for the disk.
      }
    }
    return found;
  }
}

function isSame(a: Capacities, b: Capacities): boolean {
  return a.size === b.size && [...a].every(([target, capacity]) => b.get(target) === capacity);
}
