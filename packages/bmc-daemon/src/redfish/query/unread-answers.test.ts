/** Tests large answers to clients that do not read them, or that disconnect. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { serve, type Client } from '../../../test/support/client.js';
import { withoutLogin } from '../authenticate.js';
import { createPipeline } from '../pipeline.js';
import { resourceDefiner } from '../resource.js';
import type { ExpansionLimits } from './expansion-budget.js';

interface Services {
  /** Called for each read of a member, with the number of reads so far. */
  onRead: (count: number) => void;
  reads: number;
}
const defineResource = resourceDefiner<Services>();
const path = '/redfish/v1/Systems';
const memberCount = 1500;
/** A part of each member. With it, an answer with all members is larger than the buffers of both sockets. */
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
    authenticate: withoutLogin,
    strict: true,
    // The wait is so long that even a busy host causes no rejection. A test that needs one sets a smaller limit.
    expansion: { waitMs: 600_000, ...expansion },
  });
  client = await serve((request, response) => void pipeline(request, response, 'r1'));
  return services;
}

/** Sends requests over one connection, and does not read the answers. */
async function ask(...paths: readonly string[]): Promise<Socket> {
  const socket = connect(client.port, '127.0.0.1');
  sockets.push(socket);
  await once(socket, 'connect');
  socket.pause();
  socket.write(paths.map((uri) => `GET ${uri} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
  return socket;
}

const expanded = `${path}?$expand=.`;

describe('a client that does not read', () => {
  it('is disconnected after the stall limit, so that its next $expand is answered', async () => {
    const services = await open({ unreadBytesPerClient: 1, stallMs: 50 });
    const first = new Promise<void>((resolve) => (services.onRead = () => resolve()));
    await ask(expanded);
    await first;
    expect((await client.get(`${expanded}&$top=1`)).status).toBe(200);
    expect(services.reads).toBe(memberCount + 1);
  });

  it('gets 503 for a further $expand, but still answers to plain requests', async () => {
    const services = await open({ unreadBytesPerClient: 1, waitingPerClient: 1, waitMs: 1 });
    const first = new Promise<void>((resolve) => (services.onRead = () => resolve()));
    await ask(expanded);
    await first;
    const { status, headers } = await client.get(expanded);
    expect([status, headers['retry-after']]).toEqual([503, '5']);
    expect((await client.get(`${path}/1`)).status).toBe(200);
    expect((await client.get(`${path}?$top=1`)).status).toBe(200);
  });

  it('causes only one large answer in memory, even if it sends many requests on one connection', async () => {
    const services = await open({ unreadBytesPerClient: 1, waitMs: 1 });
    await ask(...Array.from({ length: 50 }, () => expanded));
    await new Promise<void>((resolve) => (services.onRead = () => resolve()));
    expect((await client.get(expanded)).status).toBe(503);
    expect(services.reads).toBeLessThanOrEqual(memberCount);
  });
});

describe('a client that disconnects', () => {
  it('causes only a part of the reads of its request', async () => {
    const services = await open({});
    const begun = new Promise<void>((resolve) => {
      services.onRead = (count) => {
        if (count >= 20) resolve();
      };
    });
    const socket = await ask(expanded);
    await begun;
    socket.destroy();
    // The pipeline reads for this request after it has stopped reading for the first client.
    expect((await client.get(`${expanded}&$top=1`)).status).toBe(200);
    expect(services.reads).toBeLessThan(memberCount);
  });
});
