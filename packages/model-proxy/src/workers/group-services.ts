/** Services of the first process of a group for its workers: keys, shares of limits, events and metrics. */
import { StoreUnavailable } from '@rackless/daemon/shared-store/store-unavailable.js';
import { ShareBook } from '../auth/share-book.js';
import { mergeEnded, type MetricsSnapshot } from '../metrics-snapshot.js';
import type { SiblingEvent } from '../routing/siblings.js';
import type { OwnedStore } from '../store/store.js';
import { KeyOwner, type OwnerAudience } from '../store/worker/key-owner.js';
import type { GroupCalls, WorkerStart } from './calls.js';
import type { Answers } from './channel.js';
import type { Member } from './member.js';
import { Observed } from './observed.js';

/** The services of a group. */
export class GroupServices {
  readonly #members: ReadonlySet<Member>;
  readonly #owner: KeyOwner | undefined;
  readonly #shares = new ShareBook();
  readonly #observed = new Observed();
  /** The counts of ended workers. */
  #ended: MetricsSnapshot | null = null;

  /** @param members the present workers. The set changes. @param store undefined: the group has no store in files. */
  constructor(members: ReadonlySet<Member>, store: OwnedStore | undefined) {
    this.#members = members;
    this.#owner = store === undefined ? undefined : new KeyOwner(store, this.#audience());
  }

  /** Returns the state for a new worker. */
  startOf(): Pick<WorkerStart, 'store' | 'events'> {
    return { store: this.#owner?.state() ?? null, events: this.#observed.all() };
  }

  /** Makes the functions that answer a worker. */
  answersFor(member: Member): Answers<GroupCalls> {
    const owner = (): KeyOwner => {
      if (this.#owner === undefined) throw new StoreUnavailable('the group has no store');
      return this.#owner;
    };
    return {
      hello: () => member.noteHello(),
      limits: (reports) => this.#shares.report(member.id, reports),
      changeKeys: (change) => owner().changeKeys(change),
      setSpend: async ({ digest, spend }) => {
        await owner().setSpend(digest, spend);
        return null;
      },
      addBatch: (batch) => owner().addBatch(member.id, batch),
      usageDays: ({ from, to }) => owner().usageDays(from, to),
      readUsage: ({ day }) => owner().readUsage(day),
      publish: (event) => this.#publish(member, event),
      snapshots: (own) => this.#snapshotsFor(member, own),
    };
  }

  /** Frees what an ended worker has held, and keeps what it has counted. */
  async remove({ id, lastSnapshot }: Member): Promise<void> {
    this.#shares.remove(id);
    if (lastSnapshot === null) return;
    this.#ended = await mergeEnded(this.#ended === null ? [lastSnapshot] : [this.#ended, lastSnapshot]);
  }

  #listening(): readonly Member[] {
    return [...this.#members].filter(({ isListening }) => isListening);
  }

  #audience(): OwnerAudience {
    return {
      keysChanged: async (keys, spends) => {
        await Promise.all(this.#listening().map((member) => member.ask('keysChanged', { keys, spends })));
      },
      spendsChanged: (spends, sender) => {
        for (const { id, channel } of this.#listening()) if (id !== sender) channel.tell('spendsChanged', spends);
      },
      collectUsage: async () => {
        await Promise.all(this.#listening().map((member) => member.ask('sendUsage', null)));
      },
    };
  }

  #publish(sender: Member, event: SiblingEvent): null {
    this.#observed.add(event);
    for (const member of this.#listening()) if (member !== sender) member.channel.tell('event', event);
    return null;
  }

  async #snapshotsFor(member: Member, own: MetricsSnapshot): Promise<readonly MetricsSnapshot[]> {
    member.lastSnapshot = own;
    const others = [...this.#members].filter((one) => one !== member && one.isServing);
    const all = await Promise.all(others.map((other) => other.snapshot()));
    return [this.#ended, ...all].filter((snapshot) => snapshot !== null);
  }
}
