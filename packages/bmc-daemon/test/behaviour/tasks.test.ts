/** Long actions, which become tasks. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { describeSpec, type Answer } from '../spec/spec-daemon.js';

describeSpec(
  'tasks of long actions',
  (spec) => {
    const systemPath = (): string => `/redfish/v1/Systems/${spec().uuid}`;
    const drivePath = (): string => `${systemPath()}/VirtualMedia/Cd`;
    const insert = (image: string): Promise<Answer> =>
      spec().call('POST', `${drivePath()}/Actions/VirtualMedia.InsertMedia`, { Image: image });
    const eject = (drive: 'Cd' | 'Usb'): Promise<Answer> =>
      spec().call('POST', `${systemPath()}/VirtualMedia/${drive}/Actions/VirtualMedia.EjectMedia`);
    const reset = (type: string): Promise<Answer> =>
      spec().call('POST', `${systemPath()}/Actions/ComputerSystem.Reset`, { ResetType: type });
    const monitorOf = (answer: Answer): string => {
      expect(answer.status).toBe(202);
      const monitor = answer.headers.get('location') ?? '';
      expect(monitor).toMatch(/^\/redfish\/v1\/TaskService\/TaskMonitors\/[\w-]+$/);
      return monitor;
    };
    /** Waits for the end of a task, and returns the last answer of its monitor. Throws after four minutes. */
    const lastAnswer = async (monitor: string): Promise<Answer> => {
      for (let turn = 0; turn < 12_000; turn += 1) {
        const answer = await spec().call('GET', monitor);
        if (answer.status !== 202) return answer;
        await sleep(20);
      }
      throw new Error(`waiting for ${monitor}: it is still running`);
    };
    /** Expects 204, from this answer or, for a 202, at the end of the task. */
    const expectSuccess = async (answer: Answer): Promise<void> => {
      if (answer.status === 204) return;
      expect((await lastAnswer(monitorOf(answer))).status).toBe(204);
    };

    it('are created for a slow insert: 202 with the task, and 204 at its monitor at the end', async () => {
      const answer = await insert(spec().image('slow.iso'));
      const monitor = monitorOf(answer);
      const id = monitor.split('/').at(-1) ?? '';
      expect(answer.body).toMatchObject({
        '@odata.id': `/redfish/v1/TaskService/Tasks/${id}`,
        '@odata.type': '#Task.v1_7_4.Task',
        Id: id,
        TaskState: 'Running',
        TaskStatus: 'OK',
        TaskMonitor: monitor,
        Payload: { HttpOperation: 'POST', TargetUri: `${drivePath()}/Actions/VirtualMedia.InsertMedia` },
      });
      const pending = await spec().call('GET', monitor);
      expect([pending.status, pending.headers.get('location'), pending.body]).toEqual([202, monitor, answer.body]);
      expect(await spec().members('/redfish/v1/TaskService/Tasks')).toMatchObject([{ Id: id, TaskState: 'Running' }]);
      expect((await spec().get(drivePath()))['Inserted']).toBe(false);

      await spec().releaseSlowImage();
      const last = await lastAnswer(monitor);
      expect([last.status, last.body]).toEqual([204, undefined]);
      expect((await spec().get(drivePath()))['Inserted']).toBe(true);
      const task = await spec().get(`/redfish/v1/TaskService/Tasks/${id}`);
      expect(task).toMatchObject({ TaskState: 'Completed', TaskStatus: 'OK', PercentComplete: 100 });
      expect(Date.parse(String(task['EndTime']))).toBeGreaterThanOrEqual(Date.parse(String(task['StartTime'])));
    });

    it('delay a power-on and an eject of another drive, but no read', async () => {
      const inserting = monitorOf(await insert(spec().image('slow.iso')));
      const powerOn = monitorOf(await reset('On'));
      const ejecting = monitorOf(await eject('Usb'));
      expect(await spec().get(systemPath())).toMatchObject({ PowerState: 'Off' });
      await spec().releaseSlowImage();
      for (const monitor of [inserting, powerOn, ejecting]) expect((await lastAnswer(monitor)).status).toBe(204);
      expect(await spec().get(systemPath())).toMatchObject({ PowerState: 'On' });
      expect((await spec().get(drivePath()))['Inserted']).toBe(true);
    });

    it.each(['the action', 'a PATCH'])(
      'end with an error when %s ejects the image, and this eject does not wait for them',
      async (how) => {
        const inserting = monitorOf(await insert(spec().image('slow.iso')));
        const powerOn = monitorOf(await reset('On'));
        const answer = how === 'a PATCH' ? await spec().call('PATCH', drivePath(), { Image: null }) : await eject('Cd');
        // On a slow host the eject is a task. It ends although the image server has not answered.
        expect([200, 204]).toContain(
          answer.status === 202 ? (await lastAnswer(monitorOf(answer))).status : answer.status,
        );
        const failed = await lastAnswer(inserting);
        expect([failed.status, spec().messageIds(failed)]).toEqual([409, ['ResourceInUse']]);
        expect(JSON.stringify(failed.body)).toMatch(/: an eject of the drive cancelled it\./);
        const task = await spec().get(`/redfish/v1/TaskService/Tasks/${inserting.split('/').at(-1) ?? ''}`);
        expect(task).toMatchObject({ TaskState: 'Exception' });
        const failedPowerOn = await lastAnswer(powerOn);
        expect([failedPowerOn.status, spec().messageIds(failedPowerOn)]).toEqual([409, ['ResourceInUse']]);
        expect(await spec().get(systemPath())).toMatchObject({ PowerState: 'Off' });
        expect(await spec().get(drivePath())).toMatchObject({ Inserted: false, Image: null });
      },
    );

    it('end with an error when a change of the boot override ejects the image without waiting for them', async () => {
      const httpBoot = (image: string): Promise<Answer> =>
        spec().call('PATCH', systemPath(), {
          Boot: {
            BootSourceOverrideTarget: 'UefiHttp',
            BootSourceOverrideEnabled: 'Once',
            HttpBootUri: spec().image(image),
          },
        });
      const lastOf = async (answer: Answer): Promise<Answer> =>
        answer.status === 202 ? await lastAnswer(monitorOf(answer)) : answer;
      expect([200, 204]).toContain((await lastOf(await httpBoot('other.iso'))).status);
      const replacing = monitorOf(await httpBoot('slow.iso'));
      const change = { Boot: { BootSourceOverrideTarget: 'Hdd' } };
      expect([200, 204]).toContain((await lastOf(await spec().call('PATCH', systemPath(), change))).status);
      const failed = await lastAnswer(replacing);
      expect([failed.status, spec().messageIds(failed)]).toEqual([409, ['ResourceInUse']]);
      expect(await spec().get(drivePath())).toMatchObject({ Inserted: false, Image: null });
      const { Boot } = await spec().get(systemPath());
      expect(Boot).toMatchObject({ BootSourceOverrideTarget: 'Hdd' });
    });

    it('fail after a failed insert if they start the machine; a later power-on succeeds', async () => {
      const inserting = monitorOf(await insert(spec().image('slow-gone.iso')));
      const waiting = [monitorOf(await reset('On')), monitorOf(await reset('ForceRestart'))];
      const ejecting = monitorOf(await eject('Usb'));
      await spec().releaseSlowImage();
      const failed = await lastAnswer(inserting);
      expect([failed.status, spec().messageIds(failed)]).toEqual([400, ['ResourceMissingAtURI']]);
      for (const monitor of waiting) {
        const answer = await lastAnswer(monitor);
        expect([answer.status, spec().messageIds(answer)]).toEqual([409, ['ResourceInUse']]);
        expect(JSON.stringify(answer.body)).toMatch(/the image that it waited for was not inserted: .*slow-gone\.iso/);
      }
      expect((await lastAnswer(ejecting)).status).toBe(204);
      expect(await spec().get(systemPath())).toMatchObject({ PowerState: 'Off' });
      await expectSuccess(await reset('On'));
      expect(await spec().get(systemPath())).toMatchObject({ PowerState: 'On' });
    });

    it('let ForceOff cancel a waiting power-on', async () => {
      const inserting = monitorOf(await insert(spec().image('slow.iso')));
      const powerOn = monitorOf(await reset('On'));
      await expectSuccess(await reset('ForceOff'));
      const overtaken = await lastAnswer(powerOn);
      expect([overtaken.status, spec().messageIds(overtaken)]).toEqual([409, ['ResourceInUse']]);
      await spec().releaseSlowImage();
      expect((await lastAnswer(inserting)).status).toBe(204);
      expect(await spec().get(systemPath())).toMatchObject({ PowerState: 'Off' });
    });

    it('end with the error of the request, without passwords in the resources or the log', async () => {
      const slow = spec().image('slow.iso').replace('http://', 'http://user:hush@');
      const inserting = monitorOf(await insert(slow));
      const second = monitorOf(await insert(spec().image('other.iso')));
      await spec().releaseSlowImage();
      expect((await lastAnswer(inserting)).status).toBe(204);
      const failed = await lastAnswer(second);
      expect([failed.status, spec().messageIds(failed)]).toEqual([409, ['ResourceInUse']]);
      const task = await spec().get(`/redfish/v1/TaskService/Tasks/${second.split('/').at(-1) ?? ''}`);
      expect(task).toMatchObject({ TaskState: 'Exception', TaskStatus: 'Critical' });
      expect(JSON.stringify(task['Messages'])).toContain('ResourceInUse');
      const everything = JSON.stringify([...(await spec().crawl())]) + spec().logged().join();
      expect(everything).not.toContain('hush');
    });

    it('are removed when a client deletes them after their end', async () => {
      const monitor = monitorOf(await insert(spec().image('slow.iso')));
      const path = monitor.replace('TaskMonitors', 'Tasks');
      await spec().releaseSlowImage();
      await lastAnswer(monitor);
      expect((await spec().call('DELETE', path)).status).toBe(204);
      for (const gone of [path, monitor]) {
        const answer = await spec().call('GET', gone);
        expect([answer.status, spec().messageIds(answer)]).toEqual([404, ['ResourceNotFound']]);
      }
    });

    it('are cancelled by a DELETE of the monitor: the insert stops, and the task is Cancelled', async () => {
      const monitor = monitorOf(await insert(spec().image('slow.iso')));
      const path = monitor.replace('TaskMonitors', 'Tasks');
      const powerOn = monitorOf(await reset('On'));
      expect((await spec().call('DELETE', monitor)).status).toBe(204);
      const task = await spec().get(path);
      expect(task).toMatchObject({ TaskState: 'Cancelled', TaskStatus: 'OK', Messages: [] });
      expect(task['TaskMonitor']).toBeUndefined();
      expect(Date.parse(String(task['EndTime']))).toBeGreaterThanOrEqual(Date.parse(String(task['StartTime'])));
      const gone = await spec().call('GET', monitor);
      expect([gone.status, spec().messageIds(gone)]).toEqual([404, ['ResourceNotFound']]);
      expect((await spec().get(drivePath()))['Inserted']).toBe(false);
      // The power-on that waits for the image fails instead of booting an empty drive.
      const failed = await lastAnswer(powerOn);
      expect([failed.status, spec().messageIds(failed)]).toEqual([409, ['ResourceInUse']]);
      expect(JSON.stringify(failed.body)).toMatch(/was not inserted: a client cancelled the insert\./);
      await spec().releaseSlowImage();
      expect((await spec().call('DELETE', path)).status).toBe(204);
      // The drive is free for another image.
      await expectSuccess(await insert(spec().imageUrl));
      expect((await spec().get(drivePath()))['Inserted']).toBe(true);
    });

    it('are cancelled and removed by a DELETE of the task while their power-on waits for an image', async () => {
      const inserting = monitorOf(await insert(spec().image('slow.iso')));
      const powerOn = monitorOf(await reset('On')).replace('TaskMonitors', 'Tasks');
      expect((await spec().call('DELETE', powerOn)).status).toBe(204);
      expect((await spec().call('GET', powerOn)).status).toBe(404);
      await spec().releaseSlowImage();
      expect((await lastAnswer(inserting)).status).toBe(204);
      expect(await spec().get(systemPath())).toMatchObject({ PowerState: 'Off' });
    });

    it('cannot be deleted before their end if they eject an image, because an eject cannot be cancelled', async () => {
      const inserting = monitorOf(await insert(spec().image('slow.iso')));
      const ejecting = monitorOf(await eject('Usb'));
      for (const path of [ejecting, ejecting.replace('TaskMonitors', 'Tasks')]) {
        const answer = await spec().call('DELETE', path);
        expect([answer.status, spec().messageIds(answer)]).toEqual([409, ['ResourceInUse']]);
      }
      await spec().releaseSlowImage();
      for (const monitor of [inserting, ejecting]) expect((await lastAnswer(monitor)).status).toBe(204);
    });

    it('return the messages of the action at their monitor', async () => {
      const body = { Image: spec().image('slow.iso'), WriteProtected: false };
      const monitor = monitorOf(await spec().call('POST', `${drivePath()}/Actions/VirtualMedia.InsertMedia`, body));
      await spec().releaseSlowImage();
      const answer = await lastAnswer(monitor);
      expect([answer.status, Object.keys(answer.body ?? {}), spec().messageIds(answer)]).toEqual([
        200,
        ['@Message.ExtendedInfo'],
        ['PropertyValueModified'],
      ]);
      const task = await spec().get(monitor.replace('TaskMonitors', 'Tasks'));
      expect(task).toMatchObject({ TaskState: 'Completed', TaskStatus: 'Warning' });
    });

    it('have a service whose TaskAutoDeleteTimeoutMinutes clients can change', async () => {
      const path = '/redfish/v1/TaskService';
      expect(await spec().get(path)).toMatchObject({
        ServiceEnabled: true,
        CompletedTaskOverWritePolicy: 'Oldest',
        LifeCycleEventOnTaskStateChange: true,
        TaskAutoDeleteTimeoutMinutes: 1440,
      });
      const changed = await spec().call('PATCH', path, { TaskAutoDeleteTimeoutMinutes: 30, ServiceEnabled: true });
      expect([changed.status, changed.body?.['TaskAutoDeleteTimeoutMinutes']]).toEqual([200, 30]);
      const refused = await spec().call('PATCH', path, { ServiceEnabled: false, TaskAutoDeleteTimeoutMinutes: 0 });
      expect([refused.status, spec().messageIds(refused)]).toEqual([400, expect.any(Array)]);
      expect(await spec().get(path)).toMatchObject({ TaskAutoDeleteTimeoutMinutes: 30 });
    });
  },
  { waitMs: 200 },
);
