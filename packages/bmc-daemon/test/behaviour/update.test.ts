/** The update service, which simulates firmware updates. */
import { expect, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { version } from '../../src/version.js';
import { describeSpec, type Answer } from '../spec/spec-daemon.js';

describeSpec('the update service', (spec) => {
  const service = '/redfish/v1/UpdateService';
  const firmware = (): string => `${service}/FirmwareInventory/BIOS-${spec().uuid}`;
  const system = (): string => `/redfish/v1/Systems/${spec().uuid}`;
  const update = (body: unknown) => spec().call('POST', `${service}/Actions/UpdateService.SimpleUpdate`, body);
  const bios = async (): Promise<unknown> => (await spec().get(system()))['BiosVersion'];
  /** Waits for the end of the task in an answer, and returns the task. Throws after two minutes. */
  const endedTask = async ({ status, body = {} }: Answer) => {
    expect(status).toBe(202);
    for (let turn = 0; turn < 2_400; turn += 1) {
      const task = await spec().get(String(body['@odata.id']));
      if (task['TaskState'] !== 'Running') return task;
      await delay(50);
    }
    throw new Error('waiting for the task of an update: it does not end');
  };

  it('has an inventory with its own version and the firmware of each machine', async () => {
    expect((await spec().get('/redfish/v1/'))['UpdateService']).toEqual({ '@odata.id': service });
    const members = await spec().members(`${service}/FirmwareInventory`);
    expect(members.map(({ Id, Updateable }) => [Id, Updateable])).toEqual([
      ['BMC', false],
      ...[...spec().uuids].sort().map((uuid) => [`BIOS-${uuid}`, true]),
    ]);
    expect(members[0]?.['Version']).toBe(version);
    expect((await spec().get(firmware()))['Version']).toBeNull();
  });

  it('changes the version of a machine at its next reset, after the task of the update has completed', async () => {
    const task = await endedTask(
      await update({ ImageURI: 'http://192.0.2.1/bios-2.3.4.bin', TransferProtocol: 'HTTP', Targets: [firmware()] }),
    );
    expect(task['TaskState']).toBe('Completed');
    expect(JSON.stringify(task['Messages'])).toContain('Version 2.3.4 is installed then. This update is simulated.');
    expect([await bios(), (await spec().get(firmware()))['Staged']]).toEqual([null, true]);
    await spec().reset('ForceRestart');
    expect([await bios(), (await spec().get(firmware()))['Staged']]).toEqual(['2.3.4', false]);
    // Without a version in the file name, an update increments the last number of the current version.
    expect((await spec().get(firmware()))['Version']).toBe('2.3.4');
    await endedTask(await update({ ImageURI: 'http://192.0.2.1/bios', Targets: [`${system()}/Bios`, system()] }));
    await spec().reset('ForceRestart');
    await expect(bios()).resolves.toBe('2.3.5');
  });

  it('accepts the name of a machine in a target, with and without percent escapes', async () => {
    const name = String((await spec().get(system()))['Name']);
    const escaped = `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`;
    for (const id of [name, escaped]) {
      for (const target of [`/redfish/v1/Systems/${id}`, `${service}/FirmwareInventory/BIOS-${id}`]) {
        const task = await endedTask(await update({ ImageURI: 'http://192.0.2.1/bios', Targets: [target] }));
        expect([target, task['TaskState']]).toEqual([target, 'Completed']);
      }
    }
  });

  it('rejects an update without a target, with an invalid target, and with an unsupported URL or protocol', async () => {
    const ImageURI = 'http://192.0.2.1/bios.bin';
    for (const [body, key] of [
      [{ ImageURI }, 'ActionParameterMissing'],
      [{ ImageURI, Targets: [`${service}/FirmwareInventory/BMC`] }, 'ActionParameterValueNotInList'],
      [{ ImageURI, Targets: [`${system()}0`] }, 'ActionParameterValueNotInList'],
      [{ ImageURI: 'file:///etc/passwd', Targets: [firmware()] }, 'ActionParameterValueError'],
      [{ ImageURI, TransferProtocol: 'TFTP', Targets: [firmware()] }, 'ActionParameterValueNotInList'],
    ] as const) {
      const answer = await update(body);
      expect([answer.status, spec().messageIds(answer)]).toEqual([400, [key]]);
    }
    expect((await spec().get(firmware()))['Staged']).toBe(false);
  });
});
