/** Tests metric reports that a client reads, that a listener gets over HTTPS, and that a stream sends. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import type { Received } from '../support/client.js';
import { newFolder, openLab, openStream, until, type Body, type Lab, type StreamClient } from './event-lab.js';

const telemetry = '/redfish/v1/TelemetryService';
const subscriptions = '/redfish/v1/EventService/Subscriptions';

let folder: ReturnType<typeof newFolder>;
let driver: FakeDriver;
let lab: Lab;
/** A machine that runs, and one that is off. */
let running: string;
let off: string;
const streams: StreamClient[] = [];
const servers: Server[] = [];

beforeEach(async () => {
  folder = newFolder();
  driver = new FakeDriver();
  lab = await openLab(driver, folder.path);
  running = (await driver.getSystem('node-2')).uuid;
  off = (await driver.getSystem('node-1')).uuid;
  await driver.power(running, 'create');
  await driver.power(off, 'destroy');
});

afterEach(async () => {
  for (const stream of streams.splice(0)) stream.close();
  await lab.close();
  await driver.close();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
  folder.remove();
});

const definition = (uuid: string) => `${telemetry}/MetricReportDefinitions/${uuid}`;
const report = (uuid: string) => `${telemetry}/MetricReports/${uuid}`;
const valuesOf = (body: Body): Readonly<Record<string, string>> =>
  Object.fromEntries(
    (body['MetricValues'] as readonly { MetricId: string; MetricValue: string }[]).map((value) => [
      value.MetricId,
      value.MetricValue,
    ]),
  );
const patch = (path: string, body: object) => lab.client.send('PATCH', path, { body });
const messages = ({ text }: Received) =>
  Array.from(text.matchAll(/"MessageId":"Base\.[\d.]+\.(\w+)"/g), ([, key]) => key);
const open = async (filter: string): Promise<StreamClient> => {
  const stream = await openStream(lab.client, `?$filter=${encodeURIComponent(filter)}`);
  streams.push(stream);
  return stream;
};
const uuidsOf = (payloads: readonly Body[]) => [...new Set(payloads.map(({ Id }) => Id))];

describe('a metric report', () => {
  it('has values at the first read and rates later, and no values for a machine that is off', async () => {
    const first = await lab.get(report('node-2'));
    expect(first['@odata.id']).toBe(report(running));
    expect(first['MetricReportDefinition']).toEqual({ '@odata.id': definition(running) });
    expect(Object.keys(valuesOf(first))).toContain('DiskWriteBytes');
    expect(Object.keys(valuesOf(first)).filter((id) => /Rate$|CPUUtilization/.test(id))).toEqual([]);
    await until('rates', async () => 'DiskWriteRate' in valuesOf(await lab.get(report(running))));
    const second = await lab.get(report(running));
    expect(Number(valuesOf(second)['CPUUtilization'])).toBeGreaterThan(0);
    expect(Date.parse(String(second['Timestamp']))).toBeGreaterThan(Date.parse(String(first['Timestamp'])));
    expect(await lab.get(report(off))).toMatchObject({ MetricValues: [], Timestamp: expect.any(String) });
  });

  it('links to the properties that have the same values, and that are null for a machine that is off', async () => {
    await until('rates', async () => 'DiskWriteRate' in valuesOf(await lab.get(report(running))));
    const { MetricValues } = await lab.get(report(running));
    const named = (MetricValues as readonly Readonly<Record<string, string>>[]).filter(
      (value) => 'MetricProperty' in value,
    );
    expect(named.map(({ MetricId }) => MetricId)).toEqual(['CPUUtilization', 'MemoryUtilization']);
    for (const { MetricProperty = '', MetricValue } of named) {
      const [path = '', pointer = ''] = MetricProperty.split('#/');
      expect((await lab.get(path))[pointer]).toBe(Number(MetricValue));
    }
    const { ProcessorSummary, MemorySummary } = await lab.get(`/redfish/v1/Systems/${off}`);
    const links = [ProcessorSummary, MemorySummary].map((summary) => (summary as { Metrics: { '@odata.id': string } }).Metrics['@odata.id']); // prettier-ignore
    expect(await Promise.all(links.map((path) => lab.get(path)))).toMatchObject([
      { Id: 'ProcessorMetrics', BandwidthPercent: null },
      { Id: 'MemoryMetrics', CapacityUtilizationPercent: null },
    ]);
    expect((await lab.client.get('/redfish/v1/Systems/nobody/MemorySummary/MemoryMetrics')).status).toBe(404);
  });

  it('is available for all machines in one answer with $expand', async () => {
    const { Members } = await lab.get(`${telemetry}/MetricReports?$expand=.($levels=1)`);
    const all = Members as readonly Body[];
    expect(all.map(({ Id }) => Id)).toEqual((await driver.listSystems()).map(({ uuid }) => uuid));
    expect(new Set(all.map(({ Timestamp }) => Timestamp)).size).toBe(1);
  });

  it('names metrics that are all defined, with units', async () => {
    await until('rates', async () => 'DiskWriteRate' in valuesOf(await lab.get(report(running))));
    for (const id of Object.keys(valuesOf(await lab.get(report(running))))) {
      const { Units, MetricType } = await lab.get(`${telemetry}/MetricDefinitions/${id}`);
      expect([id, Units, MetricType]).toEqual([
        id,
        expect.stringMatching(/^(%|By|By\/s|ns|\{request\}|\{packet\})$/),
        expect.stringMatching(/^(Gauge|Counter)$/),
      ]);
    }
    expect((await lab.client.get(`${telemetry}/MetricDefinitions/Foo`)).status).toBe(404);
    expect((await lab.client.get(report('nobody'))).status).toBe(404);
  });

  it('has a definition that a client can change, that survives a restart and is removed with its machine', async () => {
    const changed = await patch(definition(running), {
      MetricReportDefinitionType: 'OnRequest',
      Schedule: { RecurrenceInterval: 'PT2M' },
    });
    expect([changed.status, changed.json]).toMatchObject([
      200,
      { MetricReportDefinitionType: 'OnRequest', Schedule: { RecurrenceInterval: 'PT2M' } },
    ]);
    for (const [value, key] of [
      ['PT0.5S', 'PropertyValueOutOfRange'],
      ['P2D', 'PropertyValueOutOfRange'],
      ['1m', 'PropertyValueFormatError'],
    ]) {
      const refused = await patch(definition(running), { Schedule: { RecurrenceInterval: value } });
      expect([value, refused.status, messages(refused)]).toEqual([value, 400, [key]]);
    }
    await patch(definition(off), { MetricReportDefinitionEnabled: false });
    expect(await lab.get(definition(off))).toMatchObject({
      MetricReportDefinitionEnabled: false,
      Status: { State: 'Disabled' },
    });
    // The definition is disabled, so no report was ever made.
    expect(await lab.get(report(off))).not.toHaveProperty('Timestamp');
    expect(await lab.get(report(off))).toMatchObject({ MetricValues: [] });

    const file = join(folder.path, `telemetry-${lab.services.serviceUuid}.json`);
    const storedDefinitions = () =>
      Object.keys((JSON.parse(readFileSync(file, 'utf8')) as { definitions: object }).definitions);
    expect(storedDefinitions()).toEqual([running, off]);
    await lab.close();
    lab = await openLab(driver, folder.path);
    expect(await lab.get(definition(running))).toMatchObject({ Schedule: { RecurrenceInterval: 'PT2M' } });
    driver.undefine(off);
    await until('the definition to go', () => storedDefinitions().length === 1);
    expect((await lab.client.get(definition(off))).status).toBe(404);
  });

  it('is not renewed while the telemetry service is disabled', async () => {
    const before = await lab.get(report(running));
    expect((await patch(telemetry, { ServiceEnabled: false })).json).toMatchObject({
      ServiceEnabled: false,
      Status: { State: 'Disabled' },
    });
    expect(await lab.get(report(running))).toEqual(before);
    const test = { MetricReportName: 'Test', GeneratedMetricReportValues: [] };
    const refused = await lab.post(`${telemetry}/Actions/TelemetryService.SubmitTestMetricReport`, test);
    expect([refused.status, messages(refused)]).toEqual([503, ['ServiceDisabled']]);
    const stream = await open("EventFormatType eq 'MetricReport'");
    await patch(telemetry, { ServiceEnabled: true });
    await until('reports', () => stream.payloads.length > 0);
  });
});

describe('metric reports on a stream', () => {
  it('are sent if the filter selects them, with unique ids and without events', async () => {
    const stream = await open('EventFormatType eq MetricReport');
    await until('the reports', () => uuidsOf(stream.payloads).length >= 3);
    await until('rates', () => stream.payloads.some((body) => 'DiskWriteRate' in valuesOf(body)));
    const payload = stream.payloads.find(({ Id }) => Id === running);
    expect(payload).toEqual({
      '@odata.id': report(running),
      '@odata.type': '#MetricReport.v1_5_2.MetricReport',
      Id: running,
      Name: 'Metric Report of node-2',
      MetricReportDefinition: { '@odata.id': definition(running) },
      Timestamp: expect.any(String),
      MetricValues: expect.any(Array),
      Context: '',
    });
    expect(new Set(stream.ids).size).toBe(stream.ids.length);
    expect(stream.payloads.every((body) => !('Events' in body))).toBe(true);
    const { Members } = await lab.get(subscriptions);
    const [own] = Members as readonly { readonly '@odata.id': string }[]; // The schema requires this property.
    expect(await lab.get(own?.['@odata.id'] ?? '')).toMatchObject({ EventFormatType: 'MetricReport' });
  });

  it('can be limited to one definition, and can be combined with events', async () => {
    // In the filter, the URI of the definition may have the machine's name instead of its UUID.
    const one = await open(`MetricReportDefinition eq '${definition('node-2')}/'`);
    const both = await open('EventFormatType eq Event or EventFormatType eq MetricReport');
    const events = await open("RegistryPrefix eq 'ResourceEvent'");
    await until('reports', () => one.payloads.length > 1 && uuidsOf(both.payloads).length > 3);
    lab.publish(running, 'x');
    await until('the event', () => events.text().includes(' x'));
    await until('the event', () => both.text().includes(' x'));
    expect(uuidsOf(one.payloads)).toEqual([running]);
    expect([...events.payloads, ...both.payloads].some((body) => 'Events' in body)).toBe(true);
    expect(events.payloads.every((body) => 'Events' in body)).toBe(true);
  });

  it('have ids: a client that reconnects with the id of a report gets no older event again', async () => {
    lab.publish(running, 'before');
    const first = await open('EventFormatType eq Event or EventFormatType eq MetricReport');
    await until('a report', () => first.payloads.some((body) => 'MetricValues' in body));
    const at = first.payloads.findIndex((body) => 'MetricValues' in body);
    const last = first.ids[at] ?? '';
    first.close();
    const second = await openStream(lab.client, '', { 'Last-Event-ID': last });
    streams.push(second);
    lab.publish(running, 'after');
    await until('the later event', () => second.text().includes('after'));
    expect(second.text()).not.toContain('before');
  });
});

describe('metric reports of a subscription', () => {
  interface Listener {
    readonly url: string;
    readonly payloads: Body[];
    /** The status of the listener's answers to later reports. */
    status: number;
  }

  /** Listens with TLS and a self-signed certificate. */
  const listen = async (): Promise<Listener> => {
    const [key, cert] = [join(folder.path, 'key.pem'), join(folder.path, 'cert.pem')];
    const words = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
    execFileSync('openssl', [...words, '-subj', '/CN=localhost', '-keyout', key, '-out', cert], { stdio: 'ignore' });
    const listener: Listener = { url: '', payloads: [], status: 204 };
    const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        listener.payloads.push(JSON.parse(Buffer.concat(chunks).toString()) as Body); // The tests check the payload.
        response.writeHead(listener.status).end();
      });
    });
    servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo; // The address of a TCP server is an object.
    return Object.assign(listener, { url: `https://127.0.0.1:${port}/reports` });
  };

  it('arrive one by one with the Context of the subscription, for the selected definitions, also after a restart', async () => {
    const listener = await listen();
    const body = {
      Destination: listener.url,
      Protocol: 'Redfish',
      Context: 'mine',
      EventFormatType: 'MetricReport',
      MetricReportDefinitions: [{ '@odata.id': `${definition('node%2D2')}/` }],
    };
    const created = await lab.post(subscriptions, body);
    expect([created.status, created.json]).toMatchObject([
      201,
      { EventFormatType: 'MetricReport', MetricReportDefinitions: [{ '@odata.id': definition(running) }] },
    ]);
    await until('a report with rates', () => listener.payloads.some((payload) => 'DiskReadRate' in valuesOf(payload)));
    expect(listener.payloads.map(({ Id, Context }) => [Id, Context])).toEqual(
      listener.payloads.map(() => [running, 'mine']),
    );
    await lab.close();
    const before = listener.payloads.length;
    lab = await openLab(driver, folder.path);
    await until('a report after the restart', () => listener.payloads.length > before);
    expect(await lab.get(created.headers.location ?? '')).toMatchObject({ EventFormatType: 'MetricReport' });
  });

  it('have current values after a listener has failed', async () => {
    const listener = await listen();
    listener.status = 503;
    await patch(definition(running), { Schedule: { RecurrenceInterval: 'PT1S' } });
    await patch('/redfish/v1/EventService', { DeliveryRetryIntervalSeconds: 3 });
    // Uses the deprecated property, like scripts from before EventFormatType.
    const named = [{ '@odata.id': definition(running) }];
    const more = { EventTypes: ['MetricReport'], Context: null, MetricReportDefinitions: named };
    const created = await lab.post(subscriptions, { Destination: listener.url, Protocol: 'Redfish', ...more });
    expect(created.json).toMatchObject({ EventFormatType: 'MetricReport', EventTypes: ['MetricReport'] });
    await until('the first attempt', () => listener.payloads.length > 0);
    listener.status = 204;
    await until('the next', () => listener.payloads.length > 2);
    const times = listener.payloads.map(({ Timestamp }) => String(Timestamp));
    expect(times).toEqual([...times].sort());
    // The retry comes after three seconds. One report with current values replaces the reports of these seconds.
    const [first = '', second = ''] = times;
    expect(Date.parse(second) - Date.parse(first)).toBeGreaterThan(1_500);
  });

  it('wait for a suspended listener in their order, but not more than ten test reports', async () => {
    const listener = await listen();
    const body = { Destination: listener.url, Protocol: 'Redfish', EventFormatType: 'MetricReport' };
    const uri = (await lab.post(subscriptions, body)).headers.location ?? '';
    await lab.post(`${uri}/Actions/EventDestination.SuspendSubscription`, {});
    const names = Array.from({ length: 13 }, (_, index) => `Test ${index}`);
    for (const MetricReportName of names) {
      const test = { MetricReportName, GeneratedMetricReportValues: [] };
      await lab.post(`${telemetry}/Actions/TelemetryService.SubmitTestMetricReport`, test);
    }
    await lab.post(`${uri}/Actions/EventDestination.ResumeSubscription`, {});
    const received = () => listener.payloads.map(({ Id }) => Id).filter((id) => String(id).startsWith('Test'));
    await until('all waiting test reports', () => received().length >= 10);
    expect(received()).toEqual(names.slice(3));
  });

  it('are sent only to subscriptions without selected definitions if they are test reports', async () => {
    const stream = await open("EventFormatType eq 'MetricReport'");
    const one = await open(`MetricReportDefinition eq '${definition(off)}'`);
    const values = [{ MetricId: 'CPUUtilization', MetricValue: '12' }];
    const test = { MetricReportName: 'A test', GeneratedMetricReportValues: values };
    const answer = await lab.post(`${telemetry}/Actions/TelemetryService.SubmitTestMetricReport`, test);
    expect(answer.status).toBe(204);
    await until('the test', () => stream.text().includes('A test'));
    expect(stream.payloads.find(({ Name }) => Name === 'A test')).toEqual({
      '@odata.id': `${telemetry}/MetricReports/A%20test`,
      '@odata.type': '#MetricReport.v1_5_2.MetricReport',
      Id: 'A test',
      Name: 'A test',
      Timestamp: expect.any(String),
      MetricValues: values,
      Context: '',
    });
    await until('the report of the selected definition', () => one.payloads.length > 0);
    expect(one.text()).not.toContain('A test');
  });

  it.each([
    [{ EventFormatType: 'MetricReport', RegistryPrefixes: ['ResourceEvent'] }, 'PropertyValueConflict'],
    [{ EventFormatType: 'MetricReport', Severities: ['OK'] }, 'PropertyValueConflict'],
    [{ MetricReportDefinitions: [{ '@odata.id': `${telemetry}/MetricReportDefinitions/1` }] }, 'PropertyValueConflict'],
    [{ EventFormatType: 'MetricReport', EventTypes: ['Alert'] }, 'PropertyValueConflict'],
    [{ EventFormatType: 'MetricReport', EventTypes: ['MetricReport', 'Alert'] }, 'PropertyValueConflict'],
    [{ EventFormatType: 'Event', EventTypes: ['MetricReport'] }, 'PropertyValueConflict'],
    [{ EventFormatType: 'Trap' }, 'PropertyValueNotInList'],
    [
      {
        EventFormatType: 'MetricReport',
        MetricReportDefinitions: [{ '@odata.id': `${telemetry}/MetricReportDefinitions/1` }],
      },
      'PropertyValueError',
    ],
  ])('cannot be requested with %j', async (more, key) => {
    const refused = await lab.post(subscriptions, { Destination: 'https://192.0.2.1/', Protocol: 'Redfish', ...more });
    expect([refused.status, messages(refused)]).toEqual([400, [key]]);
  });

  it('reject EventTypes of events with a message that names the property', async () => {
    const more = { EventFormatType: 'MetricReport', EventTypes: ['Alert'] };
    const refused = await lab.post(subscriptions, { Destination: 'https://192.0.2.1/', Protocol: 'Redfish', ...more });
    expect(refused.json).toMatchObject({
      error: {
        '@Message.ExtendedInfo': [
          { MessageArgs: ['EventTypes', 'EventFormatType'], RelatedProperties: ['#/EventTypes'] },
        ],
      },
    });
  });

  it.each([
    [{ EventFormatType: 'MetricReport', EventTypes: ['MetricReport'] }, 'MetricReport'],
    [{ EventFormatType: 'MetricReport', EventTypes: [], SubordinateResources: true }, 'MetricReport'],
    [{ EventTypes: ['MetricReport', 'MetricReport'] }, 'MetricReport'],
    [{ EventTypes: ['Alert', 'MetricReport'] }, 'Event'],
  ])('can be requested with %j, which gives the format %s', async (more, format) => {
    const created = await lab.post(subscriptions, { Destination: 'https://192.0.2.1/', Protocol: 'Redfish', ...more });
    expect([created.status, created.json]).toMatchObject([201, { EventFormatType: format }]);
    expect(created.json).not.toHaveProperty('SubordinateResources');
  });
});
