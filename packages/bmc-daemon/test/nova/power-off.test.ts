/**
 * Tests the power-off of a server that runs an image. It needs two actions of Nova: the end of the rescue, and
 * the stop. Most tests cause faults between the two actions.
 */
import { writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { daemonFixture } from '../daemon/fixture.js';
import { waitFor, type DaemonProcess } from '../daemon/process.js';
import { PASSWORD, whenRead } from '../support/cloud-server.js';
import { createGlance, type Glance } from '../support/glance.js';
import { idOf } from '../support/listed-servers.js';
import { servedCloud } from '../support/served-cloud.js';
import { machineAt } from './media-lab.js';

const cloud = servedCloud();
const id = idOf(1);
let glance: Glance;
let image: string;
beforeEach(() => {
  glance = createGlance();
  cloud.api.others.set('image', glance.handler);
  image = glance.put();
  const state = { cd: image, enabled: 'continuous', target: 'cdrom', after: 'req-1' };
  cloud.servers.put(1, {
    'OS-EXT-STS:vm_state': 'rescued',
    metadata: { 'rackless:state': JSON.stringify(state) },
  });
});

const body = () => cloud.servers.all.get(id)?.body ?? {};
const vmState = () => body()['OS-EXT-STS:vm_state'];
const storedState = () => (body()['metadata'] as Record<string, string>)['rackless:state'] ?? ''; // metadata are texts
/** Actions that Nova has accepted, in their order. */
const actions = () => cloud.servers.actions.flatMap((action) => Object.keys(action as object));
const settled = { cd: 0, enabled: 'continuous', target: 'cdrom', n: expect.any(String) };

it('the daemon ends the rescue of a server at a power-off, stops the server, and keeps the override', async () => {
  const served = await cloud.serve();
  const reset = `/redfish/v1/Systems/${id}/Actions/ComputerSystem.Reset`;
  expect((await served.send('POST', reset, { ResetType: 'ForceOff' })).status).toBe(204);
  expect([vmState(), actions()]).toEqual(['stopped', ['unrescue', 'os-stop']]);
  expect(JSON.parse(storedState())).toEqual({ ...settled, cd: image });
  expect(glance.images.get(image)).not.toHaveProperty(`rackless_state_${id}`);
});

it('the daemon switches a server off although Glance answers 500', async () => {
  cloud.api.others.set('image', (_request, response) => response.writeHead(500).end('broken'));
  const served = await cloud.serve();
  const reset = `/redfish/v1/Systems/${id}/Actions/ComputerSystem.Reset`;
  expect((await served.send('POST', reset, { ResetType: 'ForceOff' })).status).toBe(204);
  expect([vmState(), actions()]).toEqual(['stopped', ['unrescue', 'os-stop']]);
});

describe('a daemon that is killed between the two actions', () => {
  const { at, start } = daemonFixture();
  const serve = (): DaemonProcess => {
    const auth = { auth_url: cloud.api.url, username: 'u', password: PASSWORD, project_name: 'p' };
    const domains = { user_domain_id: 'default', project_domain_id: 'default' };
    const clouds = { test: { auth: { ...auth, ...domains }, region_name: 'R1' } };
    writeFileSync(at('clouds.json'), JSON.stringify({ clouds }));
    return start(['--os-cloud', 'test', '-i', '127.0.0.1', '-p', '0'], {
      env: { OS_CLIENT_CONFIG_FILE: at('clouds.json') },
    });
  };
  /** Lets a client switch the server off, and kills the daemon when it sends the stop, which Nova does not get. */
  const killBetween = async (): Promise<void> => {
    const daemon = serve();
    let isKilled = false;
    cloud.answer((request, response, path) => {
      if (isKilled || request.method !== 'POST' || !path.endsWith('/action') || vmState() !== 'active') return false;
      whenRead(request, (text) => {
        isKilled = text.includes('os-stop');
        if (isKilled) daemon.signal('SIGKILL');
        response.destroy();
      });
      return true;
    });
    const machine = machineAt(await daemon.address(), id);
    await expect(machine.reset('ForceOff')).rejects.toThrow();
    await daemon.dispose();
    expect([isKilled, vmState(), actions()]).toEqual([true, 'active', ['unrescue']]);
    expect(glance.images.get(image)?.[`rackless_state_${id}`]).toContain('"off":"req-1"');
  };

  it('completes the power-off after its restart', async () => {
    await killBetween();
    serve();
    await waitFor(
      () => (storedState().includes('after') ? undefined : true),
      () => `the power-off is not complete: ${storedState()}`,
    );
    expect([vmState(), actions()]).toEqual(['stopped', ['unrescue', 'os-stop']]);
    expect(JSON.parse(storedState())).toEqual({ ...settled, cd: image });
  });

  it('does not switch off a server that its owner restarted while no daemon ran', async () => {
    await killBetween();
    const init = { method: 'POST', body: JSON.stringify({ reboot: { type: 'HARD' } }) };
    await fetch(`${cloud.api.url}/compute/servers/${id}/action`, init);
    serve();
    await waitFor(
      () => (storedState().includes('after') ? undefined : true),
      () => `the power-off has not ended: ${storedState()}`,
    );
    expect([vmState(), actions()]).toEqual(['active', ['unrescue', 'reboot']]);
  });

  it('does not complete the power-off after a client has started the server at another daemon', async () => {
    await killBetween();
    const served = await cloud.serve();
    const reset = `/redfish/v1/Systems/${id}/Actions/ComputerSystem.Reset`;
    expect((await served.send('POST', reset, { ResetType: 'On' })).status).toBe(204);
    expect(storedState()).not.toContain('off');
    serve();
    await waitFor(
      () => (cloud.requestsTo('/image/v2/images?').length > 2 ? true : undefined),
      () => 'the daemon has not swept the images',
    );
    expect([vmState(), actions()]).toEqual(['active', ['unrescue']]);
  });
});
