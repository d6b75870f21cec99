/**
 * Nova answers some requests only after another service answers: Neutron for ports, the compute host of a
 * server for its console output and diagnostics. These tests make such requests fail or hang, while the others
 * work. If Neutron is down completely, Nova answers no reads of servers: see ../lab.test.ts.
 */
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { NovaHandler } from '../../support/cloud-server.js';
import { waitFor } from '../../daemon/process.js';
import { idOf } from '../../support/listed-servers.js';
import { servedCloud } from '../../support/served-cloud.js';
import type { Body, Served } from '../../support/served-resources.js';

const cloud = servedCloud();
/** More than the number of connections to Nova. */
const indexes = Array.from({ length: 20 }, (_, index) => index + 1);
beforeEach(() => {
  for (const index of indexes) cloud.servers.put(index);
});

const systemOf = (index: number): string => `/redfish/v1/Systems/${idOf(index)}`;
const reset = ({ send }: Served, index: number, type: string) =>
  send('POST', `${systemOf(index)}/Actions/ComputerSystem.Reset`, { ResetType: type });

/** Waits until the service asks for ports. */
const untilAsked = () =>
  waitFor(
    () => (cloud.requestsTo('/compute').some((line) => line.endsWith('/os-interface')) ? true : undefined),
    () => 'the service does not ask for ports',
  );

/** Lets `handler` answer the requests to Nova whose path ends with `end`. */
function fail(end: string, handler: NovaHandler): void {
  cloud.answer((request, response, path) => {
    if (!path.endsWith(end)) return false;
    handler(request, response, path);
    return true;
  });
}

describe('a Neutron that does not tell Nova the ports', () => {
  const faults: readonly (readonly [string, NovaHandler])[] = [
    ['refuses connections, so Nova answers 500', (_request, response) => void response.writeHead(500).end('{}')],
    ['is overloaded, so Nova answers 503', (_request, response) => void response.writeHead(503).end('{}')],
    ['is silent', () => undefined],
  ];

  it.each(faults)('leaves servers readable and their power working if it %s', async (_, fault) => {
    const served = await cloud.serve();
    fail('/os-interface', fault);
    const links = served.get(`${systemOf(1)}/EthernetInterfaces`);
    await untilAsked();
    const begun = performance.now();
    expect(await served.get(systemOf(1))).toMatchObject({ PowerState: 'On' });
    expect((await reset(served, 1, 'ForceOff')).status).toBe(204);
    expect(await served.get(systemOf(1))).toMatchObject({ PowerState: 'Off' });
    expect(performance.now() - begun).toBeLessThan(4000);
    // The addresses of the server show its interface.
    const { Members: members } = await links;
    expect(await served.get(String((members as Body[])[0]?.['@odata.id']))).toMatchObject({
      MACAddress: 'fa:16:3e:00:00:01',
    });
  });

  it('does not block the other requests to Nova if it is silent, however many clients read interfaces', async () => {
    const served = await cloud.serve();
    fail('/os-interface', () => undefined);
    const reads = indexes.map((index) => served.get(`${systemOf(index)}/EthernetInterfaces`));
    await untilAsked();
    const begun = performance.now();
    expect((await reset(served, 1, 'ForceOff')).status).toBe(204);
    expect(await served.get(systemOf(1))).toMatchObject({ PowerState: 'Off' });
    expect(performance.now() - begun).toBeLessThan(4000);
    for (const links of await Promise.all(reads)) expect(links).toMatchObject({ 'Members@odata.count': 1 });
    // Nova is not asked again at once.
    const asked = cloud.requestsTo('/compute').filter((line) => line.endsWith('/os-interface')).length;
    expect(await served.get(`${systemOf(1)}/EthernetInterfaces`)).toMatchObject({ 'Members@odata.count': 1 });
    expect(cloud.requestsTo('/compute').filter((line) => line.endsWith('/os-interface'))).toHaveLength(asked);
  });
});

describe('a Glance with the same host and port as Nova', () => {
  it('does not block the requests to Nova if it is silent, however many clients read firmware', async () => {
    for (const index of indexes) cloud.servers.put(index, { image: { id: `image-${index}` } });
    cloud.api.others.set('image', () => undefined);
    const served = await cloud.serve({ timeoutMs: 10_000 });
    const reads = indexes.map((index) => served.send('GET', `${systemOf(index)}/Bios`));
    await waitFor(
      () => (cloud.requestsTo('/image/v2/images/').length > 10 ? true : undefined),
      () => 'the service does not ask for images',
    );
    const begun = performance.now();
    expect((await reset(served, 1, 'ForceOff')).status).toBe(204);
    expect(performance.now() - begun).toBeLessThan(4000);
    for (const { status } of await Promise.all(reads)) expect(status).toBe(503);
  });
});

describe('a compute host that is silent', () => {
  it('does not block the other requests to Nova, however many clients read console output', async () => {
    const served = await cloud.serve({ timeoutMs: 10_000 });
    let held = 0;
    cloud.answer((request, response, path) => {
      if (!path.endsWith('/action')) return false;
      let text = '';
      request.on('data', (piece: Buffer) => (text += piece.toString()));
      request.on('end', () => {
        if (text.includes('os-getConsoleOutput')) {
          held += 1;
          return;
        }
        const id = path.split('/')[2] ?? '';
        const off = { 'OS-EXT-STS:vm_state': 'stopped', 'OS-EXT-STS:power_state': 4 };
        cloud.servers.put(Number(id.slice(-12)), off);
        response.writeHead(202).end();
      });
      return true;
    });
    const path = 'LogServices/ConsoleLog/Entries';
    const reads = indexes.map((index) => served.send('GET', `${systemOf(index)}/${path}`));
    const begun = performance.now();
    expect((await reset(served, 20, 'ForceOff')).status).toBe(204);
    expect(await served.get(systemOf(20))).toMatchObject({ PowerState: 'Off' });
    expect(performance.now() - begun).toBeLessThan(4000);
    expect(held).toBeGreaterThan(0);
    for (const { status } of await Promise.all(reads)) expect(status).toBe(503);
  });
});
