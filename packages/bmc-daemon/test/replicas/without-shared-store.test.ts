/**
 * Two daemons without a shared store change one server. The tests do the steps of the second daemon
 * exactly between two steps of the first one.
 */
import { beforeEach, expect, it } from '@jest/globals';
import { sendJson, whenRead } from '../support/cloud-server.js';
import { createGlance, type Glance } from '../support/glance.js';
import { idOf } from '../support/listed-servers.js';
import { servedCloud } from '../support/served-cloud.js';
import type { Served } from '../support/served-resources.js';

const cloud = servedCloud();
const id = idOf(1);
const system = `/redfish/v1/Systems/${id}`;
const STATE = 'rackless:state';
let image: string;
let glance: Glance;
beforeEach(() => {
  glance = createGlance();
  cloud.api.others.set('image', glance.handler);
  image = glance.put();
  cloud.servers.put(1, { metadata: { [STATE]: stateText({ enabled: 'once', target: 'cdrom' }) } });
});

const stateText = (parts: object): string => JSON.stringify({ cd: image, ...parts });
const body = () => cloud.servers.all.get(id)?.body ?? {};
const vmState = () => body()['OS-EXT-STS:vm_state'];
const setBody = (parts: object): void => cloud.servers.put(1, { ...body(), ...parts });
const setState = (parts: object): void => setBody({ metadata: { [STATE]: stateText(parts) } });
/** Actions that Nova has accepted, in their order. */
const actions = () => cloud.servers.actions.flatMap((action) => Object.keys(action as object));
const act = (action: object): Promise<unknown> =>
  fetch(`${cloud.api.url}/compute/servers/${id}/action`, { method: 'POST', body: JSON.stringify(action) });
const reset = async (served: Served, type: string): Promise<number> =>
  (await served.send('POST', `${system}/Actions/ComputerSystem.Reset`, { ResetType: type })).status;
const boot = async (served: Served): Promise<unknown> => {
  const { Boot: shown } = await served.get(system);
  const { BootSourceOverrideTarget: target, BootSourceOverrideEnabled: enabled } = shown as Record<string, unknown>; // The schema requires an object.
  return [target, enabled];
};

/** Lets the next rescue of a daemon last for this number of reads. Calls `onAccepted` when the rescue begins. */
function rescueTakes(reads: number, onAccepted: () => void): void {
  let left = -1;
  cloud.answer((request, response, path) => {
    if (request.method === 'GET' && path === `/servers/${id}` && left >= 0) {
      if (left === 0) setBody({ 'OS-EXT-STS:vm_state': 'rescued', 'OS-EXT-STS:task_state': null });
      left -= 1;
      return false;
    }
    // Requests of the test itself have no token.
    const isDaemon = request.headers['x-auth-token'] !== undefined;
    if (!isDaemon || !path.endsWith('/action') || vmState() !== 'active' || left >= 0) return false;
    whenRead(request, (text) => {
      const beginRescue = (): void => {
        setBody({ 'OS-EXT-STS:vm_state': 'active', 'OS-EXT-STS:task_state': 'rescuing' });
        left = reads;
        onAccepted();
      };
      void act(JSON.parse(text) as object).then(() => {
        if (text.includes('rescue')) beginRescue();
        response.writeHead(202).end();
      });
    });
    return true;
  });
}

it('a daemon boots an image once, although another daemon boots it at the same moment', async () => {
  const served = await cloud.serve();
  let isBooted = false;
  cloud.answer((request, response, path) => {
    if (isBooted || !path.includes('os-instance-actions')) return false;
    isBooted = true;
    setState({ enabled: 'once', target: 'cdrom', after: 'req-1' });
    void act({ rescue: {} }).then(() => {
      setBody({ 'OS-EXT-STS:vm_state': 'active', 'OS-EXT-STS:task_state': 'rescuing' });
      cloud.api.nova(request, response, path);
    });
    return true;
  });
  cloud.answer((request, response, path) => {
    const isAction = request.method === 'POST' && path.endsWith('/action');
    if (!isAction || body()['OS-EXT-STS:task_state'] === null) return false;
    const message = `Cannot 'rescue' instance ${id} while it is in task_state rescuing`;
    request.resume().on('end', () => sendJson(response, 409, { conflictingRequest: { code: 409, message } }));
    return true;
  });
  expect([await reset(served, 'ForceRestart'), isBooted]).toEqual([503, true]);
  setBody({ 'OS-EXT-STS:vm_state': 'rescued', 'OS-EXT-STS:task_state': null });
  expect(await reset(served, 'ForceRestart')).toBe(204);
  expect(await reset(served, 'ForceRestart')).toBe(204);
  expect([await boot(served), actions()]).toEqual([
    ['None', 'Disabled'],
    ['rescue', 'unrescue', 'reboot'],
  ]);
});

it('a daemon answers 503 to a boot if another daemon has replaced the settings since the first read', async () => {
  const served = await cloud.serve();
  let isChanged = false;
  cloud.answer((_request, _response, path) => {
    if (path.includes('os-instance-actions') && !isChanged) {
      isChanged = true;
      setState({ enabled: 'continuous', target: 'hd' });
    }
    return false;
  });
  expect(await reset(served, 'ForceRestart')).toBe(503);
  expect([actions(), await boot(served)]).toEqual([[], ['Hdd', 'Continuous']]);
  expect(await reset(served, 'ForceRestart')).toBe(204);
  expect(actions()).toEqual(['reboot']);
});

it('a daemon still controls a server whose settings another daemon has changed during the boot', async () => {
  const served = await cloud.serve();
  // The other daemon has read the server before the boot, so it removes the mark of the boot.
  rescueTakes(3, () => setState({ enabled: 'continuous', target: 'hd' }));
  expect(await reset(served, 'ForceRestart')).toBe(204);
  expect([vmState(), await boot(served)]).toEqual(['rescued', ['Hdd', 'Continuous']]);
  expect(await reset(served, 'ForceOff')).toBe(204);
  expect([vmState(), await boot(served)]).toEqual(['stopped', ['Hdd', 'Continuous']]);
});

it('a daemon ends a boot whose mark another daemon has removed too late for a correction', async () => {
  const served = await cloud.serve();
  rescueTakes(0, () => {
    setState({ enabled: 'continuous', target: 'hd' });
    setBody({ 'OS-EXT-STS:vm_state': 'rescued', 'OS-EXT-STS:task_state': null });
  });
  expect(await reset(served, 'ForceRestart')).toBe(503);
  expect([vmState(), actions()]).toEqual(['active', ['rescue', 'unrescue']]);
});

it('a daemon stores a change although another daemon ends a boot with an empty drive at the same moment', async () => {
  const settings = { enabled: 'continuous', target: 'hd' };
  const booting = {
    'OS-EXT-STS:task_state': 'rescuing',
    metadata: { [STATE]: JSON.stringify({ ...settings, after: '' }) },
  };
  cloud.servers.put(1, booting);
  const served = await cloud.serve();
  // The daemon has read the server when it looks for the note of the boot. The note's id is a UUID of version 8.
  const isNote = /^\/v2\/images\/.{14}8/;
  cloud.api.others.set('image', (request, response, path) => {
    if (isNote.test(path)) setBody({ 'OS-EXT-STS:task_state': null, metadata: { [STATE]: JSON.stringify(settings) } });
    glance.handler(request, response, path);
  });
  expect((await served.send('PATCH', system, { AssetTag: 'rack 7' })).status).toBe(200);
  expect([body()['OS-EXT-STS:task_state'], (await served.get(system))['AssetTag']]).toEqual([null, 'rack 7']);
});
