import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  freeUdpPort,
  loopbackAlone,
  openSsdpClient,
  searchText,
  type SsdpClient,
} from '../../test/support/ssdp-client.js';
import { SSDP_GROUP } from './message.js';
import { openResponder, type Responder, type ResponderOptions } from './responder.js';

const uuid = '7a0d5d6e-3c0c-4b0e-9d0b-1f5a2b3c4d5e';
const redfish = 'urn:dmtf-org:service:redfish-rest:1';
const opened: (Responder | SsdpClient)[] = [];
let to: { readonly group: string; readonly port: number };

async function respond(change: Partial<ResponderOptions> = {}): Promise<Responder> {
  const responder = await openResponder({
    uuid,
    minor: 20,
    product: 'Test/1',
    addresses: ['https://127.0.0.1:8000'],
    everywhere: false,
    ...to,
    ttl: 1,
    notifyIntervalMs: 0,
    log: { warn: (message: string) => expect(message).toBe('') },
    random: () => 0,
    interfaces: loopbackAlone,
    ...change,
  });
  opened.push(responder);
  return responder;
}

const destination = () => ({ address: to.group, port: to.port });

async function openClient(listen?: typeof to): Promise<SsdpClient> {
  const client = await openSsdpClient(listen);
  opened.push(client);
  return client;
}

beforeEach(async () => {
  to = { group: SSDP_GROUP, port: await freeUdpPort() };
});
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

const answer = (target: string, location = 'https://127.0.0.1:8000/redfish/v1/') =>
  [
    'HTTP/1.1 200 OK',
    'CACHE-CONTROL: max-age=1800',
    'EXT:',
    'SERVER: Linux/0 UPnP/1.1 Test/1',
    `ST: ${target}`,
    `USN: uuid:${uuid}::${target}`,
    `AL: ${location}`,
    '',
    '',
  ].join('\r\n');

describe('a search over the network', () => {
  it('is answered once, with the URL of the service root at the address that received the search', async () => {
    await respond();
    const client = await openClient();
    await client.send(searchText(), destination());
    // Repeats the search while its answer is pending, so there is no second answer.
    await client.send(searchText(), destination());
    await client.send(searchText({ ST: 'upnp:rootdevice' }), destination());
    await client.arrived(2);
    expect([...client.received].sort((a, b) => a.text.length - b.text.length)).toEqual([
      { text: answer('upnp:rootdevice'), from: '127.0.0.1' },
      { text: answer(redfish), from: '127.0.0.1' },
    ]);
  });

  it('gets the address that received it, with the port, if the service listens at all addresses', async () => {
    await respond({ addresses: ['https://192.0.2.77:8443'], everywhere: true });
    const client = await openClient();
    await client.send(searchText(), destination());
    await client.arrived(1);
    expect(client.received[0]?.text).toBe(answer(redfish, 'https://127.0.0.1:8443/redfish/v1/'));
  });

  it('gets another address if it comes from this host, to an address at which the service does not listen', async () => {
    await respond({ addresses: ['http://192.0.2.77:8000'] });
    const client = await openClient();
    await client.send(searchText(), destination());
    await client.arrived(1);
    expect(client.received[0]?.text).toBe(answer(redfish, 'http://192.0.2.77:8000/redfish/v1/'));
  });

  it('is ignored if it is unicast', async () => {
    await respond();
    const client = await openClient();
    await client.send(searchText(), { ...destination(), address: '127.0.0.1' });
    await client.send(searchText({ ST: 'upnp:rootdevice' }), destination());
    await client.arrived(1);
    expect(client.received.map(({ text }) => text)).toEqual([answer('upnp:rootdevice')]);
  });

  it('is answered after a flood of searches and garbage, of which at most 64 are answered', async () => {
    const responder = await respond();
    const flood = await openClient();
    for (let count = 0; count < 2_000; count += 1) {
      await flood.send(
        count % 2 === 0 ? Buffer.alloc(1 + (count % 1_400), count) : searchText({ MX: '5' }),
        destination(),
      );
    }
    const many = await Promise.all(Array.from({ length: 100 }, () => openClient()));
    for (const client of many) await client.send(searchText(), destination());
    // Searches after the flood are answered again as soon as the limit of answers per second allows it.
    const late = await openClient();
    const asking = setInterval(() => void late.send(searchText(), destination()), 100);
    await late.arrived(1);
    clearInterval(asking);
    const answered = [flood, ...many].flatMap(({ received }) => received);
    expect(answered.length).toBeLessThanOrEqual(64);
    await responder.close();
  });
});

describe('notifications', () => {
  it('announce the start of the service at once, and its end', async () => {
    const listener = await openClient(to);
    const responder = await respond({ notifyIntervalMs: 1_200_000 });
    await listener.arrived(1);
    await responder.close();
    await listener.arrived(2);
    expect(listener.received.map(({ text }) => text)).toEqual([
      [
        'NOTIFY * HTTP/1.1',
        'HOST: 239.255.255.250:1900',
        'CACHE-CONTROL: max-age=2400',
        'SERVER: Linux/0 UPnP/1.1 Test/1',
        `NT: ${redfish}`,
        'NTS: ssdp:alive',
        `USN: uuid:${uuid}::${redfish}`,
        'AL: https://127.0.0.1:8000/redfish/v1/',
        '',
        '',
      ].join('\r\n'),
      [
        'NOTIFY * HTTP/1.1',
        'HOST: 239.255.255.250:1900',
        `NT: ${redfish}`,
        'NTS: ssdp:byebye',
        `USN: uuid:${uuid}::${redfish}`,
        '',
        '',
      ].join('\r\n'),
    ]);
  });

  it('are repeated at their interval, and are not sent if it is 0', async () => {
    const listener = await openClient(to);
    await (await respond()).close();
    await respond({ notifyIntervalMs: 50 });
    await listener.arrived(3);
    expect(new Set(listener.received.map(({ text }) => /NTS: (\S+)/.exec(text)?.[1]))).toEqual(new Set(['ssdp:alive']));
  });
});
