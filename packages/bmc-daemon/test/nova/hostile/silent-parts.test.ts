/**
 * Nova answers some requests only after another service answers: Neutron for ports, the compute host of a
 * server for its console output and diagnostics. These tests make such requests fail or hang, while the others
 * work. If Neutron is down completely, Nova answers no reads of servers: see ../lab.test.ts.
 */
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ServerResponse } from 'node:http';
import type { NovaHandler } from '../../support/cloud-server.js';
import { waitFor } from '../../daemon/process.js';
import { idOf } from '../../support/listed-servers.js';
import { servedCloud } from '../../support/served-cloud.js';
import type { Body, Served } from '../../support/served-resources.js';

const cloud = servedCloud();
/** Indexes of the servers: more servers than the daemon has connections to Nova. */
const indexes = Array.from({ length: 20 }, (_, index) => index + 1);
beforeEach(() => {
  for (const index of indexes) cloud.servers.put(index);
});

const systemOf = (index: number): string => `/redfish/v1/Systems/${idOf(index)}`;
const reset = ({ send }: Served, index: number, type: string) =>
  send('POST', `${systemOf(index)}/Actions/ComputerSystem.Reset`, { ResetType: type });

/** Maximum number of simultaneous requests to Nova that Neutron must answer first; the same for compute hosts. */
const MAX_RELAYED = 6;
/** Maximum number of simultaneous requests to Glance. */
const MAX_RUNNING = 16;

/** Returns the number of requests for ports that Nova has received. */
const portRequestCount = () => cloud.requestsTo('/compute').filter((line) => line.endsWith('/os-interface')).length;

/** Waits until `count` returns at least the expected number. */
const until = (expected: number, count: () => number) =>
  waitFor(
    () => (count() >= expected ? true : undefined),
    () => `the cloud got ${count()} of ${expected} requests`,
  );

/** Holds requests, until `release` answers 500 to them and to further requests. */
function holder() {
  const held = new Set<ServerResponse>();
  let isReleased = false;
  return {
    hold: (response: ServerResponse): void => {
      if (isReleased) response.writeHead(500).end('{}');
      else held.add(response);
    },
    /** Number of requests whose client still waits. */
    waiting: () => [...held].filter((response) => !response.closed).length,
    release: (): void => {
      isReleased = true;
      for (const response of held) response.writeHead(500).end('{}');
    },
  };
}

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
    await until(1, portRequestCount);
    expect(await served.get(systemOf(1))).toMatchObject({ PowerState: 'On' });
    expect((await reset(served, 1, 'ForceOff')).status).toBe(204);
    expect(await served.get(systemOf(1))).toMatchObject({ PowerState: 'Off' });
    // Without the ports, the daemon takes the interface from the addresses of the server.
    const { Members: members } = await links;
    expect(await served.get(String((members as Body[])[0]?.['@odata.id']))).toMatchObject({
      MACAddress: 'fa:16:3e:00:00:01',
    });
  });

  it('does not block the other requests to Nova if it is silent, however many clients read interfaces', async () => {
    const served = await cloud.serve();
    const ports = holder();
    fail('/os-interface', (_request, response) => ports.hold(response));
    const reads = indexes.map((index) => served.get(`${systemOf(index)}/EthernetInterfaces`));
    await until(MAX_RELAYED, ports.waiting);
    expect((await reset(served, 1, 'ForceOff')).status).toBe(204);
    expect(await served.get(systemOf(1))).toMatchObject({ PowerState: 'Off' });
    expect(ports.waiting()).toBe(MAX_RELAYED);
    for (const links of await Promise.all(reads)) expect(links).toMatchObject({ 'Members@odata.count': 1 });
    // While these requests wait, the daemon sends no others for ports. It answers from the addresses.
    expect(await served.get(`${systemOf(1)}/EthernetInterfaces`)).toMatchObject({ 'Members@odata.count': 1 });
    expect(portRequestCount()).toBe(MAX_RELAYED);
    expect(ports.waiting()).toBe(MAX_RELAYED);
  });
});

describe('a Glance with the same host and port as Nova', () => {
  it('does not block the requests to Nova if it is silent, however many clients read firmware', async () => {
    for (const index of indexes) cloud.servers.put(index, { image: { id: `image-${index}` } });
    const images = holder();
    cloud.api.others.set('image', (_request, response) => images.hold(response));
    const served = await cloud.serve();
    const reads = indexes.map((index) => served.send('GET', `${systemOf(index)}/Bios`));
    await until(MAX_RUNNING, images.waiting);
    expect((await reset(served, 1, 'ForceOff')).status).toBe(204);
    expect(images.waiting()).toBe(MAX_RUNNING);
    images.release();
    for (const { status } of await Promise.all(reads)) expect(status).toBe(503);
  });
});

describe('a compute host that is silent', () => {
  it('does not block the other requests to Nova, however many clients read console output', async () => {
    const served = await cloud.serve();
    const outputs = holder();
    cloud.answer((request, response, path) => {
      if (!path.endsWith('/action')) return false;
      let text = '';
      request.on('data', (piece: Buffer) => (text += piece.toString()));
      request.on('end', () => {
        if (text.includes('os-getConsoleOutput')) {
          outputs.hold(response);
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
    await until(MAX_RELAYED, outputs.waiting);
    expect((await reset(served, 20, 'ForceOff')).status).toBe(204);
    expect(await served.get(systemOf(20))).toMatchObject({ PowerState: 'Off' });
    expect(outputs.waiting()).toBe(MAX_RELAYED);
    outputs.release();
    for (const { status } of await Promise.all(reads)) expect(status).toBe(503);
  });
});
