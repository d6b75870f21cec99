import { expect, it } from '@jest/globals';
import { serveResources } from '../../../test/support/served-resources.js';
import { FakeDriver } from '../../drivers/fake/fake-driver.js';
import { sampleMachines } from '../../drivers/fake/sample-machines.js';
import { createTaskStore } from '../../redfish/tasks/task-store.js';

it('a PATCH that becomes a task gives the messages of its other properties in the task', async () => {
  const [sample] = sampleMachines(1);
  if (sample === undefined) throw new Error('there is no sample machine');
  let finish = (): void => undefined;
  const fetched = new Promise<void>((resolve) => (finish = resolve));
  const { hasGraphicalConsole: _, ...withoutScreen } = sample;
  const machine = { ...withoutScreen, state: 'running' } as const;
  const served = await serveResources(new FakeDriver({ machines: [machine], fetchImage: () => fetched }), {
    screens: {},
    operations: {
      tasks: createTaskStore({ limit: 10, now: () => new Date(0) }),
      waitMs: 0,
      onTaskFailed: () => undefined,
    },
  });
  try {
    const answer = await served.send('PATCH', `/redfish/v1/Systems/${machine.uuid}`, {
      Boot: { BootSourceOverrideTarget: 'UefiHttp', HttpBootUri: 'http://192.0.2.1/boot.iso' },
      GraphicalConsole: { ServiceEnabled: true },
    });
    expect(answer.status).toBe(202);
    finish();
    const task = await served.get(String(answer.body?.['@odata.id']));
    expect(task).toMatchObject({
      TaskState: 'Completed',
      Messages: [{ MessageId: expect.stringMatching(/\.ResetRequired$/) }],
    });
  } finally {
    finish();
    await served.close();
  }
});
