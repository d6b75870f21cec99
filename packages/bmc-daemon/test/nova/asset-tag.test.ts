/** Tests asset tags, which the service stores in the metadata of servers. */
import { beforeEach, expect, it } from '@jest/globals';
import { sendJson } from '../support/cloud-server.js';
import { createGlance, type Glance } from '../support/glance.js';
import { idOf } from '../support/listed-servers.js';
import { servedCloud } from '../support/served-cloud.js';
import type { Served } from '../support/served-resources.js';

const cloud = servedCloud();
let glance: Glance;
beforeEach(() => {
  glance = createGlance();
  cloud.api.others.set('image', glance.handler);
  cloud.servers.put(1);
});

const system = `/redfish/v1/Systems/${idOf(1)}`;
const chassis = `/redfish/v1/Chassis/${idOf(1)}`;
const setTag = (served: Served, tag: unknown, path = system) => served.send('PATCH', path, { AssetTag: tag });
const tagOf = async (served: Served, path = system) => (await served.get(path))['AssetTag'];
const metadata = () => cloud.servers.all.get(idOf(1))?.body['metadata'];

it('the service stores a tag that all daemons show for the system and its chassis, and removes the tag', async () => {
  const [first, second] = [await cloud.serve(), await cloud.serve()];
  expect(await tagOf(first)).toBeNull();
  expect((await setTag(first, 'rack "7" 架')).status).toBe(200);
  expect([await tagOf(first), await tagOf(first, chassis)]).toEqual(['rack "7" 架', 'rack "7" 架']);
  expect(metadata()).toEqual({
    'rackless:state': expect.stringMatching(
      /^\{"enabled":"continuous","target":"hd","tag":"rack \\"7\\" 架","n":"[\w-]{4}"\}$/,
    ),
  });
  expect((await setTag(second, 'rack 8', chassis)).status).toBe(200);
  expect(await tagOf(await cloud.serve())).toBe('rack 8');
  expect((await setTag(second, null)).status).toBe(200);
  expect([await tagOf(second), metadata()]).toEqual([null, {}]);
});

it.each([
  ['x'.repeat(64), 200],
  ['x'.repeat(65), 400],
  ['"'.repeat(33), 400], // JSON needs two characters for a quote, so this tag needs 66.
])('the service answers a PATCH of the tag %j with status %d', async (tag, status) => {
  const served = await cloud.serve();
  for (const path of [system, chassis]) {
    const answer = await setTag(served, tag, path);
    expect(answer.status).toBe(status);
    if (status === 200) continue;
    expect(served.messages(answer)).toEqual(['PropertyValueIncorrect']);
    expect(JSON.stringify(answer.body)).toMatch(
      /"#\/AssetTag".*room for 64 characters|room for 64 characters.*"#\/AssetTag"/,
    );
  }
});

it('the service changes the tag and the boot override of one request together or not at all', async () => {
  const served = await cloud.serve();
  const boot = { Boot: { BootSourceOverrideTarget: 'Cd', BootSourceOverrideEnabled: 'Once' } };
  expect((await served.send('PATCH', system, { ...boot, AssetTag: 'x'.repeat(65) })).status).toBe(400);
  expect(metadata()).toEqual({});
  expect((await served.send('PATCH', system, { ...boot, AssetTag: 'rack 7' })).status).toBe(200);
  expect(cloud.requestsTo('/compute/servers/').filter((line) => line.startsWith('PUT'))).toHaveLength(1);
  expect(await served.get(system)).toMatchObject({
    AssetTag: 'rack 7',
    Boot: { BootSourceOverrideTarget: 'Cd', BootSourceOverrideEnabled: 'Once' },
  });
});

it('the service reports an exceeded quota of metadata items as 507 with the message of Nova', async () => {
  const served = await cloud.serve();
  const message = 'Maximum number of metadata items exceeds 128';
  cloud.answer((_request, response, path) => {
    if (!path.includes('/metadata/')) return false;
    sendJson(response, 403, { forbidden: { code: 403, message } });
    return true;
  });
  const answer = await setTag(served, 'rack 7');
  expect([answer.status, served.messages(answer)]).toEqual([507, ['InsufficientStorage']]);
  expect(JSON.stringify(answer.body)).toContain(message);
  expect(await tagOf(served)).toBeNull();
});

it('the service keeps a tag that is set during a network boot, and rejects a tag while the owner rescues the server', async () => {
  const ipxe = glance.put({ name: 'ipxe', tags: [], hw_rescue_device: 'cdrom' });
  const served = await cloud.serve({ media: { networkImage: ipxe } });
  const reset = () => served.send('POST', `${system}/Actions/ComputerSystem.Reset`, { ResetType: 'ForceRestart' });
  await served.send('PATCH', system, { Boot: { BootSourceOverrideTarget: 'Pxe', BootSourceOverrideEnabled: 'Once' } });
  expect((await reset()).status).toBe(204);
  expect((await setTag(served, 'rack 7')).status).toBe(200);
  expect(await tagOf(served)).toBe('rack 7');
  expect((await reset()).status).toBe(204);
  expect([await tagOf(served), JSON.stringify(metadata())]).toEqual(['rack 7', expect.stringContaining('rack 7')]);
  cloud.servers.put(1, { 'OS-EXT-STS:vm_state': 'rescued', metadata: {} });
  const refused = await setTag(await cloud.serve(), 'rack 8');
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([
    409,
    expect.stringContaining('Nova stores no settings of a server in this state'),
  ]);
});
