/**
 * Tests images with a fake Glance that fails or answers late. In some tests, other daemons change images and
 * servers, or servers have unexpected metadata. media.test.ts uses a real Glance. In a sweep, the daemon
 * deletes the images that no server uses.
 */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { waitFor } from '../daemon/process.js';
import { idOf, IMAGE_ID } from '../support/listed-servers.js';
import type { Glance } from '../support/glance.js';
import { servedCloud } from '../support/served-cloud.js';
import type { Served } from '../support/served-resources.js';
import { mediaSettings, sendJson } from '../support/cloud-server.js';
import { startImageCloud } from './image-cloud.js';
import { iso, type Images } from './media-lab.js';

const cloud = servedCloud();
let glance: Glance;
let images: Images;
beforeEach(async () => {
  ({ images, glance } = await startImageCloud(cloud));
});
afterEach(() => images.close());

const system = `/redfish/v1/Systems/${idOf(1)}`;
const drive = `${system}/VirtualMedia/Cd`;
const insert = (served: Served) =>
  served.send('POST', `${drive}/Actions/VirtualMedia.InsertMedia`, { Image: `${images.url}/boot.iso` });
/** Waits until the sweep at the start has requested the images. This sweep may still run afterward. */
const untilSweepLists = () =>
  waitFor(
    () => (cloud.requestsTo('/image/v2/images?').length > 0 ? true : undefined),
    () => 'the service has not listed the images',
  );
const untilImages = (count: number) =>
  waitFor(
    () => (glance.images.size === count ? true : undefined),
    () => `Glance has ${glance.images.size} images instead of ${count}`,
  );

it('the daemon lets Glance fetch an image if this is configured, and reports a failed import', async () => {
  const served = await cloud.serve({ media: { fetchedByGlance: true } });
  glance.content = iso;
  glance.imported = 'queued';
  const failed = await insert(served);
  expect([failed.status, served.messages(failed)]).toEqual([502, ['CouldNotEstablishConnection']]);
  expect(JSON.stringify(failed.body)).toContain('Glance could not fetch it');
  await untilImages(0);
  glance.imported = 'active';
  expect((await insert(served)).status).toBe(204);
  expect(images.downloads).toEqual([]);
  expect(await served.get(drive)).toMatchObject({ Inserted: true, Image: `${images.url}/boot.iso` });
  // Another server uses the same image.
  cloud.servers.put(2);
  const other = `/redfish/v1/Systems/${idOf(2)}/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia`;
  expect((await served.send('POST', other, { Image: `${images.url}/boot.iso` })).status).toBe(204);
  expect(glance.images.size).toBe(1);
});

it.each([
  ['is larger than the limit', iso, iso.length - 1],
  ['is no ISO image', Buffer.alloc(100_000), iso.length],
  ['is shorter than the signature of an ISO image', Buffer.from('CD001'), iso.length],
])(
  'the daemon reports the same error for an image that %s, whether Glance fetches it or the daemon uploads it',
  async (_, content, maxBytes) => {
    const limits = { ...mediaSettings.limits, maxBytes };
    images.contents.set('/boot.iso', content);
    const uploaded = await insert(await cloud.serve({ media: { limits } }));
    // The image server now answers 404, so the daemon can learn size and content only from Glance.
    images.contents.clear();
    glance.content = content;
    for (const sendsRanges of [true, false]) {
      glance.sendsRanges = sendsRanges;
      const served = await cloud.serve({ media: { fetchedByGlance: true, limits } });
      expect(await insert(served)).toEqual(uploaded);
      expect(uploaded.status).toBeGreaterThanOrEqual(400);
      await untilImages(0);
      expect(await served.get(drive)).toMatchObject({ Inserted: false });
    }
  },
);

it('the daemon reads only the beginning of an image that Glance has fetched, and shares no image that it has not checked', async () => {
  glance.content = iso;
  const unchecked: (readonly unknown[])[] = [];
  cloud.api.others.set('image', (request, response, path) => {
    if (request.method !== 'GET' || !path.endsWith('/file')) {
      glance.handler(request, response, path);
      return;
    }
    unchecked.push([...glance.images.values()].map(({ status, name }) => [status, name]));
    const more = (): void => {
      if (!response.destroyed) response.write(iso, () => setImmediate(more));
    };
    response.writeHead(200);
    more();
  });
  const served = await cloud.serve({ media: { fetchedByGlance: true } });
  expect((await insert(served)).status).toBe(204);
  const [[[status, name] = []] = []] = unchecked as string[][][]; // the pairs of status and name are texts
  expect(status).toBe('active');
  expect([...glance.images.values()].map((image) => image['name'])).not.toEqual([name]);
});

it.each([
  [413, 507, 'InsufficientStorage'],
  [403, 400, 'ActionNotSupported'],
  [503, 503, 'ServiceTemporarilyUnavailable'],
])(
  'the daemon reports an upload that Glance answers with %d as %d, and deletes the image',
  async (upload, status, key) => {
    const served = await cloud.serve();
    glance.uploadStatus = upload;
    const answer = await insert(served);
    expect([answer.status, served.messages(answer)]).toEqual([status, [key]]);
    await untilImages(0);
    expect(await served.get(drive)).toMatchObject({ Inserted: false });
  },
);

it('the daemon deletes a partial image later if Glance fails to delete it after a failed upload', async () => {
  const served = await cloud.serve();
  await untilSweepLists();
  let isBroken = true;
  cloud.api.others.set('image', (request, response, path) => {
    if (request.method === 'DELETE' && isBroken) {
      isBroken = false;
      response.writeHead(500).end('broken');
    } else glance.handler(request, response, path);
  });
  glance.uploadStatus = 413;
  expect((await insert(served)).status).toBe(507);
  expect(isBroken).toBe(false);
  await untilImages(0);
});

it('the daemon deletes an image that Glance has created if the answer to the creation was lost', async () => {
  const served = await cloud.serve();
  await untilSweepLists();
  let isLost = false;
  cloud.api.others.set('image', (request, response, path) => {
    if (request.method === 'POST' && !isLost) {
      isLost = true;
      response.writeHead = () => {
        expect(glance.images.size).toBe(1);
        return response.destroy();
      };
    }
    glance.handler(request, response, path);
  });
  expect((await insert(served)).status).toBe(503);
  expect(isLost).toBe(true);
  await untilImages(0);
});

it('the daemon keeps the image of a running upload in a sweep, even before Glance answers its creation request', async () => {
  cloud.servers.put(2);
  const served = await cloud.serve();
  await untilSweepLists();
  let answer: (() => void) | undefined;
  cloud.api.others.set('image', (request, response, path) => {
    if (request.method === 'POST' && answer === undefined) {
      const end = response.end.bind(response);
      response.end = (...text: unknown[]) => {
        answer = () => void end(...(text as [string])); // the handler sends a text
        return response;
      };
    }
    glance.handler(request, response, path);
  });
  const inserted = insert(served);
  const release = await waitFor(
    () => answer,
    () => 'the service creates no image',
  );
  const orphan = glance.put();
  // The daemon answers an eject only after a complete sweep.
  const other = `/redfish/v1/Systems/${idOf(2)}/VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia`;
  expect((await served.send('POST', other, {})).status).toBe(204);
  const kept = [...glance.images.keys()];
  release();
  expect([kept.length, kept.includes(orphan)]).toEqual([1, false]);
  expect((await inserted).status).toBe(204);
  expect(await served.get(drive)).toMatchObject({ Inserted: true, Image: `${images.url}/boot.iso` });
});

it('the daemon deletes unused images at the start, except foreign images and images that another daemon marked', async () => {
  const [now, old] = [new Date(), new Date(Date.now() - 3_600_000)].map((time) => time.toISOString());
  const usedByNewerState = glance.put();
  // The image `used` stores a newer state of server 1, in which the CD drive has `usedByNewerState`.
  const used = glance.put({ [`rackless_state_${idOf(1)}`]: JSON.stringify({ cd: usedByNewerState }) });
  const kept = [
    used,
    usedByNewerState,
    glance.put({ rackless_lease_other: now }),
    glance.put({ name: 'my.iso' }),
    glance.put({ visibility: 'shared' }),
    glance.put({ rackless_region: 'R2' }),
  ];
  glance.put({ rackless_lease_other: old });
  glance.put({ rackless_lease_test: now, status: 'saving' });
  glance.put({ rackless_url: undefined });
  cloud.servers.put(1, { metadata: { 'rackless:state': JSON.stringify({ cd: used }) } });
  const served = await cloud.serve();
  await untilImages(kept.length);
  expect([...glance.images.keys()].sort()).toEqual(kept.sort());
  expect(await served.get(drive)).toMatchObject({ Inserted: true });
});

it('the daemon deletes no image that another daemon inserts during a sweep, and then sweeps again', async () => {
  const [used, unused] = [glance.put(), glance.put()];
  const changed = new Set<string>();
  cloud.api.others.set('image', (request, response, path) => {
    const id = path.split('/')[3] ?? '';
    const image = glance.images.get(id);
    // The sweep has read the servers. Simulates another daemon that since then marked the image, changed its
    // server and released the mark.
    if (image !== undefined && request.method === 'GET' && !changed.has(id)) {
      changed.add(id);
      glance.images.set(id, { ...image, updated_at: '2026-11-23T02:00:00Z' });
      if (id === used) cloud.servers.put(1, { metadata: { 'rackless:state': JSON.stringify({ cd: used }) } });
    }
    glance.handler(request, response, path);
  });
  await cloud.serve();
  await untilImages(1);
  expect([...changed]).toEqual([used, unused]);
  expect([...glance.images.keys()]).toEqual([used]);
});

it('the daemon deletes an image that a client ejects during a sweep, after the sweep has read the servers', async () => {
  cloud.servers.put(1, { metadata: { 'rackless:state': JSON.stringify({ cd: glance.put() }) } });
  const unused = glance.put();
  let release: (() => void) | undefined;
  cloud.api.others.set('image', (request, response, path) => {
    const answerByGlance = (): void => glance.handler(request, response, path);
    // At its first DELETE, the sweep at the start has read the servers. The test delays this DELETE.
    if (release === undefined && request.method === 'DELETE') release = answerByGlance;
    else answerByGlance();
  });
  const served = await cloud.serve();
  const end = await waitFor(
    () => release,
    () => 'no sweep deletes the unused image',
  );
  const ejected = served.send('POST', `${drive}/Actions/VirtualMedia.EjectMedia`, {});
  await waitFor(
    () => (cloud.requestsTo('/compute').some((line) => line.startsWith('DELETE')) ? true : undefined),
    () => 'the eject does not change the server',
  );
  expect(glance.images.has(unused)).toBe(true);
  end();
  expect((await ejected).status).toBe(204);
  expect(glance.images.size).toBe(0);
});

it('the daemon deletes the other unused images if Glance does not delete one of them', async () => {
  const kept = glance.put({ protected: true });
  glance.put();
  glance.put();
  await cloud.serve();
  await untilImages(1);
  expect([...glance.images.keys()]).toEqual([kept]);
});

it.each([
  [''],
  ['[]'],
  ['{"cd":"../../v2/images","enabled":"once","target":"cdrom"}'],
  ['{"cd":5}'],
  ['{"target":"usb"}'],
  ['{"enabled":"forever"}'],
  [`{"after":"${'x'.repeat(200)}"}`],
])('the daemon ignores stored settings of an unexpected form: %j', async (text) => {
  cloud.servers.put(1, { metadata: { 'rackless:state': text } });
  const served = await cloud.serve();
  expect(await served.get(drive)).toMatchObject({ Inserted: false, Image: null });
  expect((await served.get(system))['Boot']).toMatchObject({
    BootSourceOverrideTarget: 'Hdd',
    BootSourceOverrideEnabled: 'Continuous',
  });
  expect(cloud.requestsTo('/image/v2/images/')).toEqual([`GET /image/v2/images/${IMAGE_ID}`]);
});

it('the daemon shows servers and their drives, without the URLs of images, while Glance fails', async () => {
  const used = glance.put();
  cloud.servers.put(1, { metadata: { 'rackless:state': JSON.stringify({ cd: used }) } });
  cloud.api.others.set('image', (_request, response) => response.writeHead(500).end('broken'));
  const served = await cloud.serve();
  expect(await served.get(drive)).toMatchObject({ Inserted: true, Image: null });
  const before = cloud.requestsTo('/image/v2/images?').length;
  expect(await served.get(system)).toMatchObject({ PowerState: 'On' });
  // The daemon requests the images from a failing Glance again only after a pause.
  expect(cloud.requestsTo('/image/v2/images?')).toHaveLength(before);
});

it("the daemon boots the image that another daemon inserted after the daemon's last read of the server", async () => {
  const off = { 'OS-EXT-STS:vm_state': 'stopped', 'OS-EXT-STS:power_state': 4 };
  cloud.servers.put(1, off);
  const rescues: string[] = [];
  cloud.answer((_request, response, path) => {
    if (!path.endsWith('/action')) return false;
    const { metadata } = cloud.servers.all.get(idOf(1))?.body ?? {};
    rescues.push(JSON.stringify(metadata));
    cloud.servers.put(1, { 'OS-EXT-STS:vm_state': 'rescued', metadata });
    response.writeHead(202).end();
    return true;
  });
  const served = await cloud.serve();
  expect(await served.get(system)).toMatchObject({ PowerState: 'Off' });
  const state = { cd: glance.put(), enabled: 'once', target: 'cdrom' };
  cloud.servers.put(1, { ...off, metadata: { 'rackless:state': JSON.stringify(state) } });
  const answer = await served.send('POST', `${system}/Actions/ComputerSystem.Reset`, { ResetType: 'On' });
  expect(answer.status).toBe(204);
  // The member `after` marks a boot. The daemon stored it before its only action, the rescue.
  expect(rescues).toHaveLength(1);
  expect(rescues[0]).toContain('after');
});

it("the daemon switches off a server that another daemon booted from its CD drive after the daemon's last read", async () => {
  const served = await cloud.serve();
  expect(await served.get(system)).toMatchObject({ PowerState: 'On' });
  const state = { cd: glance.put(), enabled: 'continuous', target: 'cdrom', after: 'req-1' };
  cloud.servers.put(1, {
    'OS-EXT-STS:vm_state': 'rescued',
    metadata: { 'rackless:state': JSON.stringify(state) },
  });
  const answer = await served.send('POST', `${system}/Actions/ComputerSystem.Reset`, { ResetType: 'ForceOff' });
  expect([answer.status, served.messages(answer)]).toEqual([204, []]);
  expect(await served.get(system)).toMatchObject({ PowerState: 'Off' });
});

it('the daemon reports the failure of an insert whose image other daemons delete again and again', async () => {
  const served = await cloud.serve();
  cloud.answer((request) => {
    if (request.url?.includes('/metadata/') === true) glance.images.clear();
    return false;
  });
  const answer = await insert(served);
  expect([answer.status, served.messages(answer)]).toEqual([503, ['ServiceTemporarilyUnavailable']]);
  expect(images.downloads).toHaveLength(3);
  expect(await served.get(drive)).toMatchObject({ Inserted: false });
});

it('the daemon ignores images of an unexpected form, logs each of them once, and serves the others', async () => {
  const odd = [
    { id: '../../v2/images', status: 'active' },
    { id: idOf(7), status: 5 },
    { id: idOf(8), tags: ['rackless-media', null] },
    { id: null },
  ];
  for (const parts of odd) glance.put(parts);
  // Any client of Glance can choose the id of an image, even one that is not a UUID of RFC 9562.
  const used = glance.put();
  const strange = '0123abcd-0000-0000-0000-000000000001';
  glance.images.set(strange, { ...glance.images.get(used), id: strange });
  glance.images.delete(used);
  cloud.servers.put(1, { metadata: { 'rackless:state': JSON.stringify({ cd: strange }) } });
  const served = await cloud.serve();
  expect(await served.get(drive)).toMatchObject({ Inserted: true, Image: 'http://x/' });
  cloud.servers.put(2);
  const other = `/redfish/v1/Systems/${idOf(2)}/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia`;
  expect((await served.send('POST', other, { Image: `${images.url}/boot.iso` })).status).toBe(204);
  const lines = cloud.logged.filter(({ message }) => String(message).includes('an object of Glance'));
  expect(lines.map(({ id, at }) => [id, at]).sort()).toEqual([
    ['', 'id'],
    ['../../v2/images', 'id'],
    [idOf(7), 'status'],
    [idOf(8), 'tags.1'],
  ]);
});

it('the daemon deletes no image while the form of a server is unexpected, because its drive may contain the image', async () => {
  glance.put();
  cloud.servers.put(2, { flavor: null });
  cloud.servers.put(3, { id: 'odd' });
  const served = await cloud.serve();
  const eject = async (): Promise<void> => {
    const answer = await served.send('POST', `${drive}/Actions/VirtualMedia.EjectMedia`, {});
    expect(answer.status).toBe(204);
  };
  // The daemon answers an eject only after a complete sweep.
  await eject();
  expect(glance.images.size).toBe(1);
  cloud.servers.all.delete(idOf(2));
  await eject();
  expect(glance.images.size).toBe(1);
  cloud.servers.all.delete('odd');
  await eject();
  await untilImages(0);
});

it('the daemon shows the image of an insert, even if an older listing of the images arrives late', async () => {
  const served = await cloud.serve();
  await untilSweepLists();
  const old = glance.put();
  cloud.servers.put(2, { metadata: { 'rackless:state': JSON.stringify({ cd: old }) } });
  const other = `/redfish/v1/Systems/${idOf(2)}/VirtualMedia/Cd`;
  // Glance lists the images for a reader of the other server before the insert, and answers after it.
  let isHeld = false;
  const late = new Promise<() => void>((resolve) => {
    cloud.api.others.set('image', (request, response, path) => {
      if (isHeld || !path.startsWith('/v2/images?')) {
        glance.handler(request, response, path);
        return;
      }
      isHeld = true;
      const images = [...glance.images.values()];
      resolve(() => sendJson(response, 200, { images }));
    });
  });
  const reader = served.get(other);
  const send = await late;
  expect((await insert(served)).status).toBe(204);
  const Image = `${images.url}/boot.iso`;
  expect(await served.get(drive)).toMatchObject({ Inserted: true, Image });
  send();
  expect(await reader).toMatchObject({ Inserted: true });
  expect(await served.get(drive)).toMatchObject({ Inserted: true, Image });
});

it('the daemon makes only one listing of the images while Glance hangs, and shows drives without the URLs of images', async () => {
  cloud.servers.put(1, { metadata: { 'rackless:state': JSON.stringify({ cd: glance.put() }) } });
  const served = await cloud.serve();
  await untilSweepLists();
  const before = cloud.requestsTo('/image/v2/images?').length;
  cloud.api.others.set('image', () => undefined);
  expect(await served.get(drive)).toMatchObject({ Inserted: true, Image: null });
  expect(await served.get(drive)).toMatchObject({ Inserted: true, Image: null });
  expect(cloud.requestsTo('/image/v2/images?')).toHaveLength(before + 1);
});

it('the daemon never changes what a newer version has stored for a server, and deletes no image while there is such a server', async () => {
  const unused = glance.put();
  const newer = '{"v":2,"drives":[]}';
  const textOf = () => {
    const metadata = cloud.servers.all.get(idOf(1))?.body['metadata'];
    return (metadata as Record<string, string> | undefined)?.['rackless:state']; // metadata are texts by name
  };
  cloud.servers.put(1, { metadata: { 'rackless:state': newer } });
  cloud.servers.put(2);
  const served = await cloud.serve();
  const refusals = [
    await insert(served),
    await served.send('PATCH', system, { AssetTag: 'rack-1' }),
    await served.send('POST', `${system}/Actions/ComputerSystem.Reset`, { ResetType: 'ForceRestart' }),
  ];
  for (const refusal of refusals) {
    expect(refusal.status).toBe(503);
    expect(JSON.stringify(refusal.body)).toContain('a newer version of the service has stored');
  }
  expect([textOf(), cloud.servers.actions]).toEqual([newer, []]);
  // The daemon answers an eject only after a complete sweep.
  const other = `/redfish/v1/Systems/${idOf(2)}/VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia`;
  expect((await served.send('POST', other, {})).status).toBe(204);
  expect(glance.images.has(unused)).toBe(true);
  // The owner of the server can remove the settings.
  cloud.servers.put(1, { metadata: {} });
  expect((await served.send('PATCH', system, { AssetTag: 'rack-1' })).status).toBe(200);
  expect(textOf()).toContain('rack-1');
});

it('the daemon looks for changes of servers while it completes an interrupted boot and Glance is silent', async () => {
  const listings = () => cloud.api.requests.filter((line) => line.includes('/servers/detail')).length;
  const used = glance.put();
  cloud.servers.put(1, { metadata: { 'rackless:state': JSON.stringify({ cd: used, after: 'req-1' }) } });
  const answers: (() => void)[] = [];
  cloud.api.others.set('image', (_request, response) => void answers.push(() => sendJson(response, 404, {})));
  await cloud.serve({ timeoutMs: 600_000 });
  await waitFor(
    () => (cloud.requestsTo(`/image/v2/images/${used}`).length > 0 ? true : undefined),
    () => 'the service does not complete the boot',
  );
  const before = listings();
  await waitFor(
    () => (listings() >= before + 2 ? true : undefined),
    () => `the service made ${listings() - before} listings`,
  );
  // Before the service ends, it waits for this operation, so Glance must answer now.
  cloud.api.others.set('image', (_request, response) => sendJson(response, 404, {}));
  for (const answer of answers) answer();
});
