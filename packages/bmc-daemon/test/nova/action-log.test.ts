/** Tests the ActionLog of a server: Nova's actions, and the fault of the server. */
import { expect, it } from '@jest/globals';
import { sendJson } from '../support/cloud-server.js';
import { idOf } from '../support/listed-servers.js';
import { servedCloud } from '../support/served-cloud.js';
import type { Body } from '../support/served-resources.js';

const cloud = servedCloud();
const system = `/redfish/v1/Systems/${idOf(1)}`;
const log = `${system}/LogServices/ActionLog`;
const membersOf = (body: Body) => body['Members'] as Body[]; // Every log has this list.
const action = (id: string, parts: object = {}) => ({
  action: 'reboot',
  request_id: id,
  user_id: 'u1',
  start_time: '2026-11-23T01:15:02.960631',
  message: null,
  ...parts,
});

/** Lets Nova list these actions, newest first. */
function list(actions: readonly unknown[]): void {
  cloud.answer((request, response, path) => {
    if (!path.includes('/os-instance-actions')) return false;
    sendJson(response, 200, { instanceActions: actions });
    return true;
  });
}

it('the service lists the actions of a server, oldest first, and shows which actions failed', async () => {
  cloud.servers.put(1);
  list([action('req-2', { action: 'rescue', message: 'Error' }), action('req-1')]);
  const { get, send } = await cloud.serve();
  expect(await get(`${system}/LogServices`)).toMatchObject({
    Members: expect.arrayContaining([{ '@odata.id': log }]),
  });
  expect(await get(log)).toMatchObject({ MaxNumberOfRecords: 501 });
  expect(membersOf(await get(`${log}/Entries`))).toEqual([
    expect.objectContaining({ Id: 'req-1', Severity: 'OK', Created: '2026-11-23T01:15:02.960Z', Username: 'u1' }),
    expect.objectContaining({ Id: 'req-2', Severity: 'Warning', Message: 'Action rescue failed.' }),
  ]);
  expect(await get(`${log}/Entries/req-2`)).toMatchObject({ Id: 'req-2', Message: 'Action rescue failed.' });
  expect((await send('GET', `${log}/Entries/req-9`)).status).toBe(404);
  expect((await send('POST', `${log}/Actions/LogService.ClearLog`, {})).status).toBe(404);
  const reads = cloud.requestsTo('/compute').filter((line) => line.includes('os-instance-actions'));
  expect(new Set(reads)).toEqual(new Set([`GET /compute/servers/${idOf(1)}/os-instance-actions?limit=500`]));
});

it('the service requests the actions from Nova only when a client reads log entries', async () => {
  cloud.servers.put(1);
  const { get } = await cloud.serve();
  await get('/redfish/v1/Systems?$expand=.');
  await get(system);
  await get(log);
  expect(cloud.requestsTo('/compute').filter((line) => line.includes('os-instance-actions'))).toEqual([]);
});

it('the service shows the fault of a server in its status and in the log, without the traceback', async () => {
  cloud.servers.put(1, {
    'OS-EXT-STS:vm_state': 'error',
    'OS-EXT-STS:power_state': 0,
    fault: { code: 500, created: '2026-11-23T01:15:04Z', message: 'No valid host\nwas found. ', details: 'Traceback' },
  });
  list([]);
  const { get } = await cloud.serve();
  const status = (await get(system))['Status'];
  expect(status).toMatchObject({
    Health: 'Critical',
    Conditions: [
      {
        Message: expect.stringContaining('The hypervisor reports: No valid host was found.'),
        Severity: 'Critical',
        Timestamp: '2026-11-23T01:15:04.000Z',
      },
    ],
  });
  const [fault] = membersOf(await get(`${log}/Entries`));
  expect(fault).toMatchObject({ Id: 'Fault', Severity: 'Critical', Message: 'No valid host was found.' });
  expect(JSON.stringify([status, fault])).not.toContain('Traceback');
});

it('the service reads only 500 items of a hostile list, hides items that are not actions, and shortens long texts', async () => {
  cloud.servers.put(1);
  const hostile = [
    ...[null, 7, { action: 'x' }, action('../../Managers'), action('a b'), action('req-time', { start_time: 'soon' })],
    ...[action('req-html', { action: `<img src=x onerror=alert(1)>\u0000${'y'.repeat(9000)}`, user_id: '\u001b[2J' })],
    ...Array.from({ length: 200_000 }, (_, index) => action(`req-${index}`)),
  ];
  list(hostile);
  const { get } = await cloud.serve();
  const members = membersOf(await get(`${log}/Entries`));
  expect(members).toHaveLength(495);
  expect(members.at(-1)).toMatchObject({ Id: 'req-time', Message: 'Action reboot was requested.' });
  expect(members.at(-1)).not.toHaveProperty('Created');
  const html = members.at(-2);
  expect(html?.['Id']).toBe('req-html');
  expect(String(html?.['Message'])).toMatch(/^Action <img src=x onerror=alert\(1\)> y+… was requested\.$/);
  expect(html?.['Username']).toBe('[2J');
});

it("the service answers 503 with Nova's error if Nova rejects the request for the actions", async () => {
  cloud.servers.put(1);
  cloud.answer((_request, response, path) => {
    if (!path.includes('/os-instance-actions')) return false;
    sendJson(response, 403, { forbidden: { message: "Policy doesn't allow it" } });
    return true;
  });
  const { send } = await cloud.serve();
  const { status, body } = await send('GET', `${log}/Entries`);
  expect([status, JSON.stringify(body)]).toEqual([503, expect.stringContaining("Nova answers 403: Policy doesn't")]);
});
