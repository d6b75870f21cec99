/**
 * Finds hosts that have the same storage pool, for example on an NFS server. They share its images: the
 * first host that needs an image downloads it, and an image is removed when no host uses it.
 */
import { SharedDownloads } from '../../../media/shared-downloads.js';

/** A host that stores images in a pool. */
export interface PoolUser {
  /** Returns `DiskSource.name` of every disk and drive of every machine of the host. */
  readonly sourcesInUse: () => Promise<ReadonlySet<string>>;
  /** Called when the pools of all hosts are known. */
  readonly onPoolsKnown: () => void;
}

/** The known images of one pool, for all hosts that have this pool. */
export class PoolContents {
  /** Names of the complete images. */
  readonly complete = new Set<string>();
  /**
   * Running downloads by target volume. Requests with different passwords are separate downloads, but may have the
   * same content, and so the same volume.
   */
  readonly filling = new Map<string, Promise<void>>();
  /** Number of leases by image name. A leased image is not removed. */
  readonly leases = new Map<string, number>();
  /** Running removals by image name. */
  readonly removals = new Map<string, Promise<void>>();
  /** The running downloads by request, so that equal requests share one. Each resolves with the name of an image. */
  readonly downloads = new SharedDownloads<string>();
  /** The hosts that have this pool. */
  readonly users = new Set<PoolUser>();

  /**
   * Returns the names of the images and disks that machines of other hosts use. The same image may have another
   * path on another host, so this returns only the last segment of each path.
   * @throws {DriverError} if a host does not answer.
   */
  async usedElsewhere(user: PoolUser): Promise<ReadonlySet<string>> {
    const others = [...this.users].filter((other) => other !== user);
    const used = await Promise.all(others.map((other) => other.sourcesInUse()));
    return new Set(used.flatMap((names) => [...names].map((name) => name.slice(name.lastIndexOf('/') + 1))));
  }
}

/** The pools of all hosts of one driver. */
export class SharedPools {
  readonly #contents = new Map<string, PoolContents>();
  /** Hosts whose pool is not known yet. Such a host may have any of the pools. */
  readonly #unknown = new Set<PoolUser>();
  readonly #users = new Set<PoolUser>();
  #turn: Promise<unknown> = Promise.resolve();

  /** Runs a step after the earlier steps of all hosts, also after failed ones. @throws the errors of the step. */
  inTurn<Result>(step: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(step);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  /** Adds a host. Its pool is unknown until {@link join}. */
  add(user: PoolUser): void {
    this.#users.add(user);
    this.#unknown.add(user);
  }

  /** Removes a host. If only its pool was unknown, calls `onPoolsKnown` of all other hosts. */
  remove(user: PoolUser): void {
    this.#users.delete(user);
    for (const { users } of this.#contents.values()) users.delete(user);
    this.#poolIsKnown(user);
  }

  /** Returns whether the pools of all hosts are known, so that unused images can be removed. */
  get areKnown(): boolean {
    return this.#unknown.size === 0;
  }

  /**
   * Records the pool of a host.
   * @param identity a text that identifies the pool: hosts that share a pool have equal texts. Null: no host is
   *   known to share the pool, or the host has none.
   * @param own the contents that the host has used until now.
   * @returns the contents of the pool. If another host has the same pool: its contents. Otherwise `own`, or new
   *   contents if other hosts still use `own`.
   */
  join(user: PoolUser, identity: string | null, own: PoolContents): PoolContents {
    const shared = identity === null ? undefined : this.#contents.get(identity);
    own.users.delete(user);
    // If `own` still has users, these hosts use the pool that this host had before, so `own` belongs to them.
    const contents = shared ?? (own.users.size === 0 ? own : new PoolContents());
    if (identity !== null) this.#contents.set(identity, contents);
    contents.users.add(user);
    this.#poolIsKnown(user);
    return contents;
  }

  #poolIsKnown(user: PoolUser): void {
    if (this.#unknown.delete(user) && this.areKnown) for (const each of this.#users) each.onPoolsKnown();
  }
}
