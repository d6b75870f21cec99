/**
 * Services of the first process of a group for its workers: keys, shares of limits, events and
 * metrics. A group is the processes of one model-proxy (`--num_workers`).
 */
import { StoreUnavailable } from '@rackless/daemon/shared-store/store-unavailable.js';
import { ShareBook } from '../auth/share-book.js';
import { mergeEnded, type MetricsSnapshot } from '../metrics-snapshot.js';
import type { SiblingEvent } from '../routing/siblings.js';
import type { OwnedStore } from '../store/store.js';
import { KeyOwner, type OwnerAudience } from '../store/worker/key-owner.js';
import type { GroupCalls, WorkerStart } from './calls.js';
import type { Answers } from './channel.js';
import type { WorkerProcess } from './worker-process.js';
import { CurrentEvents } from './current-events.js';

/** The services that the first process of a group has for the workers. */
export class GroupServices {
  readonly #workers: ReadonlySet<WorkerProcess>;
  readonly #owner: KeyOwner | undefined;
  readonly #shares = new ShareBook();
  readonly #events = new CurrentEvents();
  /** The counts of ended workers. */
  #ended: MetricsSnapshot | null = null;

  /**
   * @param workers the present workers; the group changes the set.
   * @param store undefined: the group has no store in files.
   */
  constructor(workers: ReadonlySet<WorkerProcess>, store: OwnedStore | undefined) {
    this.#workers = workers;
    this.#owner = store === undefined ? undefined : new KeyOwner(store, this.#audience());
  }

  /** Returns the state for a new worker. */
  startState(): Pick<WorkerStart, 'store' | 'events'> {
    return { store: this.#owner?.state() ?? null, events: this.#events.all() };
  }

  /** Makes the functions that answer a worker. */
  answersFor(worker: WorkerProcess): Answers<GroupCalls> {
    const owner = (): KeyOwner => {
      if (this.#owner === undefined) throw new StoreUnavailable('the group has no store');
      return this.#owner;
    };
    return {
      hello: () => worker.noteHello(),
      limits: (reports) => this.#shares.report(worker.id, reports),
      changeKeys: (change) => owner().changeKeys(change),
      setSpend: async ({ digest, spend }) => {
        await owner().setSpend(digest, spend);
        return null;
      },
      addBatch: (batch) => owner().addBatch(worker.id, batch),
      usageDays: ({ from, to }) => owner().usageDays(from, to),
      usageOf: ({ day }) => owner().usageOf(day),
      publish: (event) => this.#publish(worker, event),
      snapshots: (own) => this.#snapshotsFor(worker, own),
    };
  }

  /** Frees the shares of an ended worker, and adds its counts to those of the other ended workers. */
  async remove({ id, lastSnapshot }: WorkerProcess): Promise<void> {
    this.#shares.remove(id);
    if (lastSnapshot === null) return;
    this.#ended = await mergeEnded(this.#ended === null ? [lastSnapshot] : [this.#ended, lastSnapshot]);
  }

  #reachable(): readonly WorkerProcess[] {
    return [...this.#workers].filter(({ receivesMessages }) => receivesMessages);
  }

  #audience(): OwnerAudience {
    return {
      keysChanged: async (keys, spends) => {
        await Promise.all(this.#reachable().map((worker) => worker.ask('keysChanged', { keys, spends })));
      },
      spendsChanged: (spends, sender) => {
        for (const { id, channel } of this.#reachable()) if (id !== sender) channel.tell('spendsChanged', spends);
      },
      collectUsage: async () => {
        await Promise.all(this.#reachable().map((worker) => worker.ask('sendUsage', null)));
      },
    };
  }

  #publish(sender: WorkerProcess, event: SiblingEvent): null {
    this.#events.add(event);
    for (const worker of this.#reachable()) if (worker !== sender) worker.channel.tell('event', event);
    return null;
  }

  async #snapshotsFor(worker: WorkerProcess, own: MetricsSnapshot): Promise<readonly MetricsSnapshot[]> {
    worker.lastSnapshot = own;
    const others = [...this.#workers].filter((one) => one !== worker && one.isServing);
    const all = await Promise.all(others.map((other) => other.snapshot()));
    return [this.#ended, ...all].filter((snapshot) => snapshot !== null);
  }
}
