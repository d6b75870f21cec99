/** Tests subscriptions whose events the service pushes to a listener. */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import type { Received } from '../support/client.js';
import { accessWithAccount } from '../support/services.js';
import {
  keysOf,
  newFolder,
  openLab,
  openListener,
  until,
  type Body,
  type Lab,
  type PushListener,
} from './event-lab.js';

const collection = '/redfish/v1/EventService/Subscriptions';

describe('push subscriptions', () => {
  let folder: ReturnType<typeof newFolder>;
  let driver: FakeDriver;
  let lab: Lab;
  let listener: PushListener;
  let uuid: string;
  const listeners = new Map<string, PushListener>();

  beforeEach(async () => {
    folder = newFolder();
    driver = new FakeDriver();
    lab = await openLab(driver, folder.path);
    listener = await openListener();
    uuid = (await driver.getSystem('node-2')).uuid;
  });

  afterEach(async () => {
    for (const each of [listener, ...listeners.values()]) await each.close();
    listeners.clear();
    await lab.close();
    await driver.close();
    folder.remove();
  });

  const body = (more: object = {}) => ({ Destination: listener.url, Protocol: 'Redfish', Context: 'mine', ...more });
  const subscribe = async (more: object = {}): Promise<string> => {
    const answer = await lab.post(collection, body(more));
    expect([answer.status, answer.status === 201 ? '' : answer.text]).toEqual([201, '']);
    return answer.headers.location ?? '';
  };
  const messages = ({ text }: Received) =>
    Array.from(text.matchAll(/"MessageId":"Base\.[\d.]+\.(\w+)"/g), ([, key]) => key);
  const destroy = async () => driver.define({ ...(await driver.getSystem(uuid)), state: 'shutoff' });
  const start = async () => driver.define({ ...(await driver.getSystem(uuid)), state: 'running' });

  it('receive an Event for a change that another program made', async () => {
    await subscribe({ HttpHeaders: [{ 'X-Token': 'hush' }] });
    await until('the subscription itself', () => listener.payloads.length > 0);
    await destroy();
    await until('the power-off', () => keysOf(listener.records()).includes('ResourcePoweredOff'));
    const payload = listener.payloads.at(-1);
    expect(payload).toEqual({
      '@odata.type': '#Event.v1_13_0.Event',
      Id: expect.any(String),
      Name: 'Event',
      Context: 'mine',
      'Events@odata.count': 1,
      Events: [
        {
          MemberId: '0',
          EventType: 'StatusChange',
          EventId: payload?.['Id'],
          EventTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
          Message: "'node-2' was powered off.",
          MessageId: 'ResourceEvent.1.4.ResourcePoweredOff',
          MessageArgs: ['node-2'],
          MessageSeverity: 'OK',
          Resolution: 'No action is needed.',
          OriginOfCondition: { '@odata.id': `/redfish/v1/Systems/${uuid}` },
        },
      ],
    });
    expect(listener.headers.at(-1)).toMatchObject({
      'x-token': 'hush',
      'content-type': 'application/json; charset=utf-8',
    });
  });

  it('are accepted without a listener, and show all properties except headers and the credentials in the URI', async () => {
    const Destination = 'https://user:hush@192.0.2.50/events';
    const uri = await subscribe({
      Destination,
      HttpHeaders: [{ Authorization: 'hush' }],
      RegistryPrefixes: ['ResourceEvent'],
      MessageIds: ['TaskEvent.1.0.TaskAborted'],
      ResourceTypes: ['ComputerSystem'],
      OriginResources: [{ '@odata.id': `/redfish/v1/Systems/${uuid}/` }],
      SubordinateResources: true,
      Severities: ['Critical'],
      DeliveryRetryPolicy: 'SuspendRetries',
      VerifyCertificate: true,
    });
    const shown = await lab.get(uri);
    const id = uri.split('/').at(-1) ?? '';
    expect(shown).toEqual({
      '@odata.id': uri,
      '@odata.type': '#EventDestination.v1_16_0.EventDestination',
      '@odata.context': '/redfish/v1/$metadata#EventDestination.EventDestination',
      Id: id,
      Name: `Event Subscription ${id}`,
      Context: 'mine',
      Destination: 'https://192.0.2.50/events',
      Protocol: 'Redfish',
      SubscriptionType: 'RedfishEvent',
      EventFormatType: 'Event',
      RegistryPrefixes: ['ResourceEvent'],
      MessageIds: ['TaskEvent.1.0.TaskAborted'],
      ResourceTypes: ['ComputerSystem'],
      Severities: ['Critical'],
      OriginResources: [{ '@odata.id': `/redfish/v1/Systems/${uuid}` }],
      'OriginResources@odata.count': 1,
      SubordinateResources: true,
      HttpHeaders: [],
      VerifyCertificate: true,
      DeliveryRetryPolicy: 'SuspendRetries',
      Status: expect.objectContaining({ State: 'Enabled' }),
      '@Redfish.WriteableProperties': ['Context', 'DeliveryRetryPolicy', 'HttpHeaders', 'VerifyCertificate'],
      Actions: expect.any(Object),
    });
    expect(JSON.stringify([...(await lab.get(collection))['Members'] as object[]])).toBe(JSON.stringify([{ '@odata.id': uri }])); // prettier-ignore
    expect(lab.logged.join()).not.toContain('hush');
  });

  it.each([
    [{ Protocol: 'FTP' }, ['PropertyValueNotInList'], '#/Protocol'],
    [{ Destination: 'ftp://192.0.2.1/' }, ['PropertyValueFormatError'], '#/Destination'],
    [{ Destination: 'http://169.254.169.254/latest' }, ['PropertyValueFormatError'], '#/Destination'],
    [{ Destination: 'http://192.0.2.1/\r\nX: y' }, ['PropertyValueFormatError'], '#/Destination'],
    [{ Destination: 'nowhere' }, ['PropertyValueFormatError'], '#/Destination'],
    [{ RegistryPrefixes: ['Alert'] }, ['PropertyValueNotInList'], '#/RegistryPrefixes/0'],
    [{ HttpHeaders: [{ 'X-A': 'a\r\nHost: b' }] }, ['PropertyValueFormatError'], '#/HttpHeaders/0/X-A'],
    ...['Trailer', 'transfer-encoding', 'Content-Length', 'Host', 'Connection', 'Upgrade', 'Expect'].map(
      (name): [object, readonly string[], string] => [
        { HttpHeaders: [{ [name]: 'x' }] },
        ['PropertyValueError'],
        `#/HttpHeaders/0/${name}`,
      ],
    ),
    [{ DeliveryRetryPolicy: 'Sometimes' }, ['PropertyValueNotInList'], '#/DeliveryRetryPolicy'],
    [{ Bogus: 1 }, ['PropertyUnknown'], '#/Bogus'],
  ])('are rejected with %j, and the error names the property', async (more, keys, pointer) => {
    const answer = await lab.post(collection, body(more));
    expect([answer.status, messages(answer)]).toEqual([400, keys]);
    expect(answer.text).toContain(pointer);
  });

  it('are limited to 16 KiB, also after a change, because each change writes the whole file', async () => {
    // Each property is valid, and the body is far below 1 MiB. So only the limit of 16 KiB can reject it.
    const headers = Array.from({ length: 5 }, (_, index) => ({ [`X-${index}`]: 'x'.repeat(4_000) }));
    const refused = await lab.post(collection, body({ HttpHeaders: headers }));
    expect([refused.status, messages(refused)]).toEqual([413, ['PayloadTooLarge']]);
    const uri = await subscribe({ HttpHeaders: headers.slice(0, 3) });
    const grown = await lab.client.send('PATCH', uri, { body: { HttpHeaders: headers } });
    expect([grown.status, messages(grown)]).toEqual([413, ['PayloadTooLarge']]);
    const { status } = await lab.client.send('PATCH', uri, { body: { HttpHeaders: headers.slice(1, 4) } });
    expect(status).toBe(200);
  });

  it('are rejected without required properties, with all faults at once', async () => {
    const answer = await lab.post(collection, { Context: 'mine' });
    expect([answer.status, messages(answer)]).toEqual([400, ['PropertyMissing', 'PropertyMissing']]);
  });

  it('show the query of their Destination only to accounts that may change them', async () => {
    await lab.close();
    const access = accessWithAccount(join(folder.path, 'htpasswd'));
    const account = { password: 'operates all', enabled: true, passwordChangeRequired: false };
    await access.accounts?.create({ user: 'olga', roleId: 'Operator', ...account });
    await access.accounts?.create({ user: 'otto', roleId: 'Operator', ...account });
    await access.accounts?.create({ user: 'rick', roleId: 'ReadOnly', ...account });
    lab = await openLab(driver, folder.path, { access });
    const authorizationOf = (user: string, password = 'operates all') => ({
      Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
    });
    const Destination = 'https://192.0.2.50/events?token=hush#also';
    const made = await lab.client.send('POST', collection, {
      headers: authorizationOf('olga'),
      body: body({ Destination }),
    });
    expect(made.json).toMatchObject({ Destination });
    const uri = made.headers.location ?? '';
    const hidden = 'https://192.0.2.50/events?******';
    for (const [headers, shown] of [
      [authorizationOf('rick'), hidden],
      [authorizationOf('olga'), Destination],
      [authorizationOf('otto'), hidden],
      [authorizationOf('admin', 'secret'), Destination],
    ] as const) {
      const again = await lab.client.get(uri, headers);
      expect(again.json).toMatchObject({ Destination: shown });
      expect((await lab.client.get(uri, { ...headers, 'If-None-Match': again.headers.etag ?? '' })).status).toBe(304);
      const expanded = await lab.client.get(`${collection}?$expand=.`, headers);
      expect(expanded.json).toMatchObject({ Members: [{ Destination: shown }] });
    }
    const guess = `$filter=${encodeURIComponent("contains(Destination,'hush')")}`;
    expect((await lab.client.get(`${collection}?${guess}`, authorizationOf('rick'))).text).not.toContain(uri);
  });

  it('are limited to 200, and a deletion allows a new subscription', async () => {
    const uris: string[] = [];
    for (let count = 0; count < 200; count += 1) uris.push(await subscribe({ RegistryPrefixes: ['TaskEvent'] }));
    const answer = await lab.post(collection, body());
    expect([answer.status, messages(answer)]).toEqual([503, ['EventSubscriptionLimitExceeded']]);
    expect((await lab.client.send('DELETE', uris[7] ?? '')).status).toBe(204);
    await subscribe();
  });

  it('show the UUIDs of machines in OriginResources, and unknown names unchanged', async () => {
    const links = ['Systems/node-2/Processors', 'Managers/node-2', 'Systems/node-9', 'Chassis/node-2'];
    const sent = links.map((path) => ({ '@odata.id': `/redfish/v1/${path}` }));
    const { OriginResources } = await lab.get(await subscribe({ OriginResources: sent }));
    const shown = [`Systems/${uuid}/Processors`, `Managers/${uuid}`, 'Systems/node-9', 'Chassis/node-2'];
    expect(OriginResources).toEqual(shown.map((path) => ({ '@odata.id': `/redfish/v1/${path}` })));
  });

  it('are rejected with a name that several machines have', async () => {
    const machine = await driver.getSystem('node-3');
    driver.define({ ...machine, name: 'node-2' });
    const definition = '/redfish/v1/TelemetryService/MetricReportDefinitions/node-2';
    for (const more of [
      { OriginResources: [{ '@odata.id': '/redfish/v1/Systems/node-2' }] },
      { EventFormatType: 'MetricReport', MetricReportDefinitions: [{ '@odata.id': definition }] },
    ]) {
      const answer = await lab.post(collection, body(more));
      expect([answer.status, messages(answer)]).toEqual([400, ['PropertyValueError']]);
      expect(answer.text).toContain('Several machines have the name node-2. Use a UUID.');
    }
  });

  it('are answered with 503 while a host that may have the machine has never answered', async () => {
    Object.assign(driver, { isListIncomplete: () => true });
    const definition = '/redfish/v1/TelemetryService/MetricReportDefinitions/node-99';
    const origin = '/redfish/v1/Systems/node-99';
    for (const more of [
      { OriginResources: [{ '@odata.id': origin }] },
      { EventFormatType: 'MetricReport', MetricReportDefinitions: [{ '@odata.id': definition }] },
    ])
      expect([more, (await lab.post(collection, body(more))).status]).toEqual([more, 503]);
    await subscribe({ OriginResources: [{ '@odata.id': '/redfish/v1/Systems/node-2' }] });
    const action = '/redfish/v1/EventService/Actions/EventService.SubmitTestEvent';
    const test = { MessageId: 'ResourceEvent.1.0.TestMessage', OriginOfCondition: origin };
    expect((await lab.post(action, test)).status).toBe(204);
  });

  it('receive only what their filters select', async () => {
    const system = `/redfish/v1/Systems/${uuid}`;
    const filters: Readonly<Record<string, object>> = {
      all: {},
      alert: { EventTypes: ['Alert'] },
      added: { EventTypes: ['ResourceAdded'] },
      tasks: { RegistryPrefixes: ['TaskEvent'] },
      one: { MessageIds: ['ResourceEvent.1.0.ResourcePoweredOff'] },
      either: { RegistryPrefixes: ['TaskEvent'], MessageIds: ['ResourceEvent.ResourcePoweredOff'] },
      notOne: { ExcludeMessageIds: ['ResourceEvent.ResourcePoweredOff'], ResourceTypes: ['ComputerSystem'] },
      none: { ExcludeRegistryPrefixes: ['ResourceEvent'] },
      type: { ResourceTypes: ['EventDestination'] },
      origin: { OriginResources: [{ '@odata.id': system }] },
      named: { OriginResources: [{ '@odata.id': '/redfish/v1/Systems/node%2D2/' }] },
      upperCase: { OriginResources: [{ '@odata.id': `/redfish/v1/Systems/${uuid.toUpperCase()}` }] },
      below: { OriginResources: [{ '@odata.id': '/redfish/v1/Systems' }], SubordinateResources: true },
      notBelow: { OriginResources: [{ '@odata.id': '/redfish/v1/Systems' }] },
      severe: { Severities: ['Critical'] },
    };
    for (const [name, filter] of Object.entries(filters)) {
      const each = await openListener();
      listeners.set(name, each);
      await subscribe({ Destination: each.url, Context: name, ...filter });
    }
    const last = await subscribe();
    await destroy();
    driver.define({ ...(await driver.getSystem('node-3')), state: 'crashed' });
    await lab.client.send('DELETE', last);
    const receivedKeys = (): Readonly<Record<string, readonly string[]>> =>
      Object.fromEntries(
        [...listeners].map(([name, each]) => [
          name,
          keysOf(each.records().filter((record) => !JSON.stringify(record).includes(`${collection}/`) || JSON.stringify(record).includes(last))), // prettier-ignore
        ]),
      );
    const everything = ['ResourceCreated', 'ResourcePoweredOff', 'ResourceStatusChangedCritical', 'ResourceRemoved'];
    const expected: Readonly<Record<string, readonly string[]>> = {
      all: everything,
      alert: everything,
      added: ['ResourceCreated'],
      tasks: [],
      one: ['ResourcePoweredOff'],
      either: ['ResourcePoweredOff'],
      notOne: ['ResourceStatusChangedCritical'],
      none: [],
      type: ['ResourceCreated', 'ResourceRemoved'],
      origin: ['ResourcePoweredOff'],
      named: ['ResourcePoweredOff'],
      upperCase: ['ResourcePoweredOff'],
      below: ['ResourcePoweredOff', 'ResourceStatusChangedCritical'],
      notBelow: [],
      severe: ['ResourceStatusChangedCritical'],
    };
    // Each listener has its own delivery, which does not wait for the others.
    await until('the last event of each listener', () =>
      Object.entries(expected).every(([name, keys]) => (receivedKeys()[name] ?? []).length >= keys.length),
    );
    expect(receivedKeys()).toEqual(expected);
  });

  it('can be changed, but not in read-only properties', async () => {
    const uri = await subscribe();
    const change = { Context: 'new', DeliveryRetryPolicy: 'TerminateAfterRetries', HttpHeaders: [{ 'X-A': 'b' }] };
    const changed = await lab.client.send('PATCH', uri, { body: change });
    expect([changed.status, changed.json]).toEqual([
      200,
      expect.objectContaining({ Context: 'new', DeliveryRetryPolicy: 'TerminateAfterRetries', HttpHeaders: [] }),
    ]);
    const refused = await lab.client.send('PATCH', uri, { body: { Destination: 'http://192.0.2.1/' } });
    expect([refused.status, messages(refused)]).toEqual([400, ['PropertyNotWritable']]);
    await destroy();
    await until('the power-off', () => keysOf(listener.records()).includes('ResourcePoweredOff'));
    expect([listener.payloads.at(-1)?.['Context'], listener.headers.at(-1)?.['x-a']]).toEqual(['new', 'b']);
  });

  it('survive a restart of the service, and so does their deletion', async () => {
    const uri = await subscribe({ HttpHeaders: [{ 'X-Token': 'hush' }], RegistryPrefixes: ['ResourceEvent'] });
    const gone = await subscribe();
    await lab.client.send('DELETE', gone);
    const before = await lab.get(uri);
    await lab.close();
    lab = await openLab(driver, folder.path);
    expect(await lab.get(uri)).toEqual(before);
    expect((await lab.client.get(gone)).status).toBe(404);
    await destroy();
    await until('the power-off', () => keysOf(listener.records()).includes('ResourcePoweredOff'));
    expect(listener.headers.at(-1)?.['x-token']).toBe('hush');
  });

  it('receive a test event as the client wrote it, unless a filter excludes it', async () => {
    await subscribe({ RegistryPrefixes: ['ResourceEvent'], ResourceTypes: ['Manager'] });
    const action = '/redfish/v1/EventService/Actions/EventService.SubmitTestEvent';
    const test = {
      EventId: 'abc',
      EventTimestamp: '2026-01-02T03:04:05Z',
      EventType: 'Alert',
      Message: 'This is a test.',
      MessageArgs: ['one'],
      MessageId: 'ResourceEvent.1.0.TestMessage',
      OriginOfCondition: `/redfish/v1/Managers/${uuid}`,
      Severity: 'Warning',
    };
    expect((await lab.post(action, { ...test, OriginOfCondition: '/redfish/v1/Chassis' })).status).toBe(204);
    expect((await lab.post(action, test)).status).toBe(204);
    await until('the test event', () => listener.records().length > 0);
    expect(listener.records()).toEqual([
      {
        MemberId: '0',
        EventType: 'Alert',
        EventId: 'abc',
        EventTimestamp: '2026-01-02T03:04:05.000Z',
        Message: 'This is a test.',
        MessageId: 'ResourceEvent.1.0.TestMessage',
        MessageArgs: ['one'],
        MessageSeverity: 'Warning',
        Resolution: 'No action is needed.',
        OriginOfCondition: { '@odata.id': `/redfish/v1/Managers/${uuid}` },
        OriginAddress: 'http://127.0.0.1',
      },
    ]);
    const refused = await lab.post(action, { Severity: 'Bad' });
    expect([refused.status, messages(refused)]).toEqual([
      400,
      expect.arrayContaining(['ActionParameterMissing', 'ActionParameterValueNotInList']),
    ]);
  });

  it('have the text of the registry if a test event has no Message, whatever version its MessageId has', async () => {
    await subscribe();
    const action = '/redfish/v1/EventService/Actions/EventService.SubmitTestEvent';
    const fallback = 'A client requested this test event.';
    const texts: Readonly<Record<string, string>> = {
      'ResourceEvent.1.0.ResourceChanged': 'A resource was changed.',
      'ResourceEvent.1.0.3.ResourceRemoved': 'A resource was removed.',
      'ResourceEvent.1.4.ResourcePoweredOn': "'node-1' was powered on.",
      'ResourceEvent.1.0.NoSuchMessage': fallback,
      'constructor.name': fallback,
      'Other.1.0.ResourceChanged': fallback,
    };
    for (const MessageId of Object.keys(texts)) await lab.post(action, { MessageId, MessageArgs: ['node-1'] });
    const tests = () => listener.records().filter(({ MessageArgs }) => (MessageArgs as string[]).length > 0);
    await until('all test events', () => tests().length === Object.keys(texts).length);
    expect(Object.fromEntries(tests().map(({ MessageId, Message }) => [MessageId, Message]))).toEqual(texts);
  });

  describe('with a listener that fails or misbehaves', () => {
    const retryQuickly = async () => {
      const answer = await lab.client.send('PATCH', '/redfish/v1/EventService', {
        body: { DeliveryRetryAttempts: 1, DeliveryRetryIntervalSeconds: 1 },
      });
      expect([answer.status, answer.json]).toEqual([
        200,
        expect.objectContaining({ DeliveryRetryAttempts: 1, DeliveryRetryIntervalSeconds: 1 }),
      ]);
    };

    it('show the failure, and deliver in order and without a gap after the listener recovers', async () => {
      await retryQuickly();
      listener.answer = 500;
      const uri = await subscribe({ RegistryPrefixes: ['ResourceEvent'], ResourceTypes: ['ComputerSystem'] });
      await destroy();
      await until('the warning', async () => (await lab.get(uri))['Status'] !== undefined && JSON.stringify(await lab.get(uri)).includes('"Health":"Warning"')); // prettier-ignore
      await start();
      await destroy();
      listener.answer = 200;
      const before = listener.payloads.length;
      await until('the delivery', () => listener.payloads.length > before);
      expect(keysOf(listener.payloads.at(-1)?.['Events'] as never)).toEqual([
        'ResourcePoweredOff',
        'ResourcePoweredOn',
        'ResourcePoweredOff',
      ]);
      await until('the health', async () => JSON.stringify(await lab.get(uri)).includes('"Health":"OK"'));
    });

    it.each([
      [200, 'OK'],
      [500, 'Warning'],
    ])('ignore a large body of the answer: %i gives the health %s', async (status, health) => {
      await retryQuickly();
      listener.answer = status;
      listener.answerBody = Buffer.alloc(2_000_000, 'x');
      const uri = await subscribe({ RegistryPrefixes: ['ResourceEvent'], ResourceTypes: ['ComputerSystem'] });
      await destroy();
      await until('the delivery', () => keysOf(listener.records()).includes('ResourcePoweredOff'));
      await start();
      await until('the next event, or the failure', async () => JSON.stringify(await lab.get(uri)).includes('"Health":"Warning"') || keysOf(listener.records()).includes('ResourcePoweredOn')); // prettier-ignore
      expect(JSON.stringify(await lab.get(uri))).toContain(`"Health":"${health}"`);
    });

    it.each(['endless', 'broken'] as const)('deliver each event once if the body of the answer is %s', async (body) => {
      await retryQuickly();
      listener.answer = 200;
      listener.answerBody = body;
      const uri = await subscribe({ RegistryPrefixes: ['ResourceEvent'], ResourceTypes: ['ComputerSystem'] });
      await destroy();
      await until('the first event', () => listener.payloads.length === 1);
      await start();
      await until('the next event', () => listener.payloads.length === 2);
      expect(keysOf(listener.records())).toEqual(['ResourcePoweredOff', 'ResourcePoweredOn']);
      expect(JSON.stringify(await lab.get(uri))).toContain('"Health":"OK"');
    });

    it('count a protocol switch as a failure, and try again', async () => {
      await retryQuickly();
      listener.answer = 101;
      const uri = await subscribe({ DeliveryRetryPolicy: 'SuspendRetries' });
      await destroy();
      await until('the end of its retries', async () => (await lab.get(uri))['Status'] !== undefined && JSON.stringify(await lab.get(uri)).includes('"State":"Disabled"')); // prettier-ignore
      expect(listener.payloads.length).toBeGreaterThan(1);
      expect(lab.logged.join('\n')).toContain('the listener answered with 101');
    });

    it('are deleted with TerminateAfterRetries', async () => {
      await retryQuickly();
      listener.answer = 404;
      const uri = await subscribe({ DeliveryRetryPolicy: 'TerminateAfterRetries' });
      await until('the end', async () => (await lab.client.get(uri)).status === 404);
      expect(listener.payloads).toHaveLength(2);
      await lab.close();
      lab = await openLab(driver, folder.path);
      expect((await lab.get(collection))['Members']).toEqual([]);
    });

    it('are suspended with SuspendRetries, also after a restart, until a client resumes them', async () => {
      await retryQuickly();
      listener.answer = 500;
      const uri = await subscribe({ DeliveryRetryPolicy: 'SuspendRetries', ResourceTypes: ['ComputerSystem'] });
      await destroy();
      await until('the suspension', async () =>
        JSON.stringify(await lab.get(uri)).includes('"Status":{"State":"Disabled"}'),
      );
      await lab.close();
      lab = await openLab(driver, folder.path);
      expect((await lab.get(uri))['Status']).toEqual({ State: 'Disabled' });
      const before = listener.payloads.length;
      await start();
      listener.answer = 200;
      expect((await lab.post(`${uri}/Actions/EventDestination.ResumeSubscription`)).status).toBe(204);
      await until('the delivery', () => listener.payloads.length > before);
      expect(keysOf(listener.payloads.at(-1)?.['Events'] as never)).toEqual(['ResourcePoweredOn']);
      expect((await lab.get(uri))['Status']).toEqual({ State: 'Enabled', Health: 'OK' });
    });

    it('deliver at once when a client resumes them, and become healthy', async () => {
      const slow = { DeliveryRetryAttempts: 5, DeliveryRetryIntervalSeconds: 3_600 };
      await lab.client.send('PATCH', '/redfish/v1/EventService', { body: slow });
      listener.answer = 500;
      const uri = await subscribe({ RegistryPrefixes: ['ResourceEvent'], ResourceTypes: ['ComputerSystem'] });
      const health = async () => ((await lab.get(uri))['Status'] as Body)['Health']; // Every subscription has this property.
      await destroy();
      await until('the warning', async () => (await health()) === 'Warning');
      listener.answer = 204;
      expect((await lab.post(`${uri}/Actions/EventDestination.ResumeSubscription`)).status).toBe(204);
      await until('the health', async () => (await health()) === 'OK');
      expect(keysOf(listener.records())).toEqual(['ResourcePoweredOff', 'ResourcePoweredOff']);
    });

    it('do not delay reads and other subscriptions while the listener never answers', async () => {
      listener.answer = 'never';
      await subscribe();
      const other = await openListener();
      listeners.set('other', other);
      await subscribe({ Destination: other.url, ResourceTypes: ['ComputerSystem'] });
      for (let count = 0; count < 3_000; count += 1) {
        lab.publish(uuid, `${count}.`);
        if (count % 500 === 0) expect((await lab.client.get(`/redfish/v1/Systems/${uuid}`)).status).toBe(200);
      }
      await until('the last event', () => JSON.stringify(other.records().at(-1)).includes(' 2999.'));
      expect(listener.payloads.length).toBeLessThanOrEqual(1);
    });
  });
});
