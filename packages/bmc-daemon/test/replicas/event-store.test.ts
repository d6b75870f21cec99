/**
 * Tests the events of replicas in a real Redis: bursts, rejections, and a Redis that loses the last events at a
 * restart.
 */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { MachineChangeKind } from '../../src/drivers/machine-change.js';
import { createEventBus, type EventBus } from '../../src/events/event-bus.js';
import { createEventFeed, type EventFeed } from '../../src/events/event-feed.js';
import { publishMachineChanges } from '../../src/events/publishers/machine-events.js';
import { openSharedEvents, type SharedEvents } from '../../src/events/shared/shared-events.js';
import { createSharedLogs } from '../../src/events/shared/shared-logs.js';
import { openSharedStore, type SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import { waitFor } from '../daemon/process.js';
import { startRedis, type PrivateRedis } from '../../../daemon/test/support/redis.js';

const CAPACITY = 1000;

interface Replica {
  readonly store: SharedStore;
  readonly bus: EventBus;
  readonly events: SharedEvents;
  readonly feed: EventFeed;
  /** The events that a subscriber of this replica has received: id and detail. */
  readonly received: (readonly [string, string | undefined])[];
}

let redis: PrivateRedis;
let replicas: Replica[];
let warnings: string[];
beforeEach(async () => {
  redis = await startRedis();
  replicas = [];
  warnings = [];
});
afterEach(async () => {
  for (const { events, store } of replicas) {
    await events.close();
    await store.close();
  }
  await redis.stop();
});

async function open(): Promise<Replica> {
  const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const store = await openSharedStore(redis.url, 'bmc-daemon', quiet);
  const bus = createEventBus(() => undefined);
  const log = { warn: (text: string) => void warnings.push(text) };
  const events = await openSharedEvents({ store, bus, capacity: CAPACITY, logLimit: 10, log });
  const feed = createEventFeed({ source: events.source, typeOf: () => '', capacity: CAPACITY });
  const received: [string, string | undefined][] = [];
  feed.add({ wants: () => true, deliver: ({ id, event }) => void received.push([id, event.detail]) });
  const replica = { store, bus, events, feed, received };
  replicas.push(replica);
  return replica;
}

function publish({ bus }: Replica, detail: string, system: string | null = null): void {
  bus.publish({
    messageId: 'Base.1.0.Success',
    messageArgs: [],
    severity: 'OK',
    origin: '/redfish/v1/Chassis/1',
    system,
    actor: null,
    time: new Date(),
    detail,
  });
}

/** Publishes a change of machine `m` as the replica does if it observes this change in the cloud. */
function observe({ bus }: Replica, kind: MachineChangeKind, name = 'web'): void {
  const changes = publishMachineChanges({ events: bus });
  changes.onChange({ kind, uuid: 'm', name, reason: kind });
  changes.close();
}

const details = ({ received }: Replica) => received.map(([, detail]) => detail);
const arrived = (replica: Replica, detail: string): Promise<boolean> =>
  waitFor(
    () => (details(replica).includes(detail) ? true : undefined),
    () => `${detail} has not arrived: ${JSON.stringify(replica.received.slice(-5))}`,
  );
const eventNames = (name: string, count: number) =>
  Array.from({ length: count }, (_value, index) => `${name} ${index}`);

it('a replica reports each state of a machine, except a state that another replica has just reported', async () => {
  const [a, b] = [await open(), await open()];
  observe(a, 'resumed');
  await arrived(b, 'The machine resumed. Resumed.');
  // Replica a reports nothing more, as if it had died. Replica b knows the machine by a newer name.
  for (const kind of ['resumed', 'suspended', 'rebooted', 'rebooted', 'resumed', 'stopped'] as const)
    observe(b, kind, 'renamed');
  await arrived(b, 'Stopped.');
  expect(details(b)).toEqual([
    'The machine resumed. Resumed.',
    'The guest is suspended. Suspended.',
    'The machine was reset. Rebooted.',
    'The machine was reset. Rebooted.',
    'The machine resumed. Resumed.',
    'Stopped.',
  ]);
});

it('a replica loses no event of a burst with more events than the list in Redis can have', async () => {
  const [a, b] = [await open(), await open()];
  const burst = eventNames('event', 10 * CAPACITY);
  for (const detail of burst) publish(a, detail);
  for (const replica of [a, b]) await arrived(replica, burst.at(-1) ?? '');
  expect(details(a)).toEqual(burst);
  expect(b.received).toEqual(a.received);
  expect(warnings).toEqual([]);
});

it('a replica reports the number of events that it did not read in time, in its log and to its subscribers', async () => {
  const [a, b] = [await open(), await open()];
  publish(a, 'before');
  await arrived(b, 'before');
  // Adds all events in one step, so that replica b reads none of them before the end of the step.
  await b.store.run(
    `for i = 1, ${CAPACITY + 10} do
  redis.call('RPUSH', KEYS[1], redis.call('INCR', KEYS[2]) .. ' {}')
end
redis.call('LTRIM', KEYS[1], -${CAPACITY}, -1)`,
    ['events:numbered', 'events:number'],
    [],
  );
  await arrived(b, '10 events were lost.');
  expect(warnings).toContain('10 events were lost: this replica did not read them in time');
});

it('a replica delivers an event although Redis rejects its log entry, and stores the entries of other logs', async () => {
  const a = await open();
  await a.store.run(`redis.call('SET', KEYS[1], 'foreign')`, ['log:entries:machine'], []);
  for (const [detail, system] of [
    ['first', 'machine'],
    ['second', 'other'],
  ] as const)
    publish(a, detail, system);
  await arrived(a, 'second');
  expect(details(a)).toEqual(['first', 'second']);
  expect(warnings).toEqual([expect.stringContaining('does not accept an entry of log machine: WRONGTYPE')]);
  expect(await createSharedLogs(a.store, 10).ofSystem('other').read()).toHaveLength(1);
});

it('a replica delivers all later events once, and the last one with the highest number, after Redis has lost events', async () => {
  const [a, b] = [await open(), await open()];
  publish(a, 'kept');
  await arrived(b, 'kept');
  await redis.save();
  const lost = eventNames('lost', 5);
  for (const detail of lost) publish(a, detail);
  for (const replica of [a, b]) await arrived(replica, lost.at(-1) ?? '');
  await redis.restart();
  // Replica c adds events, perhaps before the others notice the loss.
  const c = await open();
  const later = eventNames('later', 20);
  for (const detail of later) publish(c, detail);
  for (const replica of [a, b, c]) await arrived(replica, later.at(-1) ?? '');
  publish(b, 'last');
  for (const replica of [a, b, c]) await arrived(replica, 'last');
  for (const replica of [a, b]) {
    expect(details(replica)).toEqual(['kept', ...lost, ...later, 'last']);
    const numbers = replica.received.map(([id]) => Number(id.split('-')[1]));
    expect(numbers.at(-1)).toBeGreaterThan(Math.max(...numbers.slice(0, -1)));
  }
  // A client can continue after any event, here the first one of c, at any replica.
  const [[id] = ['']] = c.received;
  for (const { feed } of [a, b, c]) {
    const { events, missed } = feed.since(id);
    expect(events.map(({ event }) => event.detail).slice(-20)).toEqual([...later.slice(1), 'last']);
    expect(missed).toBe(0);
  }
});
