import { expect, it } from '@jest/globals';
import { DomainEventType } from '@rackless/libvirt';
import type { Host } from '../machine/host.js';
import { ChangeFeed } from './change-feed.js';

const web = { uuid: '00000000-0000-4000-8000-000000000001', name: 'web' };

it('reports the removal of a machine once, if it comes during the comparison after a connection', async () => {
  const handlers = new Map<string, (event: unknown) => void>();
  let machines = [web];
  let onState = (): void => undefined;
  const host = {
    queue: { onEdited: () => undefined, isEditing: () => false },
    hypervisor: {
      events: {
        on: (kind: string, handle: (event: unknown) => void) => {
          handlers.set(kind, handle);
          return { ready: Promise.resolve() };
        },
      },
    },
    inventory: {
      list: () => Promise.resolve(machines),
      state: () => {
        onState();
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
  await feed.catchUp();
  onState = () => handlers.get('lifecycle')?.({ domain: web, event: DomainEventType.UNDEFINED, detail: 0 });
  await feed.catchUp();
  machines = [];
  await feed.catchUp();
  expect(changes).toEqual(['web undefined']);
});
