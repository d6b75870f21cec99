/** Tests the name servers of managers, with which the service resolves names. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { daemonFixture } from '../daemon/fixture.js';
import { waitFor, type DaemonProcess } from '../daemon/process.js';
import { CLIENT, describeNetwork, DEVICE, HOST, openNetworkLab, type NetworkLab } from './network-lab.js';

/**
 * The client's side: a name server that resolves every name of `.lab` to the client itself, an
 * image server, and an event listener.
 */
const program = `
const dns = require('node:dgram').createSocket('udp4', (query, peer) => {
  const isLab = query.toString('latin1').toLowerCase().includes('\\x03lab\\0');
  const end = query.indexOf(0, 12) + 5;
  const isA = query.readUInt16BE(end - 4) === 1;
  const head = Buffer.from(query.subarray(0, 12));
  head.writeUInt16BE(isLab ? 0x8180 : 0x8183, 2);
  head.writeUInt16BE(isLab && isA ? 1 : 0, 6);
  head.writeUInt32BE(0, 8);
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ${CLIENT.split('.').join(', ')}]);
  dns.send(Buffer.concat([head, query.subarray(12, end), ...(isLab && isA ? [record] : [])]), peer.port, peer.address);
});
let posts = 0;
const http = require('node:http').createServer((request, response) => {
  if (request.method === 'POST') posts += 1;
  request.resume();
  response.end(request.url === '/posts' ? JSON.stringify({ posts }) : 'image');
});
dns.bind(53, '${CLIENT}', () => http.listen(80, '${CLIENT}', () => console.log('ready')));
`;

describeNetwork('the name servers of managers', () => {
  const { start } = daemonFixture();
  let lab: NetworkLab;
  let daemon: DaemonProcess;
  beforeEach(async () => {
    lab = await openNetworkLab();
    await lab.runForClient(program);
    daemon = start(['--fake', '-p', '8000'], { through: lab.onHost });
    await daemon.waitForLog(new RegExp(`^serving fake at .*${HOST}`));
  });
  afterEach(async () => {
    await daemon.dispose();
    await lab.close();
  });

  it('resolve the names of image servers and event listeners for all machines, until they are removed', async () => {
    const url = `http://${HOST}:8000`;
    const { body: list = {} } = await lab.ask(`${url}/redfish/v1/Managers`);
    const members = list['Members'] as readonly { readonly '@odata.id': string }[]; // The schema requires this form.
    const [first = '', second = ''] = members.map((member) => member['@odata.id']);
    const port = (manager: string) => `${url}${manager}/EthernetInterfaces/${DEVICE}`;
    const insert = async (manager: string): Promise<number> => {
      const action = `${url}${manager}/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia`;
      return (await lab.ask(action, { method: 'POST', body: { Image: 'http://images.lab/a.iso' } })).status;
    };
    await expect(insert(first)).resolves.toBe(502);
    const { status, body } = await lab.ask(port(first), { method: 'PATCH', body: { NameServers: [CLIENT] } });
    expect([status, body?.['NameServers'], body?.['StaticNameServers']]).toEqual([200, [CLIENT], [CLIENT]]);
    // The service has one resolver for all managers, so the change of one manager also shows at the other.
    expect((await lab.ask(port(second))).body?.['StaticNameServers']).toEqual([CLIENT]);
    await expect(insert(first)).resolves.toBe(204);
    await expect(insert(second)).resolves.toBe(204);

    const subscription = { Destination: 'http://listener.lab/', Protocol: 'Redfish', Context: '' };
    const made = await lab.ask(`${url}/redfish/v1/EventService/Subscriptions`, { method: 'POST', body: subscription });
    expect(made.status).toBe(201);
    await lab.ask(`${url}${first.replace('Managers', 'Systems')}`, { method: 'PATCH', body: { AssetTag: 'x' } });
    await waitFor(
      async () => ((await lab.ask(`http://${CLIENT}/posts`)).body?.['posts'] === 0 ? undefined : true),
      () => 'no event arrived',
    );

    const cleared = await lab.ask(port(second), { method: 'PATCH', body: { StaticNameServers: [null] } });
    expect([cleared.status, cleared.body?.['StaticNameServers']]).toEqual([200, []]);
    const eject = `${url}${first}/VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia`;
    expect((await lab.ask(eject, { method: 'POST', body: {} })).status).toBe(204);
    await expect(insert(first)).resolves.toBe(502);
  });
});
