/**
 * Tests the service at the name of one machine's manager: everything below the root is about that
 * machine.
 */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { crawl, faultsOf } from '../contract/crawler.js';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import { taskUri } from '../../src/redfish/tasks/task-store.js';
import type { Received } from '../support/client.js';
import {
  keysOf,
  newFolder,
  openLab,
  openListener,
  openStream,
  recordsOf,
  until,
  type Body,
  type Lab,
  type PushListener,
} from './event-lab.js';

const host = 'web-bmc.example.org';
const subscriptions = '/redfish/v1/EventService/Subscriptions';

describe("the service at the name of a machine's manager", () => {
  let folder: ReturnType<typeof newFolder>;
  let driver: FakeDriver;
  let lab: Lab;
  let listener: PushListener;
  let [own, other] = ['', ''];

  beforeEach(async () => {
    folder = newFolder();
    driver = new FakeDriver();
    lab = await openLab(driver, folder.path);
    listener = await openListener();
    [own, other] = [(await driver.getSystem('node-2')).uuid, (await driver.getSystem('node-1')).uuid];
    const path = `/redfish/v1/Managers/${own}/EthernetInterfaces/eth0`;
    expect((await lab.client.send('PATCH', path, { body: { FQDN: host } })).status).toBe(200);
  });
  afterEach(async () => {
    await listener.close();
    await lab.close();
    await driver.close();
    folder.remove();
  });

  const send = (method: string, path: string, body?: object): Promise<Received> =>
    lab.client.send(method, path, { headers: { host }, ...(body === undefined ? {} : { body }) });
  const read = async (path: string): Promise<Body> => {
    const { status, json } = await send('GET', path);
    expect([path, status]).toEqual([path, 200]);
    return json as Body; // Every resource is an object.
  };
  /** Returns the number of members at the manager's name, and at the service's own address. */
  const scopedAndTotal = async (path: string): Promise<readonly unknown[]> => [
    (await read(path))['Members@odata.count'],
    (await lab.get(path))['Members@odata.count'],
  ];
  const task = (uuid: string): string => {
    const targetUri = `/redfish/v1/Systems/${uuid}/Actions/ComputerSystem.Reset`;
    return taskUri(lab.services.operations.tasks.create({ name: 'Reset', targetUri }).id);
  };

  it('has no dead link and no resource of another machine', async () => {
    // Creates temporary resources for both machines.
    for (const uuid of [own, other]) {
      task(uuid);
      const port = `/redfish/v1/Managers/${uuid}/EthernetInterfaces/eth0`;
      await lab.client.send('PATCH', port, { body: { HostName: `x${uuid.at(-1) ?? ''}` } });
      await lab.client.send('PATCH', `/redfish/v1/Systems/${uuid}`, { body: { AssetTag: 'x' } });
    }
    await lab.post(subscriptions, { Destination: listener.url, Protocol: 'Redfish', Context: '' });
    await send('POST', subscriptions, { Destination: listener.url, Protocol: 'Redfish', Context: '' });
    const found = await crawl(lab.client.port, { host });
    expect([...found.values()].flatMap((crawled) => faultsOf(crawled, found))).toEqual([]);
    const about = [...found.values()].filter(({ body }) => JSON.stringify(body).includes(other));
    expect(about.map(({ path }) => path)).toEqual([]);
    expect(found.has(`/redfish/v1/Systems/${own}`)).toBe(true);
  });

  it('shows only the tasks and subscriptions of its machine', async () => {
    const [mine, others] = [task(own), task(other)];
    await expect(scopedAndTotal('/redfish/v1/TaskService/Tasks')).resolves.toEqual([1, 2]);
    expect([(await send('GET', mine)).status, (await send('GET', others)).status]).toEqual([200, 404]);

    const made = await send('POST', subscriptions, { Destination: listener.url, Protocol: 'Redfish', Context: '' });
    const elsewhere = await lab.post(subscriptions, { Destination: listener.url, Protocol: 'Redfish', Context: '' });
    await expect(scopedAndTotal(subscriptions)).resolves.toEqual([1, 2]);
    expect((await send('DELETE', elsewhere.headers.location ?? '')).status).toBe(404);
    expect((await send('DELETE', made.headers.location ?? '')).status).toBe(204);
    expect((await lab.client.send('DELETE', elsewhere.headers.location ?? '')).status).toBe(204);
  });

  it('shows no task of a firmware update of several machines, and its log names no other machine', async () => {
    const update = async (...uuids: readonly string[]): Promise<void> => {
      const Targets = uuids.map((uuid) => `/redfish/v1/UpdateService/FirmwareInventory/BIOS-${uuid}`);
      const path = '/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate';
      const { status } = await lab.post(path, { ImageURI: 'http://192.0.2.1/bios-2.0.bin', Targets });
      expect(status).toBe(202);
    };
    await update(own);
    await update(other);
    await update(own, other);
    await expect(scopedAndTotal('/redfish/v1/TaskService/Tasks')).resolves.toEqual([1, 3]);
    const log = `/redfish/v1/Managers/${own}/LogServices/ManagerLog/Entries`;
    await until('the log', async () => JSON.stringify(await read(log)).includes('Update the firmware of 2 machines'));
    expect(JSON.stringify(await read(log))).not.toContain('node-1');
  });

  it('sends only events of its machine to its streams and, also after a restart, to its subscriptions', async () => {
    const body = { Destination: listener.url, Protocol: 'Redfish', Context: 'own' };
    expect((await send('POST', subscriptions, body)).status).toBe(201);
    const stream = await openStream(lab.client, undefined, { host });
    try {
      await until('the stream', () => stream.payloads.length > 0);
      lab.publish(other, 'Not for here.');
      lab.publish(own, 'For here.');
      const originsOf = (records: readonly Body[]): readonly string[] =>
        [
          ...JSON.stringify(records).matchAll(/"OriginOfCondition":{"@odata.id":"(\/redfish\/v1\/Systems\/[^"]+)"/g),
        ].map(([, uri = '']) => uri);
      const streamedOrigins = () => originsOf(stream.payloads.flatMap(recordsOf));
      await until(
        'an event in the stream and at the listener',
        () => streamedOrigins().length > 0 && originsOf(listener.records()).length > 0,
      );
      expect([streamedOrigins(), originsOf(listener.records())]).toEqual([
        [`/redfish/v1/Systems/${own}`],
        [`/redfish/v1/Systems/${own}`],
      ]);
      expect(keysOf(listener.records())).toContain('ResourceCreated');
    } finally {
      stream.close();
    }
    await lab.close();
    lab = await openLab(driver, folder.path);
    lab.publish(other, 'Not for here.');
    lab.publish(own, 'Again.');
    await until('the next', () => JSON.stringify(listener.payloads).includes('Again'));
    expect(JSON.stringify(listener.payloads)).not.toContain('Not for here');
  });
});
