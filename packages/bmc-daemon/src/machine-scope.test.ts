import { describe, expect, it } from '@jest/globals';
import { testServices } from '../test/support/services.js';
import { silentStore } from '../test/support/silent-store.js';
import { FakeDriver } from './drivers/fake/fake-driver.js';
import { machineScoping } from './machine-scope.js';
import { createSharedTasks } from './redfish/tasks/shared-tasks.js';
import { createTaskStore } from './redfish/tasks/task-store.js';

describe('the task store of a machine with its own address', () => {
  const newLocalTasks = () => createTaskStore({ limit: 10, now: () => new Date(0) });

  it.each([
    ['one service', newLocalTasks()],
    ['replicas', createSharedTasks(newLocalTasks(), silentStore, { warn: () => undefined })],
  ])(
    'creates, completes and removes tasks with %s, and does not show the tasks of other machines',
    async (_, tasks) => {
      const operations = { tasks, waitMs: 8000, onTaskFailed: () => undefined };
      const services = testServices(new FakeDriver(), { operations });
      const scoped = machineScoping({ services, forMachine: () => ({}) }).servicesOf('a').operations.tasks;
      const own = scoped.create({ name: 'Reset', targetUri: '/redfish/v1/Systems/a' });
      const other = tasks.create({ name: 'Reset', targetUri: '/redfish/v1/Systems/b' });
      expect(scoped.list()).toEqual([own]);
      expect([scoped.get(own.id), scoped.get(other.id)]).toEqual([own, undefined]);
      scoped.setProgress(own.id, 10);
      expect(tasks.get(own.id)?.percent).toBe(10);
      scoped.complete(own.id, []);
      await scoped.whenEnded(own.id);
      await scoped.whenStored();
      expect(scoped.get(own.id)?.state).toBe('Completed');
      scoped.setKeepMinutes(5);
      expect([scoped.keepMinutes, tasks.keepMinutes]).toEqual([5, 5]);
      expect(await scoped.remove(own.id)).toBe(true);
      expect(tasks.list()).toEqual([other]);
    },
  );
});
