/**
 * Tests the boot from the network by the image of EMULATOR_OS_IPXE_IMAGE, with a Nova that rejects changes of
 * metadata while a server runs the image.
 */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createNetworkImage } from '../../src/drivers/nova/image/network-image.js';
import { createSession } from '../../src/drivers/nova/http/session.js';
import { waitFor } from '../daemon/process.js';
import { sendJson, settingsFor } from '../support/cloud-server.js';
import type { Glance } from '../support/glance.js';
import { idOf } from '../support/listed-servers.js';
import { servedCloud } from '../support/served-cloud.js';
import type { Body, Served } from '../support/served-resources.js';
import { startImageCloud } from './image-cloud.js';
import type { Images } from './media-lab.js';

const cloud = servedCloud();
let glance: Glance;
let images: Images;
/** The id of the image for network boots. */
let ipxe: string;
beforeEach(async () => {
  ({ images, glance } = await startImageCloud(cloud));
  ipxe = glance.put({ name: 'ipxe', visibility: 'public', tags: [], hw_rescue_device: 'cdrom' });
});
afterEach(() => images.close());

const system = `/redfish/v1/Systems/${idOf(1)}`;
const drive = `${system}/VirtualMedia/Cd`;
const serve = (networkImage: string | null = 'ipxe') => cloud.serve({ media: { networkImage } });
const setBoot = (served: Served, target: string, enabled = 'Once') =>
  served.send('PATCH', system, { Boot: { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: enabled } });
const boot = async (served: Served): Promise<readonly unknown[]> => {
  const shown = (await served.get(system))['Boot'] as Body; // The schema requires an object.
  return [shown['BootSourceOverrideTarget'], shown['BootSourceOverrideEnabled']];
};
const reset = async (served: Served, type: string) => {
  const answer = await served.send('POST', `${system}/Actions/ComputerSystem.Reset`, { ResetType: type });
  return [answer.status, JSON.stringify(answer.body ?? '')] as const;
};
const mustReset = async (served: Served, type: string) => expect((await reset(served, type))[0]).toBe(204);
const insert = (served: Served) =>
  served.send('POST', `${drive}/Actions/VirtualMedia.InsertMedia`, { Image: `${images.url}/boot.iso` });
const rescue = (id: string) => ({ rescue: { rescue_image_ref: id } });
const unrescue = { unrescue: null };
const serverBody = (): Record<string, unknown> => cloud.servers.all.get(idOf(1))?.body ?? {};
const vmState = () => serverBody()['OS-EXT-STS:vm_state'];
// In these tests, all values of the metadata are texts.
const storedState = () => (serverBody()['metadata'] as Record<string, string>)['rackless:state'];
/** Returns the images of the service: images in drives, and notes (images without content). */
const ownImages = () => [...glance.images.values()].filter(({ tags }) => (tags as string[]).length > 0); // every image has a list of tags
const untilOwnImages = (count: number) =>
  waitFor(
    () => (ownImages().length === count ? true : undefined),
    () => `Glance has ${JSON.stringify(ownImages())} instead of ${count} images`,
  );

it('the daemon offers the boot target Pxe only if an image is configured; otherwise, errors name the setting', async () => {
  const targets = async (served: Served) =>
    ((await served.get(system))['Boot'] as Body)['BootSourceOverrideTarget@Redfish.AllowableValues']; // The schema requires an object.
  const without = await serve(null);
  expect(await targets(without)).toEqual(['Cd', 'Hdd']);
  const refused = await setBoot(without, 'Pxe');
  expect([refused.status, without.messages(refused)]).toEqual([400, ['PropertyValueNotInList']]);
  expect(JSON.stringify(refused.body)).toContain('needs EMULATOR_OS_IPXE_IMAGE');
  const served = await serve();
  expect(await targets(served)).toEqual(['Pxe', 'Cd', 'Hdd']);
  expect((await setBoot(served, 'Pxe')).status).toBe(200);
  // The daemon without the setting gets a reset of a server for which the other daemon accepted Pxe.
  expect(await reset(without, 'ForceRestart')).toEqual([409, expect.stringContaining('EMULATOR_OS_IPXE_IMAGE is not')]);
  expect([await boot(without), cloud.servers.actions]).toEqual([['Pxe', 'Once'], []]);
});

it.each([['its name'], ['its id']])(
  'a server boots the image once (the setting has %s), then its disk',
  async (reference) => {
    const served = await serve(reference === 'its id' ? ipxe.toUpperCase() : 'ipxe');
    await setBoot(served, 'Pxe');
    await mustReset(served, 'ForceRestart');
    expect([cloud.servers.actions.splice(0), await boot(served)]).toEqual([[rescue(ipxe)], ['None', 'Disabled']]);
    expect(await served.get(drive)).toMatchObject({ Inserted: false });
    await mustReset(served, 'ForceRestart');
    expect([cloud.servers.actions, vmState(), storedState()]).toEqual([[unrescue], 'active', expect.anything()]);
    expect(await boot(served)).toEqual(['None', 'Disabled']);
  },
);

it('a server boots the image at each restart, and stays off after a power-off', async () => {
  const served = await serve();
  await setBoot(served, 'Pxe', 'Continuous');
  await mustReset(served, 'ForceRestart');
  await mustReset(served, 'GracefulRestart');
  expect(cloud.servers.actions.splice(0)).toEqual([rescue(ipxe), unrescue, rescue(ipxe)]);
  await mustReset(served, 'ForceOff');
  expect([cloud.servers.actions.splice(0), vmState()]).toEqual([[unrescue, { 'os-stop': null }], 'stopped']);
  await mustReset(served, 'On');
  expect([cloud.servers.actions, await boot(served)]).toEqual([[rescue(ipxe)], ['Pxe', 'Continuous']]);
});

it('the daemon keeps changes that clients make while a server with an empty drive runs the image; all daemons see them', async () => {
  const [first, second] = [await serve(), await serve()];
  await setBoot(first, 'Pxe', 'Continuous');
  await mustReset(second, 'ForceRestart');
  const stored = storedState();
  // From now on, Nova rejects changes of the server's metadata.
  expect((await setBoot(first, 'Hdd', 'Continuous')).status).toBe(200);
  expect(await boot(first)).toEqual(['Hdd', 'Continuous']);
  expect((await setBoot(first, 'Hdd', 'Once')).status).toBe(200);
  expect([storedState(), ownImages().length]).toEqual([stored, 1]);
  // Another daemon deletes unused images at its start. It must not delete the note, which has the change.
  const third = await serve();
  expect(await boot(third)).toEqual(['Hdd', 'Once']);
  expect((await insert(third)).status).toBe(204);
  expect(await third.get(drive)).toMatchObject({ Inserted: true, Image: `${images.url}/boot.iso` });
  await untilOwnImages(2);
  cloud.servers.actions.length = 0;
  await mustReset(third, 'ForceRestart');
  expect([cloud.servers.actions, await boot(third)]).toEqual([[unrescue], ['None', 'Disabled']]);
  // The image stays in the drive, and the note is gone.
  await untilOwnImages(1);
  expect(await third.get(drive)).toMatchObject({ Inserted: true });
  expect((await third.send('POST', `${drive}/Actions/VirtualMedia.EjectMedia`, {})).status).toBe(204);
  await untilOwnImages(0);
});

it('the daemon replaces a boot from the CD drive by a boot from the network, and the other way round', async () => {
  const served = await serve();
  expect((await insert(served)).status).toBe(204);
  const cd = ownImages()[0]?.id ?? '';
  await setBoot(served, 'Cd', 'Continuous');
  await setBoot(served, 'Pxe', 'Continuous');
  expect(await boot(served)).toEqual(['Pxe', 'Continuous']);
  await mustReset(served, 'ForceRestart');
  expect(await served.get(drive)).toMatchObject({ Inserted: true });
  await setBoot(served, 'Cd', 'Continuous');
  await mustReset(served, 'ForceRestart');
  expect(cloud.servers.actions).toEqual([rescue(ipxe), unrescue, rescue(cd)]);
});

it.each([
  ['does not exist', { name: 'other' }, /names the image 'ipxe', which does not exist in Glance/],
  ['is not active', { status: 'queued' }, /names the image 'ipxe', whose status is queued/],
  ['is not for a CD drive', { hw_rescue_device: undefined }, /lacks the property hw_rescue_device=cdrom/],
])(
  'the daemon rejects a boot if the image %s, and changes neither the server nor the override',
  async (_, parts, why) => {
    const served = await serve();
    await setBoot(served, 'Pxe', 'Continuous');
    await mustReset(served, 'ForceRestart');
    cloud.servers.actions.length = 0;
    const image = glance.images.get(ipxe);
    if (image !== undefined) glance.images.set(ipxe, { ...image, ...parts });
    const answer = await reset(served, 'ForceRestart');
    expect(answer).toEqual([409, expect.stringMatching(why)]);
    expect(answer[1]).toContain('Booting server server-1 from the network: EMULATOR_OS_IPXE_IMAGE');
    expect([cloud.servers.actions, vmState(), await boot(served)]).toEqual([[], 'rescued', ['Pxe', 'Continuous']]);
  },
);

it('the daemon keeps a one-time override if Nova rejects the image', async () => {
  const served = await serve();
  await setBoot(served, 'Pxe');
  cloud.answer((_request, response, path) => {
    if (!path.endsWith('/action')) return false;
    sendJson(response, 400, { badRequest: { message: `Requested rescue image ${ipxe} is not supported` } });
    return true;
  });
  const [status, body] = await reset(served, 'ForceRestart');
  expect([status, body]).toEqual([409, expect.stringMatching(/from the network.*is not supported/)]);
  expect(await boot(served)).toEqual(['Pxe', 'Once']);
});

it('the daemon keeps a one-time override if Nova accepts the image, and the boot then fails without a change of the state', async () => {
  const served = await serve();
  await setBoot(served, 'Pxe');
  const failed = { action: 'rescue', request_id: 'req-7', user_id: 'u', start_time: '2026-11-23T01:15:03.960631' };
  let isAccepted = false;
  cloud.answer((request, response, path) => {
    if (path.endsWith('/action')) {
      isAccepted = true;
      request.resume();
      sendJson(response, 200, { adminPass: 'x' }, { 'x-compute-request-id': 'req-7' });
      return true;
    }
    if (!isAccepted || !path.includes('/os-instance-actions')) return false;
    const action = { ...failed, message: 'Error', events: [{ event: 'compute_rescue_instance', result: 'Error' }] };
    const created = { ...failed, action: 'create', request_id: 'req-1', message: null };
    sendJson(
      response,
      200,
      path.includes('/req-7') ? { instanceAction: action } : { instanceActions: [action, created] },
    );
    return true;
  });
  const [status, body] = await reset(served, 'ForceRestart');
  expect([status, body]).toEqual([409, expect.stringMatching(/from the network.*error in the list of its actions/)]);
  expect([await boot(served), vmState(), isAccepted]).toEqual([['Pxe', 'Once'], 'active', true]);
});

it('the daemon warns at the start about an image that servers cannot boot, but not if Glance fails', async () => {
  const session = createSession(settingsFor(cloud.api.url), { timeoutMs: 120_000 });
  const logged: string[] = [];
  const log = { warn: (text: string) => void logged.push(`warn ${text}`), debug: () => void logged.push('debug') };
  glance.put({ name: 'ipxe', tags: [] });
  for (const name of ['none', 'ipxe', ipxe]) await createNetworkImage(session, name).check(log);
  cloud.api.others.set('image', (_request, response) => response.writeHead(503, { 'retry-after': '0' }).end());
  await createNetworkImage(session, 'ipxe').check(log);
  session.close();
  expect(logged).toEqual([
    "warn servers cannot boot from the network: EMULATOR_OS_IPXE_IMAGE names the image 'none', which does not exist in Glance",
    "warn servers cannot boot from the network: EMULATOR_OS_IPXE_IMAGE names 2 images 'ipxe'; use the id of one of them",
    'debug',
  ]);
});
