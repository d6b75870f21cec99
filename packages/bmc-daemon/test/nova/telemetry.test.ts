/** Tests metric reports, which come from the diagnostics of servers. */
import { expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import { waitFor } from '../daemon/process.js';
import { sendJson } from '../support/cloud-server.js';
import { idOf } from '../support/listed-servers.js';
import { servedCloud } from '../support/served-cloud.js';
import type { Body, Served } from '../support/served-resources.js';

const cloud = servedCloud();
const reports = '/redfish/v1/TelemetryService/MetricReports';
/**
 * Reads a report until the answer is 200. On a busy host, a reader gets 503 after 4 s while the request to Nova
 * continues, so a later read succeeds.
 */
const reportOf = (served: Served, index: number): Promise<Body> =>
  waitFor(
    async () => {
      const { status, body } = await served.send('GET', `${reports}/${idOf(index)}`);
      return status === 200 ? body : undefined;
    },
    () => `the report of server ${index} is not available`,
  );
const valuesOf = (report: Body): Readonly<Record<string, string>> => {
  const all = report['MetricValues'] as readonly { readonly MetricId: string; readonly MetricValue: string }[]; // A report has this list.
  return Object.fromEntries(all.map(({ MetricId: id, MetricValue: value }) => [id, value]));
};
const requestedIds = () =>
  cloud.api.requests.filter((line) => line.endsWith('/diagnostics')).map((line) => line.split('/')[3]);
/** Lets `respond` answer the requests for diagnostics of a server instead of Nova. */
const answerWith = (respond: (response: ServerResponse, id: string) => void): void =>
  cloud.answer((_request, response, path) => {
    if (!path.endsWith('/diagnostics')) return false;
    respond(response, path.split('/')[2] ?? '');
    return true;
  });

it('the service shows the counters of a server, and requests diagnostics only of this server', async () => {
  for (const index of [1, 2, 3]) cloud.servers.put(index);
  const served = await cloud.serve();
  expect((await served.get(reports))['Members']).toHaveLength(3);
  expect((await served.get('/redfish/v1/Systems?$expand=.'))['Members']).toHaveLength(3);
  expect(requestedIds()).toEqual([]);
  expect(valuesOf(await reportOf(served, 2))).toEqual({
    ...{ DiskReadBytes: '262145', DiskReadRequests: '114', DiskWriteBytes: '5778435', DiskWriteRequests: '492' },
    ...{ NetworkReceivedBytes: '2070139', NetworkReceivedPackets: '26701', NetworkReceiveErrors: '100' },
    ...{ NetworkTransmittedBytes: '140208', NetworkTransmittedPackets: '662', NetworkTransmitErrors: '400' },
    ...{ NetworkReceiveDrops: '200', NetworkTransmitDrops: '500' },
  });
  expect(await served.get(`/redfish/v1/Systems/${idOf(2)}/ProcessorSummary/ProcessorMetrics`)).toMatchObject({
    BandwidthPercent: null,
  });
  expect(requestedIds()).toEqual([idOf(2)]);
});

it('the service derives the load of the processors from two measurements', async () => {
  cloud.servers.put(1);
  let readings = 0;
  answerWith((response) => {
    readings += 1;
    sendJson(response, 200, { cpu_details: [{ time: readings }, { time: readings }] });
  });
  const served = await cloud.serve();
  await served.send('PATCH', `/redfish/v1/TelemetryService/MetricReportDefinitions/${idOf(1)}`, {
    MetricReportDefinitionType: 'OnRequest',
  });
  const load = await waitFor(
    async () => valuesOf(await reportOf(served, 1))['CPUUtilization'],
    () => 'no report has the load',
  );
  expect(load).toBe('0');
});

it('the service has no metric values of a server that is off, and requests no diagnostics from Nova', async () => {
  cloud.servers.put(1, { 'OS-EXT-STS:vm_state': 'stopped', 'OS-EXT-STS:power_state': 4 });
  const served = await cloud.serve();
  expect(valuesOf(await reportOf(served, 1))).toEqual({});
  expect(requestedIds()).toEqual([]);
});

it.each([[400], [404], [409], [501]])(
  'the service has no metric values of a server if Nova answers %d',
  async (status) => {
    cloud.servers.put(1);
    answerWith((response) => sendJson(response, status, { fault: { code: status, message: 'it does not run' } }));
    const served = await cloud.serve();
    expect(valuesOf(await reportOf(served, 1))).toEqual({});
    expect(requestedIds()).toEqual([idOf(1)]);
  },
);

it('the service requests no more diagnostics after the policy of the cloud has rejected a request', async () => {
  for (const index of [1, 2]) cloud.servers.put(index);
  const message = 'Policy does not allow os_compute_api:os-server-diagnostics to be performed.';
  answerWith((response) => sendJson(response, 403, { forbidden: { code: 403, message } }));
  const served = await cloud.serve();
  expect([valuesOf(await reportOf(served, 1)), valuesOf(await reportOf(served, 2))]).toEqual([{}, {}]);
  expect(requestedIds()).toEqual([idOf(1)]);
});

it('the service answers 503 to three reads of a server on a host that is down, asks Nova once, and reads other servers', async () => {
  for (const index of [1, 2]) cloud.servers.put(index);
  answerWith((response, id) => {
    if (id === idOf(1)) sendJson(response, 500, { computeFault: { code: 500, message: 'MessagingTimeout' } });
    else sendJson(response, 200, { disk_details: [{ read_bytes: 7 }] });
  });
  const served = await cloud.serve();
  for (let attempt = 0; attempt < 3; attempt += 1) {
    expect((await served.send('GET', `${reports}/${idOf(1)}`)).status).toBe(503);
  }
  expect(valuesOf(await reportOf(served, 2))).toEqual({ DiskReadBytes: '7' });
  expect(requestedIds()).toEqual([idOf(1), idOf(2)]);
});

it.each<[string, object]>([
  ['an answer in the form of API version 2.47', { cpu0_time: 17, memory: 524_288, vda_read: 262_144 }],
  ['values that a hypervisor does not count', { cpu_details: [{ time: null }], disk_details: [{ read_bytes: -1 }] }],
  ['values of other types', { cpu_details: [5], disk_details: [{ read_bytes: '7' }, null], nic_details: [[]] }],
])('the service has no metric values for %s', async (_, body) => {
  cloud.servers.put(1);
  answerWith((response) => sendJson(response, 200, body));
  expect(valuesOf(await reportOf(await cloud.serve(), 1))).toEqual({});
});

it('the service requests the diagnostics of at most four servers at the same time', async () => {
  for (let index = 0; index < 20; index += 1) cloud.servers.put(index);
  const held = new Set<ServerResponse>();
  let most = 0;
  answerWith((response) => {
    held.add(response);
    most = Math.max(most, held.size);
  });
  const served = await cloud.serve();
  const all = Promise.all(Array.from({ length: 20 }, (_, index) => served.send('GET', `${reports}/${idOf(index)}`)));
  await waitFor(
    () => {
      for (const response of held) {
        held.delete(response);
        sendJson(response, 200, {});
      }
      return requestedIds().length === 20 || undefined;
    },
    () => `Nova got ${requestedIds().length} requests`,
  );
  for (const response of held) sendJson(response, 200, {});
  await all;
  expect([new Set(requestedIds()).size, most <= 4]).toEqual([20, true]);
});
