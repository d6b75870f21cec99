/** Tests graphical consoles, which open in a browser, with a fake Nova. lab.test.ts uses a real Nova. */
import { expect, it } from '@jest/globals';
import { waitFor } from '../daemon/process.js';
import { sendJson, whenRead } from '../support/cloud-server.js';
import { idOf } from '../support/listed-servers.js';
import { servedCloud } from '../support/served-cloud.js';
import type { Served } from '../support/served-resources.js';

const cloud = servedCloud();
const system = `/redfish/v1/Systems/${idOf(1)}`;
const action = `${system}/Actions/Oem/RacklessComputerSystem.OpenConsole`;
const url = 'https://console.example/vnc_auto.html?path=%3Ftoken%3Dsecret';

/**
 * Gives the cloud consoles of one type: Nova sends this answer for this type, and an error for all others.
 * @returns the types that the driver has requested so far, without `serial`.
 */
function offer(type: string, answer: { readonly status: number; readonly body: object }): string[] {
  const asked: string[] = [];
  cloud.answer((request, response, path) => {
    if (!path.endsWith('/remote-consoles')) return false;
    whenRead(request, (text) => {
      // The driver sends this body.
      const { remote_console: wanted } = JSON.parse(text) as { readonly remote_console: { readonly type: string } };
      // The driver also asks for serial consoles: see serial-console.test.ts.
      if (wanted.type !== 'serial') asked.push(wanted.type);
      if (wanted.type === type) sendJson(response, answer.status, answer.body);
      else sendJson(response, 400, { badRequest: { message: `Unavailable console type ${wanted.type}.` } });
    });
    return true;
  });
  return asked;
}

const spice = { status: 200, body: { remote_console: { protocol: 'spice', type: 'spice-html5', url } } };

/** Reads the server until it shows a graphical console, and returns this property. */
async function untilShown({ get }: Served): Promise<unknown> {
  return await waitFor(
    async () => (await get(system))['GraphicalConsole'],
    () => 'the server shows no console',
  );
}

it('the service shows graphical consoles if the cloud has them, and returns the URL of a console for an action', async () => {
  cloud.servers.put(1);
  cloud.servers.put(2);
  const asked = offer('spice-html5', spice);
  const served = await cloud.serve();
  await served.get('/redfish/v1/Systems?$expand=.');
  expect(asked).toEqual([]);
  expect(await untilShown(served)).toEqual({ ServiceEnabled: true, ConnectTypesSupported: ['KVMIP'] });
  expect(asked).toEqual(['novnc', 'spice-html5']);
  const { Actions: actions } = await served.get(`/redfish/v1/Systems/${idOf(2)}`);
  expect(actions).toMatchObject({
    Oem: { '#RacklessComputerSystem.OpenConsole': { target: action.replace(idOf(1), idOf(2)) } },
  });
  const opened = await served.send('POST', action);
  expect([opened.status, opened.body]).toEqual([200, { Url: url, Protocol: 'spice', Type: 'spice-html5' }]);
  expect(asked).toEqual(['novnc', 'spice-html5', 'spice-html5']);
  expect(JSON.stringify(await served.get(`${system}/LogServices/EventLog/Entries`))).not.toContain('secret');
});

it('the service shows no graphical consoles if the cloud has none, and does not ask Nova again at the next read', async () => {
  cloud.servers.put(1);
  const asked = offer('none', spice);
  const { get, send } = await cloud.serve();
  await get(system);
  await waitFor(
    () => (asked.length === 3 ? true : undefined),
    () => 'the kinds of consoles were not tried',
  );
  const { GraphicalConsole: shown, Actions: actions } = await get(system);
  expect(shown).toBeUndefined();
  expect(actions).not.toHaveProperty('Oem');
  expect((await send('POST', action)).status).toBe(404);
  expect(asked).toHaveLength(3);
});

it.each<[string, number, object, number, string]>([
  ['that is not ready', 409, { conflictingRequest: { message: 'Instance is not ready' } }, 409, 'not ready'],
  ['of a Nova that fails', 500, {}, 503, 'Nova answers 500'],
  [
    'with a hostile URL',
    200,
    { remote_console: { ...spice.body.remote_console, url: 'javascript:alert(1)' } },
    503,
    'form',
  ],
])('the service does not open the graphical console of a server %s', async (_, status, body, expected, reason) => {
  cloud.servers.put(1);
  let answer = spice;
  cloud.answer((_request, response, path) => {
    if (!path.endsWith('/remote-consoles')) return false;
    sendJson(response, answer.status, answer.body);
    return true;
  });
  const served = await cloud.serve();
  await untilShown(served);
  answer = { status, body: body as typeof spice.body }; // the type does not allow this faulty answer
  const failed = await served.send('POST', action);
  expect([failed.status, JSON.stringify(failed.body)]).toEqual([expected, expect.stringContaining(reason)]);
});
