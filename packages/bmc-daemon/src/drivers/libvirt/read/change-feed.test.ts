import { expect, it } from '@jest/globals';
import { DomainEventStoppedDetail, DomainEventType } from '@rackless/libvirt';
import type { Host } from '../machine/host.js';
import { ChangeFeed } from './change-feed.js';

const web = { uuid: '00000000-0000-4000-8000-000000000001', name: 'web' };

interface Listed {
  readonly list?: () => readonly (typeof web)[];
  readonly onState?: () => void;
}

/** Starts a feed. @returns its changes, and the function that passes an event of libvirt to it. */
function startFeed({ list = () => [web], onState }: Listed = {}) {
  const handlers = new Map<string, (event: unknown) => void>();
  const host = {
    queue: { onEdited: () => undefined, isEditing: () => false },
    hypervisor: {
      domainLookupByUuid: () => Promise.resolve(),
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
        return Promise.resolve('shutoff');
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
  return { feed, changes, send };
}

it('reports the removal of a machine once, even if its event comes during the comparison after a new connection', async () => {
  let machines = [web];
  let isGone = false;
  const { feed, changes, send } = startFeed({
    list: () => machines,
    onState: () => {
      if (isGone) send('lifecycle', { event: DomainEventType.UNDEFINED, detail: 0 });
    },
  });
  await feed.catchUp();
  isGone = true;
  await feed.catchUp();
  machines = [];
  await feed.catchUp();
  expect(changes).toEqual(['web undefined']);
});

it('reports several resets of one boot once, and a reset in the next run again', async () => {
  const { feed, changes, send } = startFeed();
  await feed.catchUp();
  for (let count = 0; count < 3; count += 1) send('reboot');
  send('lifecycle', { event: DomainEventType.STOPPED, detail: DomainEventStoppedDetail.DESTROYED });
  send('reboot');
  expect(changes).toEqual(['web rebooted', 'web stopped', 'web rebooted']);
});
