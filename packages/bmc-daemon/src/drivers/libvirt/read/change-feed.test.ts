import { afterEach, expect, it, jest } from '@jest/globals';
import { DomainEventStoppedDetail, DomainEventType, type LinkState } from '@rackless/libvirt';
import { libvirtError } from '../../../../test/support/libvirt-error.js';
import { DriverError } from '../../driver-error.js';
import type { DomainState } from '../../snapshot/system-snapshot.js';
import type { Host } from '../machine/host.js';
import { ChangeFeed } from './change-feed.js';

const web = { uuid: '00000000-0000-4000-8000-000000000001', name: 'web' };

interface Listed {
  readonly list?: () => readonly (typeof web)[];
  /** Called before the state of a machine is read. */
  readonly onState?: () => void;
  /** Returns the state of the machine, or throws. */
  readonly state?: () => DomainState;
  readonly exists?: () => boolean;
}

/**
 * Starts a feed.
 * @returns the feed with its changes; `send`, which sends it an event of libvirt; and `reconnect`, which
 *   simulates a loss and the return of the connection.
 */
function startFeed({ list = () => [web], onState, state = () => 'shutoff', exists = () => true }: Listed = {}) {
  const handlers = new Map<string, (event: unknown) => void>();
  let onLink: (state: LinkState) => void = () => undefined;
  const host = {
    log: { debug: () => undefined },
    queue: { onEdited: () => undefined, isEditing: () => false },
    hypervisor: {
      state: 'connected',
      onStateChange: (listener: typeof onLink) => (onLink = listener),
      domainLookupByUuid: () => (exists() ? Promise.resolve() : Promise.reject(noDomain)),
      events: {
        on: (kind: string, handle: (event: unknown) => void) => {
          handlers.set(kind, handle);
          return { ready: Promise.resolve() };
        },
      },
    },
    inventory: {
      list: () => Promise.resolve(list()),
      state: () => {
        onState?.();
        return new Promise((resolve) => resolve(state()));
      },
    },
  };
  const feed = new ChangeFeed({
    host: host as unknown as Host, // the parts that the feed uses
    isStarting: () => false,
    onEvent: () => undefined,
  });
  const changes: string[] = [];
  feed.onChange(({ kind, name }) => changes.push(`${name} ${kind}`));
  feed.start();
  const send = (kind: string, event: object = {}): void => handlers.get(kind)?.({ domain: web, ...event });
  const reconnect = (): void => {
    onLink('connecting');
    onLink('connected');
  };
  return { feed, changes, send, reconnect };
}

const noDomain = libvirtError('NO_DOMAIN', 'no domain');
const started = { event: DomainEventType.STARTED, detail: 0 };
const stopped = { event: DomainEventType.STOPPED, detail: DomainEventStoppedDetail.DESTROYED };

afterEach(() => {
  jest.useRealTimers();
});

it('a feed reports the removal of a machine once, even if the event comes during a comparison', async () => {
  let machines = [web];
  let isGone = false;
  const { feed, changes, send, reconnect } = startFeed({
    list: () => machines,
    onState: () => {
      if (isGone) send('lifecycle', { event: DomainEventType.UNDEFINED, detail: 0 });
    },
  });
  await feed.catchUp();
  isGone = true;
  reconnect();
  await feed.catchUp();
  machines = [];
  reconnect();
  await feed.catchUp();
  expect(changes).toEqual(['web undefined']);
});

it('a feed reports several resets within two seconds once, and a reset after a stop again', async () => {
  const { feed, changes, send } = startFeed();
  await feed.catchUp();
  for (let count = 0; count < 3; count += 1) send('reboot');
  send('lifecycle', { event: DomainEventType.STOPPED, detail: DomainEventStoppedDetail.DESTROYED });
  send('reboot');
  expect(changes).toEqual(['web rebooted', 'web stopped', 'web rebooted']);
});

it('a feed reports a stop that it missed while offline, even if the machine starts before its state is read', async () => {
  let send: (kind: string, event: object) => void = () => undefined;
  let isComparing = false;
  const parts = startFeed({
    onState: () => {
      if (isComparing) send('lifecycle', started);
    },
  });
  const { feed, changes, reconnect } = parts;
  ({ send } = parts);
  await feed.catchUp();
  send('lifecycle', started);
  reconnect();
  isComparing = true;
  await feed.catchUp();
  expect(changes).toEqual(['web started', 'web stopped', 'web started']);
});

it('a feed reports a stop that it missed while offline, even if a start comes before the comparison begins', async () => {
  const { feed, changes, send, reconnect } = startFeed({ state: () => 'running' });
  await feed.catchUp();
  reconnect();
  send('lifecycle', started);
  await feed.catchUp();
  expect(changes).toEqual(['web stopped', 'web started']);
});

it('a feed reports a start that it missed while offline, even if the machine stops before its state is read', async () => {
  const { feed, changes, send, reconnect } = startFeed();
  await feed.catchUp();
  reconnect();
  send('lifecycle', stopped);
  await feed.catchUp();
  expect(changes).toEqual(['web started', 'web stopped']);
});

it('a feed uses an event that comes during the first reads, not the older state that was read', async () => {
  let isReading = true;
  let send: (kind: string, event: object) => void = () => undefined;
  const parts = startFeed({
    onState: () => {
      if (isReading) send('lifecycle', started);
      isReading = false;
    },
  });
  const { feed, changes, reconnect } = parts;
  ({ send } = parts);
  await feed.catchUp();
  reconnect();
  await feed.catchUp();
  expect(changes).toEqual(['web started', 'web stopped']);
});

it('a feed repeats a failed comparison until it succeeds', async () => {
  jest.useFakeTimers();
  const states: (DomainState | DriverError)[] = [
    'shutoff',
    new DriverError('unavailable', 'no answer'),
    new DriverError('unavailable', 'no answer'),
    'running',
  ];
  const { feed, changes, reconnect } = startFeed({
    state: () => {
      const next = states.shift();
      if (next === undefined || next instanceof DriverError) throw next ?? new Error('read too often');
      return next;
    },
  });
  await feed.catchUp();
  reconnect();
  await expect(feed.catchUp()).rejects.toThrow('no answer');
  await jest.advanceTimersByTimeAsync(10_000);
  expect(changes).toEqual(['web started']);
});

it('a feed reports the removal of a machine that stopped while there was no connection', async () => {
  let exists = true;
  const { feed, changes, send, reconnect } = startFeed({ list: () => (exists ? [web] : []), exists: () => exists });
  await feed.catchUp();
  send('lifecycle', started);
  reconnect();
  exists = false;
  send('lifecycle', { event: DomainEventType.UNDEFINED, detail: 0 });
  await feed.catchUp();
  expect(changes).toEqual(['web started', 'web changed', 'web undefined']);
});
