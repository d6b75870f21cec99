/** Tests the stream of Server-Sent Events. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import { accessWithAccount } from '../support/services.js';
import { keysOf, newFolder, openLab, openStream, until, type Lab, type StreamClient } from './event-lab.js';

const collection = '/redfish/v1/EventService/Subscriptions';

describe('the stream of events', () => {
  let folder: ReturnType<typeof newFolder>;
  let driver: FakeDriver;
  let lab: Lab;
  let uuid: string;
  const streams: StreamClient[] = [];

  beforeEach(async () => {
    folder = newFolder();
    driver = new FakeDriver();
    lab = await openLab(driver, folder.path);
    uuid = (await driver.getSystem('node-2')).uuid;
  });

  afterEach(async () => {
    for (const stream of streams.splice(0)) stream.close();
    await lab.close();
    await driver.close();
    folder.remove();
  });

  const open = async (query?: string, headers?: Readonly<Record<string, string>>): Promise<StreamClient> => {
    const stream = await openStream(lab.client, query, headers);
    streams.push(stream);
    return stream;
  };
  const setState = async (state: 'running' | 'shutoff' | 'paused') =>
    driver.define({ ...(await driver.getSystem(uuid)), state });
  // The schema requires this property.
  const members = async () => (await lab.get(collection))['Members'] as readonly { readonly '@odata.id': string }[];
  const publish = (count: number) => {
    for (let number = 0; number < count; number += 1) {
      lab.publish(uuid, `${'x'.repeat(1_000)} ${number}.`);
    }
  };

  it('begins with its own creation event, then sends each event with a unique id', async () => {
    const stream = await open();
    expect([stream.status, stream.headers['content-type'], stream.headers['odata-version']]).toEqual([
      200,
      'text/event-stream',
      '4.0',
    ]);
    await until('the first event', () => stream.payloads.length >= 1);
    const [own] = await members();
    expect(stream.payloads[0]).toMatchObject({
      '@odata.type': '#Event.v1_13_0.Event',
      Name: 'Event',
      Context: '',
      Events: [{ MessageId: 'ResourceEvent.1.4.ResourceCreated', OriginOfCondition: own }],
    });
    await setState('paused');
    await setState('running');
    await setState('shutoff');
    await until('four events', () => stream.payloads.length >= 4);
    expect(keysOf(stream.records())).toEqual([
      'ResourceCreated',
      'ResourcePaused',
      'ResourceStateChanged',
      'ResourcePoweredOff',
    ]);
    expect(new Set(stream.ids).size).toBe(4);
    expect(stream.ids).toEqual(stream.records().map(({ EventId }) => EventId));
  });

  it('is a subscription while it is open; deleting the subscription closes it', async () => {
    const stream = await open();
    const [own] = await members();
    const uri = own?.['@odata.id'] ?? '';
    expect(await lab.get(uri)).toMatchObject({
      SubscriptionType: 'SSE',
      Protocol: 'Redfish',
      Context: '',
      Destination: expect.stringMatching(/^redfish-sse:\/\/127\.0\.0\.1:\d+$/),
    });
    expect((await lab.get(uri))['Actions']).toEqual({});
    stream.close();
    await until('the end of the subscription', async () => (await members()).length === 0);
    const second = await open();
    const [next] = await members();
    expect((await lab.client.send('DELETE', next?.['@odata.id'] ?? '')).status).toBe(204);
    await until('the end of the stream', () => second.ended);
    expect(await members()).toEqual([]);
  });

  it('sends a client that reconnects only the missed events, or all stored events if the id is unknown', async () => {
    const first = await open();
    await setState('paused');
    await until('the pause', () => keysOf(first.records()).includes('ResourcePaused'));
    const last = first.ids.at(-1) ?? '';
    first.close();
    await until('the end of the subscription', async () => (await members()).length === 0);
    await setState('running');
    await setState('shutoff');
    const second = await open('', { 'Last-Event-ID': last });
    await until('the missed events', () => second.payloads.length >= 4);
    expect(keysOf(second.records())).toEqual([
      'ResourceRemoved',
      'ResourceStateChanged',
      'ResourcePoweredOff',
      'ResourceCreated',
    ]);
    const third = await open('', { 'Last-Event-ID': 'elsewhere-7' });
    await until('all stored events', () => third.payloads.length >= 7);
    expect(keysOf(third.records())[1]).toBe('ResourcePaused');
  });

  it('reports the number of lost events if more were missed than are stored', async () => {
    const first = await open();
    await until('the first event', () => first.payloads.length >= 1);
    const last = first.ids[0] ?? '';
    first.close();
    await until('the end of the subscription', async () => (await members()).length === 0);
    publish(1_500);
    const second = await open('', { 'Last-Event-ID': last });
    await until('the last event', () => second.text().includes(' 1499.'));
    const [loss] = second.records();
    expect(loss).toMatchObject({
      MessageId: 'Base.1.22.EventBufferExceeded',
      MessageSeverity: 'Warning',
      Message: expect.stringContaining('501 events were lost.'),
    });
    expect(new Set(second.ids).size).toBe(second.ids.length);
    // The event about the loss also has an id, after which a client can continue.
    const third = await open('', { 'Last-Event-ID': second.ids[0] ?? '' });
    await until('the last event', () => third.text().includes(' 1499.'));
    expect(keysOf(third.records())[0]).toBe('EventBufferExceeded');
  });

  it.each([
    ["$filter=MessageId eq 'ResourceEvent.1.4.ResourcePoweredOff'", ['ResourcePoweredOff']],
    ["$filter=MessageId eq 'ResourceEvent.ResourcePoweredOff'", ['ResourcePoweredOff']],
    ["$filter=(RegistryPrefix eq 'ResourceEvent') and not (MessageId eq 'ResourceEvent.ResourcePaused')", ['ResourceCreated', 'ResourcePoweredOff']], // prettier-ignore
    ["$filter=RegistryPrefix eq 'TaskEvent'", []],
    ["$filter=ResourceType eq 'ComputerSystem' or ResourceType eq 'EventDestination'", ['ResourceCreated', 'ResourcePaused', 'ResourcePoweredOff']], // prettier-ignore
    ["$filter=OriginResource eq '/redfish/v1/Systems'", []],
    ["$filter=OriginResource eq '/redfish/v1/Systems' and SubordinateResources eq true", ['ResourcePaused', 'ResourcePoweredOff']], // prettier-ignore
    ["$filter=OriginResource eq '/redfish/v1/Systems/node-2'", ['ResourcePaused', 'ResourcePoweredOff']],
    ["$filter=SubordinateResources eq true and not (OriginResource eq '/redfish/v1/Systems')", ['ResourceCreated']],
    ['$filter=EventFormatType eq Event and EventType eq StatusChange', ['ResourcePaused', 'ResourcePoweredOff']],
  ])('sends what its filter selects: %s', async (filter, expected) => {
    const stream = await open(`?${encodeURI(filter)}`);
    const all = await open();
    await setState('paused');
    await setState('shutoff');
    await until('the power-off', () => keysOf(all.records()).includes('ResourcePoweredOff'));
    await until('the filtered events', () => stream.payloads.length >= expected.length + (expected.includes('ResourceCreated') ? 1 : 0)); // prettier-ignore
    // `all` also creates a subscription, so `stream` may get two ResourceCreated.
    expect([...new Set(keysOf(stream.records()))]).toEqual(expected);
  });

  it('rejects an invalid filter, an unsupported Accept, another query parameter and POST', async () => {
    const path = '/redfish/v1/EventService/SSE';
    const accept = { Accept: 'text/event-stream' };
    for (const wrong of ['MessageId%20eq', "Foo%20eq%20'a'", "MessageId/Foo%20eq%20'a'", 'Origin0%20eq%20true']) {
      const filter = await lab.client.get(`${path}?$filter=${wrong}`, accept);
      expect([filter.status, filter.text]).toEqual([400, expect.stringContaining('QueryParameterValueFormatError')]);
    }
    const json = await lab.client.get(path, { Accept: 'application/json' });
    expect([json.status, json.json]).toEqual([406, { error: expect.any(Object) }]);
    const unknown = await lab.client.get(`${path}?$top=1`, accept);
    expect(unknown.status).toBe(400);
    const post = await lab.client.send('POST', path, { headers: accept });
    expect([post.status, post.headers.allow]).toEqual([405, 'GET']);
    expect(await members()).toEqual([]);
  });

  it('does not wait for a client that does not read, and reports to this client how many events it lost', async () => {
    const slow = await open();
    await until('the first event', () => slow.payloads.length >= 1);
    slow.pause();
    const other = await open();
    // Publishes more events than the buffers of the sockets can store. The service buffers the rest up to its limit.
    for (let round = 0; round < 30; round += 1) {
      publish(500);
      expect((await lab.client.get(`/redfish/v1/Systems/${uuid}`)).status).toBe(200);
    }
    await until(
      'the last event in the other stream',
      () => other.text().endsWith(' 499."}]}\n\n') || other.text().includes('499.'),
    );
    slow.resume();
    await until('the event about the loss', () => keysOf(slow.records()).includes('EventBufferExceeded'));
    const loss = slow.records().find(({ MessageId }) => String(MessageId).endsWith('EventBufferExceeded'));
    const [, lost] = /(\d+) events were lost/.exec(String(loss?.['Message'])) ?? [];
    await until('the other events', () => slow.payloads.length >= 15_000 - Number(lost));
    expect(new Set(slow.ids).size).toBe(slow.ids.length);
  });

  it('ends when the account that opened it is removed', async () => {
    await lab.close();
    const file = join(folder.path, 'htpasswd');
    lab = await openLab(driver, folder.path, { access: accessWithAccount(file) });
    const stream = await open('', { Authorization: `Basic ${Buffer.from('admin:secret').toString('base64')}` });
    publish(1);
    await until('an event', () => stream.ids.length >= 2);
    expect(stream.ended).toBe(false);
    writeFileSync(file, readFileSync(file, 'utf8').replace('admin:', 'other:'));
    await until('the end of the stream', () => {
      publish(1);
      return stream.ended;
    });
    expect(lab.services.subscriptions.list()).toEqual([]);
  });

  it('ends when the password of its account changes, or has to be changed', async () => {
    await lab.close();
    const file = join(folder.path, 'htpasswd');
    const access = accessWithAccount(file);
    lab = await openLab(driver, folder.path, { access });
    const openAs = async (password: string) =>
      open('', { Authorization: `Basic ${Buffer.from(`admin:${password}`).toString('base64')}` });
    const first = await openAs('secret');
    await access.accounts?.change('admin', { password: 'another secret' });
    await until('the end of the first stream', () => {
      publish(1);
      return first.ended;
    });
    const second = await openAs('another secret');
    await access.accounts?.change('admin', { enabled: true });
    publish(1);
    await until('an event', () => second.ids.length >= 2);
    expect(second.ended).toBe(false);
    await access.accounts?.change('admin', { passwordChangeRequired: true });
    await until('the end of the second stream', () => {
      publish(1);
      return second.ended;
    });
    expect(lab.services.subscriptions.list()).toEqual([]);
  });

  it('can be opened 50 times by one account; other accounts can then still open it', async () => {
    await lab.close();
    const access = accessWithAccount(join(folder.path, 'htpasswd'));
    const account = { password: 'reads a lot', roleId: 'ReadOnly', enabled: true, passwordChangeRequired: false };
    for (const user of ['reader', 'other']) await access.accounts?.create({ user, ...account });
    lab = await openLab(driver, folder.path, { access });
    const openAs = async (user: string, password: string) =>
      open('', { Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` });
    // From here on, the password is cached, so that the next 59 logins take little time.
    const first = await openAs('reader', 'reads a lot');
    const more = await Promise.all(Array.from({ length: 59 }, () => openAs('reader', 'reads a lot')));
    const refused = more.filter(({ status }) => status === 503);
    expect([first.status, more.length - refused.length, refused.length]).toEqual([200, 49, 10]);
    expect(refused[0]?.headers['retry-after']).toBe('30');
    expect((await openAs('other', 'reads a lot')).status).toBe(200);
    expect((await openAs('admin', 'secret')).status).toBe(200);
    first.close();
    await until('a further stream of the account', async () => (await openAs('reader', 'reads a lot')).status === 200);
  });

  it('ends with the service', async () => {
    const stream = await open();
    lab.services.subscriptions.closeStreams();
    await until('the end of the stream', () => stream.ended);
    const late = await lab.client.get('/redfish/v1/EventService/SSE', { Accept: 'text/event-stream' });
    expect([late.status, late.text]).toEqual([503, expect.stringContaining('ServiceShuttingDown')]);
  });
});
