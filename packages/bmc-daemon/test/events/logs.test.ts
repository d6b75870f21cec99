/** Tests the logs of machines and managers. */
import { appendFileSync, existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import { accessWithAccount } from '../support/services.js';
import { newFolder, openLab, until, type Body, type Lab } from './event-lab.js';

const entryContext = '/redfish/v1/$metadata#LogEntry.LogEntry';

describe('the logs', () => {
  let folder: ReturnType<typeof newFolder>;
  let driver: FakeDriver;
  let lab: Lab;
  let uuid: string;
  let system: string;

  beforeEach(async () => {
    folder = newFolder();
    driver = new FakeDriver();
    lab = await openLab(driver, folder.path);
    uuid = (await driver.getSystem('node-2')).uuid;
    system = `/redfish/v1/Systems/${uuid}`;
  });

  afterEach(async () => {
    await lab.close();
    await driver.close();
    folder.remove();
  });

  const entries = async (log: string): Promise<readonly Body[]> => {
    // The schema requires this property.
    const members = (await lab.get(`${log}/Entries`))['Members'] as readonly Record<string, string>[];
    const found = await Promise.all(members.map((member) => lab.get(member['@odata.id'] ?? '')));
    // The collection contains complete members.
    expect(members.map((member) => ({ '@odata.context': entryContext, ...member }))).toEqual(found);
    return found;
  };
  const machineLog = () => `${system}/LogServices/EventLog`;
  const managerLog = () => `/redfish/v1/Managers/${uuid}/LogServices/ManagerLog`;
  const messages = async (log: string) => (await entries(log)).map(({ Message }) => Message);
  const setState = async (state: 'running' | 'shutoff' | 'crashed') =>
    driver.define({ ...(await driver.getSystem(uuid)), state });
  const restart = async () => {
    await lab.close();
    lab = await openLab(driver, folder.path);
  };

  it('remove old incomplete files of a killed daemon when they open, but not new files of a running process', async () => {
    const logs = join(folder.path, `logs-${lab.services.serviceUuid}`);
    const left = join(logs, 'left.jsonl.new');
    const young = join(logs, 'young.jsonl.new');
    await lab.post(`${system}/Actions/ComputerSystem.Reset`, { ResetType: 'ForceOff' });
    await until('a log', () => existsSync(logs));
    for (const file of [left, young]) writeFileSync(file, '');
    utimesSync(left, 1, 1);
    await restart();
    expect([left, young].map((file) => existsSync(file))).toEqual([false, true]);
    expect(lab.logged).toContain(`removed ${left}, which a killed process left`);
  });

  it('report events of a machine, and the address of the client that caused them', async () => {
    expect((await lab.post(`${system}/Actions/ComputerSystem.Reset`, { ResetType: 'ForceOff' })).status).toBe(204);
    await lab.client.send('PATCH', system, { body: { IndicatorLED: 'Lit' } });
    await setState('running');
    const found = await entries(machineLog());
    expect(found.map(({ Message, OriginatorType, OriginAddress }) => [Message, OriginatorType, OriginAddress])).toEqual(
      [
        ["'node-2' was powered off.", 'Internal', undefined],
        ['A resource was changed. ComputerSystem.Reset ForceOff.', 'Client', 'http://127.0.0.1'],
        ['A resource was changed. IndicatorLED Lit.', 'Client', 'http://127.0.0.1'],
        ["'node-2' was powered on.", 'Internal', undefined],
      ],
    );
    const [off] = found;
    expect(off).toEqual({
      '@odata.id': `${machineLog()}/Entries/1`,
      '@odata.type': '#LogEntry.v1_21_0.LogEntry',
      '@odata.context': entryContext,
      Id: '1',
      Name: 'Log Entry 1',
      EntryType: 'Event',
      Created: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      Severity: 'OK',
      Message: "'node-2' was powered off.",
      MessageId: 'ResourceEvent.1.4.ResourcePoweredOff',
      MessageArgs: ['node-2'],
      OriginatorType: 'Internal',
      Links: { OriginOfCondition: { '@odata.id': system } },
    });
    expect(await messages(managerLog())).toEqual([]);
  });

  it("report events of the service in the manager's log, without links to temporary resources", async () => {
    const collection = '/redfish/v1/EventService/Subscriptions';
    const answer = await lab.post(collection, { Destination: 'http://192.0.2.1/', Protocol: 'Redfish' });
    await lab.client.send('DELETE', answer.headers.location ?? '');
    const found = await entries(managerLog());
    const id = (answer.headers.location ?? '').split('/').at(-1) ?? '';
    expect(found.map(({ Message, Links }) => [Message, Links])).toEqual([
      [`A resource was created. EventService/Subscriptions/${id}.`, undefined],
      [`A resource was removed. EventService/Subscriptions/${id}.`, undefined],
    ]);
    expect(await messages(machineLog())).toEqual([]);
  });

  it('report rejected logins with the address, and the account if it exists, but without other input', async () => {
    await lab.close();
    lab = await openLab(driver, folder.path, { access: accessWithAccount(join(folder.path, 'users')) });
    const logIn = (UserName: string, Password: string) =>
      lab.client.send('POST', '/redfish/v1/SessionService/Sessions', { body: { UserName, Password } });
    expect([(await logIn('admin', 'hush')).status, (await logIn('hush', 'admin')).status]).toEqual([401, 401]);
    const records = await lab.services.logs.ofService.read();
    expect(records.map(({ message, severity, actor }) => [message, severity, actor])).toEqual([
      [
        'The request needs a valid user name and password. This service rejected a login as admin: wrong password.',
        'Warning',
        { user: null, address: '127.0.0.1' },
      ],
      [
        'The request needs a valid user name and password. This service rejected a login as an unknown user: unknown user.',
        'Warning',
        { user: null, address: '127.0.0.1' },
      ],
    ]);
    expect(JSON.stringify(records)).not.toContain('hush');
  });

  it('are linked from the machine and from its manager, with a name, a size and a policy', async () => {
    for (const [owner, log, name] of [
      [system, machineLog(), 'Event Log of the Machine'],
      [`/redfish/v1/Managers/${uuid}`, managerLog(), 'Log of the Management Service'],
    ] as const) {
      expect((await lab.get(owner))['LogServices']).toEqual({ '@odata.id': `${owner}/LogServices` });
      expect((await lab.get(`${owner}/LogServices`))['Members']).toEqual([{ '@odata.id': log }]);
      expect(await lab.get(log)).toMatchObject({
        Name: name,
        MaxNumberOfRecords: 1000,
        OverWritePolicy: 'WrapsWhenFull',
        Entries: { '@odata.id': `${log}/Entries` },
      });
      const missing = [
        `${owner}/LogServices/None`,
        `${owner}/LogServices/None/Entries`,
        `${log}/Entries/9`,
        `${log}/Entries/x`,
      ];
      for (const path of missing) expect([path, (await lab.client.get(path)).status]).toEqual([path, 404]);
    }
  });

  it('can be cleared; the first entry then names the client, and the numbers continue', async () => {
    await setState('shutoff');
    await setState('running');
    expect((await lab.post(`${machineLog()}/Actions/LogService.ClearLog`)).status).toBe(204);
    await until('the entry', async () => (await entries(machineLog())).length === 1);
    expect(await entries(machineLog())).toMatchObject([
      { Id: '3', Message: 'A resource was changed. LogService.ClearLog.', OriginAddress: 'http://127.0.0.1' },
    ]);
    await restart();
    await setState('shutoff');
    expect((await entries(machineLog())).map(({ Id }) => Id)).toEqual(['3', '4']);
  });

  it('survive a restart and an incomplete last line', async () => {
    await setState('crashed');
    await lab.close();
    const [name = ''] = readdirSync(folder.path).filter((file) => file.startsWith('logs-'));
    appendFileSync(join(folder.path, name, `${uuid}.jsonl`), '{"id":2,"ti');
    lab = await openLab(driver, folder.path);
    expect(await entries(machineLog())).toMatchObject([
      { Id: '1', Severity: 'Critical', MessageId: 'ResourceEvent.1.4.ResourceStatusChangedCritical' },
    ]);
    await setState('running');
    expect((await entries(machineLog())).map(({ MessageId }) => MessageId)).toEqual([
      'ResourceEvent.1.4.ResourceStatusChangedCritical',
      'ResourceEvent.1.4.ResourcePoweredOn',
    ]);
    // The incomplete line must not damage the entry that the service wrote after it.
    await restart();
    expect((await entries(machineLog())).map(({ Id }) => Id)).toEqual(['1', '2']);
  });

  it('return all other entries if one line is damaged', async () => {
    for (const state of ['shutoff', 'running', 'shutoff'] as const) await setState(state);
    await lab.close();
    const [name = ''] = readdirSync(folder.path).filter((file) => file.startsWith('logs-'));
    const file = join(folder.path, name, `${uuid}.jsonl`);
    const [first, , ...rest] = readFileSync(file, 'utf8').split('\n');
    writeFileSync(file, [first, 'damaged', ...rest].join('\n'));
    lab = await openLab(driver, folder.path);
    expect((await entries(machineLog())).map(({ Id }) => Id)).toEqual(['1', '3']);
  });

  it('contain a test event only in the log of the service, even if the event names a machine', async () => {
    await setState('shutoff');
    const submitTestEvent = (origin: string) =>
      lab.post('/redfish/v1/EventService/Actions/EventService.SubmitTestEvent', {
        MessageId: 'ResourceEvent.1.4.ResourceRemoved',
        OriginOfCondition: `/redfish/v1/Systems/${origin}`,
      });
    for (const origin of [uuid, 'service', 'invented']) expect((await submitTestEvent(origin)).status).toBe(204);
    expect(await messages(machineLog())).toEqual(["'node-2' was powered off."]);
    expect(await messages(managerLog())).toEqual(Array.from({ length: 3 }, () => 'A resource was removed.'));
    const [name = ''] = readdirSync(folder.path).filter((file) => file.startsWith('logs-'));
    expect(readdirSync(join(folder.path, name)).sort()).toEqual([`${uuid}.jsonl`, 'service.jsonl']);
  });

  it('keep the last 1,000 entries, also after a restart, in a file of about 2,000 lines at most', async () => {
    for (let count = 1; count <= 4_500; count += 1) {
      lab.publish(uuid, `${count}.`);
      // A read writes the entries so far. So the entries are written in several parts.
      if (count % 100 === 0) await lab.get(`${machineLog()}/Entries`);
    }
    const listed = (await lab.get(`${machineLog()}/Entries`))['Members'] as readonly Body[]; // The collection contains complete members.
    expect(listed).toHaveLength(1_000);
    expect(listed[0]).toMatchObject({ '@odata.id': `${machineLog()}/Entries/3501`, Id: '3501' });
    const page = await lab.get(`${machineLog()}/Entries?$skip=990&$top=5`);
    // The collection contains complete members.
    expect((page['Members'] as readonly Body[]).map(({ Id }) => Id)).toEqual(['4491', '4492', '4493', '4494', '4495']);
    const [name = ''] = readdirSync(folder.path).filter((file) => file.startsWith('logs-'));
    const lines = readFileSync(join(folder.path, name, `${uuid}.jsonl`), 'utf8').split('\n').length;
    expect(lines).toBeLessThanOrEqual(2_003);
    await restart();
    expect((await lab.get(`${machineLog()}/Entries`))['Members']).toEqual(listed);
  });

  it('are removed with their machine, and the log of the service stays', async () => {
    await setState('shutoff');
    await lab.post('/redfish/v1/EventService/Subscriptions', { Destination: 'http://192.0.2.1/', Protocol: 'Redfish' });
    const machine = await driver.getSystem(uuid);
    await messages(machineLog());
    driver.undefine(uuid);
    driver.define(machine);
    expect(await messages(machineLog())).toEqual(['A resource was created.']);
    expect(await messages(managerLog())).toEqual([expect.stringMatching(/^A resource was created\. /)]);
    // `retain` with an empty set does what a start does if the machine was removed while the service did not run.
    await lab.services.logs.retain(new Set());
    expect(await messages(machineLog())).toEqual([]);
    expect(await messages(managerLog())).toEqual([expect.stringMatching(/^A resource was created\. /)]);
  });
});
