import { describe, expect, it } from '@jest/globals';
import { createTaskStore } from '../../redfish/tasks/task-store.js';
import type { ServiceEvent } from '../event-bus.js';
import { publishTasks } from './task-events.js';

const owner = { user: 'ironic', address: '192.0.2.1' };
const operator = { user: 'alice', address: '192.0.2.2' };
const targetUri = '/redfish/v1/Systems/a/Actions/ComputerSystem.Reset';

describe('the events of tasks', () => {
  it('contain the client that started or cancelled the task, and no client if the task ends on its own', () => {
    const tasks = createTaskStore({ limit: 5, now: () => new Date() });
    const published: ServiceEvent[] = [];
    publishTasks(tasks, { publish: (event) => void published.push(event) });
    const cancelled = tasks.create({ name: 'Insert', targetUri, owner, cancel: () => undefined });
    const completed = tasks.create({ name: 'Reset', targetUri, owner });
    tasks.cancel(cancelled.id, operator);
    // This second cancellation comes too late, so the event names the first client.
    tasks.cancel(cancelled.id, owner);
    tasks.markCancelled(cancelled.id);
    tasks.complete(completed.id, []);
    expect(published.map(({ messageId, actor, system }) => [messageId.split('.').at(-1), actor, system])).toEqual([
      ['TaskStarted', owner, 'a'],
      ['TaskStarted', owner, 'a'],
      ['TaskCancelled', operator, 'a'],
      ['TaskCompletedOK', null, 'a'],
    ]);
  });
});
