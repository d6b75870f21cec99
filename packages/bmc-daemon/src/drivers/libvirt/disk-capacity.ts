/**
 * How large a machine's disks are. libvirt has to open images for that, and to ask the QEMU of a machine that runs, which may
 * hang: so the sizes are kept, and looked at again behind the readers' backs. Only whoever reads a machine first, or first after a
 * change of its disks, waits for them, and not for long.
 */
import type { Domain } from '@rackless/libvirt';
import type { Disk } from './xml/device.js';

/** Bytes by target name, of those disks that told. */
export type Capacities = ReadonlyMap<string, number>;

/** A disk that is grown by hand is seen after this; one whose size could not be had is asked for again sooner. */
const FRESH_MS = 60_000;
const RETRY_MS = 5_000;

interface Known {
  /** Which disks, with what in them. */
  readonly of: string;
  readonly capacities: Capacities;
  readonly freshUntil: number;
}

/** Keeps the sizes of disks, which a QEMU that hangs does not tell. */
export class DiskCapacity {
  readonly #known = new Map<string, Known>();
  readonly #reading = new Map<string, { readonly of: string; readonly promise: Promise<Capacities> }>();
  readonly #waitMs: number;

  /** @param waitMs the longest that a reader waits. */
  constructor(waitMs: number) {
    this.#waitMs = waitMs;
  }

  /**
   * Virtual sizes in bytes by target, of the disks that have any. The same object as long as nothing has changed.
   * @param domain the machine; `disks` what it has.
   */
  async read(domain: Domain, disks: readonly Disk[]): Promise<Capacities> {
    const { uuid } = domain;
    const of = JSON.stringify(disks.map(({ target, source }) => [target, source.name]));
    const known = this.#known.get(uuid);
    if (known?.of === of) {
      if (Date.now() > known.freshUntil) void this.#refresh(domain, disks, of);
      return known.capacities;
    }
    return await this.#within(this.#refresh(domain, disks, of));
  }

  #refresh(domain: Domain, disks: readonly Disk[], of: string): Promise<Capacities> {
    const { uuid } = domain;
    const running = this.#reading.get(uuid);
    if (running?.of === of) return running.promise;
    const promise = this.#look(domain, disks).then((found) => {
      const previous = this.#known.get(uuid);
      const capacities = previous !== undefined && same(previous.capacities, found) ? previous.capacities : found;
      const filled = disks.filter(({ source }) => source.name !== null).length;
      this.#known.set(uuid, {
        of,
        capacities,
        freshUntil: Date.now() + (found.size === filled ? FRESH_MS : RETRY_MS),
      });
      if (this.#reading.get(uuid)?.promise === promise) this.#reading.delete(uuid);
      return capacities;
    });
    this.#reading.set(uuid, { of, promise });
    return promise;
  }

  async #look(domain: Domain, disks: readonly Disk[]): Promise<Capacities> {
    const found = new Map<string, number>();
    for (const { target, source } of disks) {
      if (source.name === null) continue;
      try {
        const { capacityBytes } = await domain.getBlockInfo(target, { timeoutMs: this.#waitMs });
        found.set(target, capacityBytes);
      } catch {
        // A missing file, a driver that can not tell, a QEMU that hangs: the size is not known, and null says so.
      }
    }
    return found;
  }

  async #within(reading: Promise<Capacities>): Promise<Capacities> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Capacities>((resolve) => {
      timer = setTimeout(() => resolve(new Map()), this.#waitMs);
    });
    try {
      return await Promise.race([reading, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

function same(a: Capacities, b: Capacities): boolean {
  return a.size === b.size && [...a].every(([target, capacity]) => b.get(target) === capacity);
}
