/**
 * Tests the daemon with independent clients, over HTTP and over HTTPS with a password, on the fake
 * driver and on a QEMU guest.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { TestHost, type Guest } from '../libvirt-driver/host.js';
import { bootableIso } from '../support/tiny-guest.js';
import { curl, redfishtool, sushySession, wholeSushy } from './programs.js';
import { serveMachines, type Served } from './served.js';

const transports = [
  { transport: 'HTTP', secured: false },
  { transport: 'HTTPS with a password', secured: true },
];

/** The content of the image that the image server returns for every path. */
const image = bootableIso({ label: 'inserted' });
const images = createServer((_request, response) => response.end(image));
let imageUrl: URL;
beforeAll(async () => {
  images.listen(0, '127.0.0.1');
  await once(images, 'listening');
  imageUrl = new URL(`http://127.0.0.1:${(images.address() as AddressInfo).port}/images/rescue.iso`); // The address of a TCP server is an object.
});
afterAll(async () => {
  images.closeAllConnections();
  images.close();
  await once(images, 'close');
});

/** Returns the expected output of sushy_session.py. */
const sushySteps = (systems: number, name: string) => ({
  systems,
  name,
  off: 'Off',
  inserted: [true, imageUrl.href],
  once: ['Once', 'Cd'],
  on: 'On',
  'after once': 'Disabled',
  restarted: 'On',
  continuous: ['Continuous', 'Pxe'],
  disabled: 'Disabled',
  ejected: [false, null],
  'off again': 'Off',
});

describe.each(transports)('the fake driver over $transport', ({ secured }) => {
  let served: Served;
  let system: string;
  beforeAll(async () => {
    served = await serveMachines({ secured });
    const { body } = await curl(served, '/redfish/v1/Systems');
    // The tests below fail if `system` is not a URI.
    system = (body as { Members: { '@odata.id': string }[] }).Members[0]?.['@odata.id'] ?? 'none';
  });
  afterAll(() => served.close());

  it('supports sushy: power, one-time boot, virtual media', async () => {
    const python = await wholeSushy(served.folder);
    expect(await sushySession(served, python, system, imageUrl)).toEqual(sushySteps(3, 'node-1'));
  });

  it('supports redfishtool: lists, power, boot override', async () => {
    const first = ['Systems', '-L', system];
    expect(await redfishtool(served, 'Systems', 'list')).toMatchObject({ 'Members@odata.count': 3 });
    await redfishtool(served, ...first, 'reset', 'ForceOff');
    expect(await redfishtool(served, '-P', 'PowerState', ...first)).toEqual({ PowerState: 'Off' });

    await redfishtool(served, ...first, 'setBootOverride', 'Once', 'Cd');
    const boot = async () =>
      ((await redfishtool(served, '-P', 'Boot', ...first)) as { Boot: Record<string, unknown> }).Boot;
    expect(await boot()).toMatchObject({ BootSourceOverrideEnabled: 'Once', BootSourceOverrideTarget: 'Cd' });
    await redfishtool(served, ...first, 'reset', 'On');
    expect(await redfishtool(served, '-P', 'PowerState', ...first)).toEqual({ PowerState: 'On' });
    expect(await boot()).toMatchObject({ BootSourceOverrideEnabled: 'Disabled' });

    await redfishtool(served, ...first, 'setBootOverride', 'Continuous', 'Pxe');
    expect(await boot()).toMatchObject({ BootSourceOverrideEnabled: 'Continuous', BootSourceOverrideTarget: 'Pxe' });
    await redfishtool(served, ...first, 'setBootOverride', 'Disabled');
    expect(await boot()).toMatchObject({ BootSourceOverrideEnabled: 'Disabled' });
    await redfishtool(served, ...first, 'setIndicatorLed', 'Off');
    expect(await redfishtool(served, '-P', 'IndicatorLED', ...first)).toEqual({ IndicatorLED: 'Off' });
  });

  it('supports redfishtool for resources without authentication', async () => {
    expect(await redfishtool(served, 'versions')).toEqual({ v1: '/redfish/v1/' });
    expect(await redfishtool(served, 'root')).toMatchObject({ Id: 'RootService', Vendor: 'Rackless' });
    expect(await redfishtool(served, 'odata')).toMatchObject({ '@odata.context': '/redfish/v1/$metadata' });
  });

  it('accepts boot, media and power requests from curl with the credentials, if any, in the URL', async () => {
    const json = (method: string, body: object) => [
      ...['-X', method, '-H', 'Content-Type: application/json', '-d', JSON.stringify(body)],
    ];
    const reset = `${system}/Actions/ComputerSystem.Reset`;
    const drive = `${system.replace('/Systems/', '/Managers/')}/VirtualMedia/Cd/`;

    expect(await curl(served, reset, ...json('POST', { ResetType: 'ForceOff' }))).toEqual({
      status: 204,
      body: undefined,
    });
    const insert = json('POST', { Image: imageUrl.href, Inserted: true });
    expect((await curl(served, `${drive}Actions/VirtualMedia.InsertMedia`, ...insert)).status).toBe(204);
    expect(await curl(served, drive)).toMatchObject({ status: 200, body: { Inserted: true, Image: imageUrl.href } });
    const boot = { Boot: { BootSourceOverrideTarget: 'Cd', BootSourceOverrideEnabled: 'Continuous' } };
    expect(await curl(served, system, ...json('PATCH', boot))).toMatchObject({ status: 200, body: boot });
    expect((await curl(served, reset, ...json('POST', { ResetType: 'ForceOn' }))).status).toBe(204);
    expect(await curl(served, system)).toMatchObject({ status: 200, body: { PowerState: 'On', ...boot } });
    expect((await curl(served, `${drive}Actions/VirtualMedia.EjectMedia`, '-X', 'POST')).status).toBe(204);
    expect(await curl(served, drive)).toMatchObject({ status: 200, body: { Inserted: false } });
  });

  it('logs requests, and the user but not the password if the client has credentials', () => {
    expect(served.log()).toContain(system);
    if (served.credentials === undefined) return;
    expect(served.log()).toContain(served.credentials.user);
    expect(served.log()).not.toContain(served.credentials.password);
    const { user, password } = served.credentials;
    expect(served.log()).not.toContain(Buffer.from(`${user}:${password}`).toString('base64'));
  });
});

describe('a daemon with a password', () => {
  let served: Served;
  beforeAll(async () => {
    served = await serveMachines({ secured: true });
  });
  afterAll(() => served.close());

  it('rejects redfishtool and curl with a wrong password', async () => {
    const wrong = { ...served, credentials: { user: 'admin', password: 'guess' } };
    expect((await curl(wrong, '/redfish/v1/Systems')).status).toBe(401);
    await expect(redfishtool(wrong, 'Systems', 'list')).rejects.toThrow('401');
  });
});

describe.each(transports)('a QEMU guest over $transport', ({ secured }) => {
  let host: TestHost;
  let guest: Guest;
  let served: Served;
  beforeAll(async () => {
    host = await TestHost.start();
    guest = await host.guest({ devices: "<interface type='user'><model type='virtio'/></interface>" });
    served = await serveMachines({ secured, libvirtUri: host.libvirtd.uri });
  });
  afterAll(async () => {
    await served.close();
    await host.stop();
  });

  it('boots the image that sushy inserted, and its disk after a restart', async () => {
    const python = await wholeSushy(served.folder);
    const system = `/redfish/v1/Systems/${guest.uuid}`;
    // sushy's session calls this after each start. The first call waits for two events of the guest, power
    // and a boot, and the second call for a third. The events may come before the call.
    let expected = 1;
    const booted = () => {
      expected += 1;
      return guest.serial.reaches(expected);
    };
    const steps = await sushySession(served, python, system, imageUrl, booted);
    expect(steps).toEqual(sushySteps(1, guest.name));
    expect(guest.serial.events).toEqual(['<power on>', 'boot inserted', 'boot disk']);
  });

  it('supports a power-on and a graceful shutdown by redfishtool', async () => {
    const system = `/redfish/v1/Systems/${guest.uuid}`;
    const first = ['Systems', '-L', system];
    const before = guest.serial.events.length;
    await redfishtool(served, ...first, 'reset', 'On');
    await guest.serial.reaches(before + 2);
    expect(guest.serial.events.slice(before)).toEqual(['<power on>', 'boot disk']);
    await redfishtool(served, ...first, 'reset', 'GracefulShutdown');
    await guest.serial.reaches(before + 3);
    expect(guest.serial.events.slice(before)).toEqual(['<power on>', 'boot disk', 'power button']);
  });
});
