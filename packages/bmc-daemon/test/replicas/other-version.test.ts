/** Tests a replica with a real Redis. The test acts as a replica of another version. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { openSharedStore, type SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import { idOf } from '../support/listed-servers.js';
import { waitFor } from '../daemon/process.js';
import { admin, logIn, read, root, send, statusOf } from './client.js';
import { ADMIN, startService, type Replica, type Service } from './replicas.js';

const subscriptions = `${root}/EventService/Subscriptions`;
const accounts = `${root}/AccountService/Accounts`;
const definitions = `${root}/TelemetryService/MetricReportDefinitions`;
const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
const subscription = { Destination: 'http://127.0.0.1:9/', Protocol: 'Redfish' };

let service: Service;
let replica: Replica;
let other: SharedStore;
beforeEach(async () => {
  service = await startService();
  replica = await service.start();
  other = await openSharedStore(service.redis.url, 'bmc-daemon', log);
});
afterEach(async () => {
  await other.close();
  await service.stop();
});

/** Returns the value of an entry, as the other version reads it. */
async function readStored(kind: string, id: string): Promise<Record<string, unknown>> {
  await other.sync();
  return other.get(kind, id)?.value as Record<string, unknown>; // the replica has stored an object
}
const store = (kind: string, id: string, value: object) => other.commit([{ kind, id, value }]);

async function definitionUri(): Promise<string> {
  const { body } = await read(replica, definitions, admin);
  const [{ '@odata.id': uri }] = body['Members'] as [{ '@odata.id': string }]; // the cloud has one server
  return uri;
}
const schedule = { Schedule: { RecurrenceInterval: 'PT7S' } };

it.each([
  [
    'subscriptions',
    'events',
    'subscriptions',
    () => send(replica, 'POST', subscriptions, { body: subscription, headers: admin }),
  ],
  [
    'a report definition',
    'report',
    idOf(1),
    async () => send(replica, 'PATCH', await definitionUri(), { body: schedule, headers: admin }),
  ],
  [
    'the settings of telemetry',
    'report-service',
    'settings',
    () => send(replica, 'PATCH', `${root}/TelemetryService`, { body: { ServiceEnabled: false }, headers: admin }),
  ],
])('a replica rejects changes of %s in the format of another version', async (_what, kind, id, change) => {
  const foreign = { enabled: 'of another version' };
  await store(kind, id, foreign);
  const { status, headers, body } = await change();
  expect([status, headers.get('retry-after')]).toEqual([503, '5']);
  expect(JSON.stringify(body)).toContain('Another version of the service has stored');
  expect(await readStored(kind, id)).toEqual(foreign);
  await other.commit([{ kind, id, value: null }]);
  expect([200, 201]).toContain((await change()).status);
});

it('a replica answers 503 while it cannot read the accounts of another version, and never replaces them', async () => {
  const { token } = await logIn(replica);
  const own = await readStored('access', 'accounts');
  const foreign = { accounts: [{ name: 'admin' }] };
  await store('access', 'accounts', foreign);
  for (const headers of [admin, token]) expect(await statusOf(read(replica, accounts, headers))).toBe(503);
  expect(await statusOf(send(replica, 'POST', `${root}/SessionService/Sessions`, { body: ADMIN }))).toBe(503);
  expect(await statusOf(send(replica, 'GET', root))).toBe(200);
  await expect(service.start()).rejects.toThrow('in a form that this replica cannot read');
  expect(await readStored('access', 'accounts')).toEqual(foreign);
  await store('access', 'accounts', own);
  for (const headers of [admin, token]) expect(await statusOf(read(replica, accounts, headers))).toBe(200);
});

it('a replica keeps what a newer version has added to subscriptions, accounts and report definitions', async () => {
  const { headers } = await send(replica, 'POST', subscriptions, { body: subscription, headers: admin });
  const uri = headers.get('location') ?? '';
  const account = { UserName: 'eve', Password: 'eve has words', RoleId: 'ReadOnly' };
  expect(await statusOf(send(replica, 'POST', accounts, { body: account, headers: admin }))).toBe(201);
  expect(await statusOf(send(replica, 'PATCH', await definitionUri(), { body: schedule, headers: admin }))).toBe(200);
  const added = { added: 'by a newer version' };
  const listeners = await readStored('events', 'subscriptions');
  // The request above has stored a subscription.
  const [first] = listeners['subscriptions'] as [{ readonly wanted: object }];
  const extended = { ...first, ...added, wanted: { ...first.wanted, ...added } };
  await store('events', 'subscriptions', { ...listeners, ...added, subscriptions: [extended] });
  const access = await readStored('access', 'accounts');
  // The request above has stored an account.
  const state = access['state'] as { readonly accounts: readonly object[]; readonly settings: object };
  const settings = { ...state.settings, ...added };
  const extendedAccounts = state.accounts.map((each) => ({ ...each, ...added }));
  await store('access', 'accounts', { ...access, ...added, state: { ...state, accounts: extendedAccounts, settings } });
  await store('report', idOf(1), { ...(await readStored('report', idOf(1))), ...added });

  const change = (target: string, body: object) => statusOf(send(replica, 'PATCH', target, { body, headers: admin }));
  expect(await change(uri, { Context: 'second' })).toBe(200);
  expect(await change(`${accounts}/eve`, { Enabled: false })).toBe(200);
  expect(await change(await definitionUri(), { Schedule: { RecurrenceInterval: 'PT8S' } })).toBe(200);
  expect(await readStored('events', 'subscriptions')).toMatchObject({
    ...added,
    subscriptions: [{ ...added, context: 'second', wanted: added }],
  });
  expect(await readStored('access', 'accounts')).toMatchObject({
    ...added,
    state: { accounts: [{ ...added, user: 'eve', enabled: false }], settings: added },
  });
  expect(await readStored('report', idOf(1))).toMatchObject({ ...added, intervalSeconds: 8 });
});

it('a replica delivers no events while it cannot read the subscriptions, so that other replicas can', async () => {
  await send(replica, 'POST', subscriptions, { body: subscription, headers: admin });
  const own = await readStored('events', 'subscriptions');
  const holder = () => other.run(`return redis.call('ZRANGE', KEYS[1], 0, -1)`, ['lease:queue:event-deliveries'], []);
  const waitForTickets = (count: number) =>
    waitFor(
      async () => (((await holder()) as string[]).length === count ? true : undefined), // Redis answers with a list
      () => `there are not ${count} replicas that want to deliver`,
    );
  await waitForTickets(1);
  await store('events', 'subscriptions', { form: 'of another version' });
  await waitForTickets(0);
  await store('events', 'subscriptions', own);
  await waitForTickets(1);
});
