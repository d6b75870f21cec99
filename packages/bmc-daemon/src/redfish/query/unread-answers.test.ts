/** Large answers to clients that read nothing, or go away. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { serve, type Client } from '../../../test/support/client.js';
import { openToAll } from '../authenticate.js';
import { createPipeline } from '../pipeline.js';
import { resourceDefiner } from '../resource.js';
import type { ExpansionLimits } from './expansion-budget.js';

interface Services {
  /** Called with each read of a member. */
  onRead: (count: number) => void;
  reads: number;
}
const defineResource = resourceDefiner<Services>();
const path = '/redfish/v1/Systems';
const memberCount = 1500;
/** More than the buffers of two sockets hold, with all members. */
const padding = 'x'.repeat(10_000);

const systems = defineResource({
  entity: 'ComputerSystemCollection',
  odataType: '#ComputerSystemCollection.ComputerSystemCollection',
  uri: path,
  load: () => ({}),
  render: (_entity, { self }) => ({
    Members: Array.from({ length: memberCount }, (_, index) => ({ '@odata.id': `${self}/${index + 1}` })),
  }),
});
const system = defineResource({
  entity: 'ComputerSystem',
  odataType: '#ComputerSystem.v1_27_0.ComputerSystem',
  uri: '/redfish/v1/Systems/{systemId}',
  load: async ({ services }) => {
    services.reads += 1;
    services.onRead(services.reads);
    await new Promise(setImmediate);
    return {};
  },
  render: () => ({ Padding: padding }),
});

let client: Client;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await client.close();
});

async function open(expansion: Partial<ExpansionLimits>): Promise<Services> {
  const services: Services = { onRead: () => undefined, reads: 0 };
  const pipeline = createPipeline({
    resources: [systems, system],
    services,
    authenticate: openToAll,
    strict: true,
    expansion,
  });
  client = await serve((request, response) => void pipeline(request, response, 'r1'));
  return services;
}

/** Sends requests and reads nothing. */
async function ask(...paths: readonly string[]): Promise<Socket> {
  const socket = connect(client.port, '127.0.0.1');
  sockets.push(socket);
  await once(socket, 'connect');
  socket.pause();
  socket.write(paths.map((uri) => `GET ${uri} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
  return socket;
}

const expanded = `${path}?$expand=.`;

describe('a client that reads nothing', () => {
  it('is disconnected after a while, and its room is given back', async () => {
    const services = await open({ unreadBytesPerClient: 1, stallMs: 50 });
    const first = new Promise<void>((resolve) => (services.onRead = () => resolve()));
    await ask(expanded);
    await first;
    expect((await client.get(`${expanded}&$top=1`)).status).toBe(200);
    expect(services.reads).toBe(memberCount + 1);
  });

  it('has plain requests answered meanwhile, and others are rejected above the limit', async () => {
    const services = await open({ unreadBytesPerClient: 1, waitingPerClient: 1, waitMs: 1 });
    const first = new Promise<void>((resolve) => (services.onRead = () => resolve()));
    await ask(expanded);
    await first;
    const { status, headers } = await client.get(expanded);
    expect([status, headers['retry-after']]).toEqual([503, '5']);
    expect((await client.get(`${path}/1`)).status).toBe(200);
    expect((await client.get(`${path}?$top=1`)).status).toBe(200);
  });

  it('has one large answer in memory, however many it asks for in one connection', async () => {
    const services = await open({ unreadBytesPerClient: 1, waitMs: 1 });
    await ask(...Array.from({ length: 50 }, () => expanded));
    await new Promise<void>((resolve) => (services.onRead = () => resolve()));
    expect((await client.get(expanded)).status).toBe(503);
    expect(services.reads).toBeLessThanOrEqual(memberCount);
  });
});

describe('a client that goes away', () => {
  it('ends the work that it asked for', async () => {
    const services = await open({});
    const begun = new Promise<void>((resolve) => {
      services.onRead = (count) => {
        if (count >= 20) resolve();
      };
    });
    const socket = await ask(expanded);
    await begun;
    socket.destroy();
    // Its turn comes when the work for the first one has ended.
    expect((await client.get(`${expanded}&$top=1`)).status).toBe(200);
    expect(services.reads).toBeLessThan(memberCount);
  });
});
