import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { serve, type Client } from '../../../test/support/client.js';
import { fullAccess } from '../authenticate.js';
import { DriverError } from '../../drivers/driver-error.js';
import { redfishError } from '../messages/errors.js';
import type { JsonObject } from '../json.js';
import { createPipeline, type RequestOutcome } from '../pipeline.js';
import { resourceDefiner } from '../resource.js';
import { maximumResources } from './expand.js';

interface Services {
  count: number;
  /** Machines that the resource does not find. */
  readonly gone: Set<string>;
  /** Machines for which the driver reports `notFound` during a read, because another program undefined them. */
  readonly undefined: Set<string>;
  /** Machines whose host does not answer. */
  readonly down: Set<string>;
  /** Machines that the driver cannot read. */
  readonly broken: Set<string>;
  /** Machines that cannot be read in their current state. */
  readonly busy: Set<string>;
  reading: number;
  maxAtOnce: number;
}
const services: Services = {
  count: 3,
  gone: new Set(),
  undefined: new Set(),
  down: new Set(),
  broken: new Set(),
  busy: new Set(),
  reading: 0,
  maxAtOnce: 0,
};
const defineResource = resourceDefiner<Services>();
const link = (uri: string) => ({ '@odata.id': uri });

/** Machines with the ids 1 to count; those with odd ids are on. */
const systems = defineResource({
  entity: 'ComputerSystemCollection',
  odataType: '#ComputerSystemCollection.ComputerSystemCollection',
  uri: '/redfish/v1/Systems',
  load: ({ services: { count } }) => ({ count }),
  render: ({ count }, { self }) => ({
    Name: 'Systems',
    'Members@odata.count': count,
    Members: Array.from({ length: count }, (_, index) => link(`${self}/${index + 1}`)),
  }),
  post: { body: z.strictObject({}), bodyOptional: true, run: () => undefined },
});

const system = defineResource({
  entity: 'ComputerSystem',
  odataType: '#ComputerSystem.v1_27_0.ComputerSystem',
  uri: '/redfish/v1/Systems/{systemId}',
  load: async ({ params: { systemId }, services: state }) => {
    state.reading += 1;
    state.maxAtOnce = Math.max(state.maxAtOnce, state.reading);
    await new Promise(setImmediate);
    state.reading -= 1;
    if (state.gone.has(systemId)) throw redfishError('ResourceNotFound', 'ComputerSystem', systemId);
    if (state.undefined.has(systemId)) throw new DriverError('notFound', 'reading: no such machine');
    if (state.broken.has(systemId)) throw new DriverError('internal', 'reading: not a domain');
    if (state.busy.has(systemId)) throw new DriverError('conflict', 'reading: the machine is no longer running');
    if (state.down.has(systemId)) throw new DriverError('unavailable', 'reading: no answer');
    return { id: systemId };
  },
  render: ({ id }, { self }) => ({
    Id: id,
    PowerState: Number(id) % 2 === 1 ? 'On' : 'Off',
    Status: { Health: 'OK', State: 'Enabled' },
    LogServices: link(`${self}/LogServices`),
    Nowhere: link('/elsewhere'),
    Part: link('/redfish/v1/Systems/1#/Status'),
    Links: { Chassis: [link(`/redfish/v1/Chassis/${id}`)] },
    '@Redfish.Settings': { SettingsObject: link(`${self}/LogServices`) },
  }),
});

const logs = defineResource({
  entity: 'LogServiceCollection',
  odataType: '#LogServiceCollection.LogServiceCollection',
  uri: '/redfish/v1/Systems/{systemId}/LogServices',
  load: () => ({ count: 5 }),
  // A collection that contains its members, like a log.
  render: (_entity, { self }) => ({
    'Members@odata.count': 5,
    Members: Array.from({ length: 5 }, (_, index) => ({ ...link(`${self}/${index}`), Id: String(index) })),
  }),
});

const chassis = defineResource({
  entity: 'Chassis',
  odataType: '#Chassis.v1_28_0.Chassis',
  uri: '/redfish/v1/Chassis/{chassisId}',
  load: ({ params: { chassisId } }) => ({ id: chassisId }),
  render: ({ id }) => ({ Id: id, Links: { ComputerSystems: [link(`/redfish/v1/Systems/${id}`)] } }),
});

/** Only an account with ConfigureManager may read the collection. */
const certificates = defineResource({
  entity: 'CertificateCollection',
  odataType: '#CertificateCollection.CertificateCollection',
  uri: '/redfish/v1/Managers/{managerId}/Certificates',
  load: () => ({}),
  render: () => ({ Members: [] }),
});
const manager = defineResource({
  entity: 'Manager',
  odataType: '#Manager.v1_24_0.Manager',
  uri: '/redfish/v1/Managers/{managerId}',
  load: () => ({}),
  render: (_entity, { self }) => ({ Certificates: link(`${self}/Certificates`) }),
});

const root = defineResource({
  entity: 'ServiceRoot',
  odataType: '#ServiceRoot.v1_20_0.ServiceRoot',
  uri: '/redfish/v1',
  needsNoLogin: true,
  load: () => ({}),
  render: () => ({ Id: 'RootService', Managers: link('/redfish/v1/Managers/1') }),
});

let client: Client;
const outcomes: RequestOutcome[] = [];
beforeAll(async () => {
  const pipeline = createPipeline({
    resources: [root, systems, system, logs, chassis, manager, certificates],
    services,
    strict: true,
    authenticate: ({ headers: { authorization } }) => {
      if (authorization === 'reader') return { ...fullAccess, user: 'r', privileges: new Set(['Login']) };
      return authorization === 'unknown' || authorization === undefined ? { refused: 'no' } : fullAccess;
    },
  });
  client = await serve(
    (request, response) => void pipeline(request, response, 'r1').then((outcome) => outcomes.push(outcome)),
  );
});
afterAll(() => client.close());
beforeEach(() => {
  services.count = 3;
  services.gone.clear();
  services.undefined.clear();
  services.down.clear();
  services.broken.clear();
  services.busy.clear();
  services.maxAtOnce = 0;
});

const path = '/redfish/v1/Systems';
const admin = { Authorization: 'admin' };
const get = async (uri: string, headers = {}) => {
  const { status, json, headers: answered } = await client.get(uri.replaceAll(' ', '+'), { ...admin, ...headers });
  return { status, body: json as JsonObject, headers: answered };
};
const bodyOf = async (uri: string) => {
  const { status, body } = await get(uri);
  expect({ uri, status, body }).toMatchObject({ uri, status: 200 });
  return body;
};
const idsOf = (body: JsonObject) =>
  (body['Members'] as { '@odata.id': string }[]).map((member) => member['@odata.id'].split('/').at(-1));
const fault = async (uri: string, method = 'GET') => {
  const { status, json } = await client.send(method, uri.replaceAll(' ', '+'), { headers: admin });
  const { error } = json as { error: { '@Message.ExtendedInfo': { MessageId: string }[] } };
  return [status, ...error['@Message.ExtendedInfo'].map(({ MessageId }) => MessageId.split('.').at(-1))];
};
const identityOf = (uri: string, type: string) => ({
  '@odata.id': uri,
  '@odata.type': type,
  '@odata.context': expect.stringContaining('$metadata#') as unknown,
});
const identityOfSystem = (id: string) => identityOf(`${path}/${id}`, '#ComputerSystem.v1_27_0.ComputerSystem');
const chassisOf = (id: string) => ({
  ...identityOf(`/redfish/v1/Chassis/${id}`, '#Chassis.v1_28_0.Chassis'),
  Id: id,
  Links: { ComputerSystems: [link(`${path}/${id}`)] },
});

describe('$select', () => {
  it('returns the selected properties and the properties that identify the resource', async () => {
    expect(await bodyOf(`${path}/1?$select=Id,Status/Health,Foo`)).toEqual({
      ...identityOfSystem('1'),
      Id: '1',
      Status: { Health: 'OK' },
    });
    expect(await bodyOf(`${path}/1?$select=*`)).toEqual(await bodyOf(`${path}/1`));
  });

  it('keeps the ETag and the headers of the whole resource, and answers 304 for a matching ETag', async () => {
    const [part, whole] = [await get(`${path}/1?$select=Id`), await get(`${path}/1`)];
    for (const name of ['etag', 'allow', 'link', 'odata-version', 'cache-control']) {
      expect([name, part.headers[name]]).toEqual([name, whole.headers[name]]);
    }
    expect((await get(`${path}/1?$select=Id`, { 'If-None-Match': part.headers.etag })).status).toBe(304);
  });

  it('also applies to properties of expanded members', async () => {
    services.count = 1;
    expect(await bodyOf(`${path}?$expand=.&$select=Members/PowerState`)).toEqual({
      ...identityOf(path, '#ComputerSystemCollection.ComputerSystemCollection'),
      Members: [{ ...identityOfSystem('1'), PowerState: 'On' }],
    });
  });

  it('keeps the messages about members that cannot be read', async () => {
    services.broken.add('1');
    const filtered = await bodyOf(`${path}?$filter=PowerState eq 'On'&$select=Members/Id`);
    expect([idsOf(filtered), filtered['@Message.ExtendedInfo']]).toEqual([
      ['3'],
      [expect.objectContaining({ MessageId: 'Base.1.22.InternalError' })],
    ]);
    const expanded = await bodyOf(`${path}?$expand=.&$select=Members/Id`);
    expect(expanded['Members']).toContainEqual({
      ...link(`${path}/1`),
      '@Message.ExtendedInfo': [expect.objectContaining({ MessageId: 'Base.1.22.InternalError' })],
    });
  });

  it('has the same Content-Length for HEAD as for GET, without a body', async () => {
    const whole = await get(`${path}/1?$select=Id`);
    const only = await client.send('HEAD', `${path}/1?$select=Id`, { headers: admin });
    expect([only.text, only.headers['content-length']]).toEqual(['', whole.headers['content-length']]);
  });
});

describe('$filter, $skip and $top', () => {
  it('return the matching members and their number, and read at most eight members at once', async () => {
    services.count = 20;
    const body = await bodyOf(`${path}?$filter=PowerState eq 'On' and not (Id eq '5')`);
    expect([body['Members@odata.count'], idsOf(body)]).toEqual([9, ['1', '3', '7', '9', '11', '13', '15', '17', '19']]);
    expect(services.maxAtOnce).toBeLessThanOrEqual(8);
  });

  it('return a part, the number of all members, and a link to the next part', async () => {
    services.count = 5;
    const seen = [];
    let uri: string | undefined = `${path}?$top=2&$skip=1&x=1`;
    const first = await bodyOf(uri);
    expect([first['Members@odata.count'], first['Members@odata.nextLink']]).toEqual([5, `${path}?$skip=3&$top=2`]);
    for (let pages = 0; uri !== undefined && pages < 10; pages += 1) {
      const body = await bodyOf(uri);
      seen.push(idsOf(body));
      uri = body['Members@odata.nextLink'] as string | undefined;
    }
    expect(seen).toEqual([
      ['2', '3'],
      ['4', '5'],
    ]);
  });

  it('keep the other parameters of the request in the link', async () => {
    services.count = 5;
    const body = await bodyOf(`${path}?$filter=PowerState eq 'On'&$top=1&$select=Members`);
    expect(idsOf(body)).toEqual(['1']);
    const next = await bodyOf(body['Members@odata.nextLink'] as string);
    expect([idsOf(next), next['Name'], next['Members@odata.nextLink']]).toEqual([
      ['3'],
      undefined,
      `${path}?$filter=PowerState%20eq%20'On'&$select=Members&$skip=2&$top=1`,
    ]);
  });

  it('give no link after the last member and for $top=0', async () => {
    for (const query of ['$top=3', '$top=99', '$skip=3', '$skip=99', '$top=0', '$skip=1']) {
      const body = await bodyOf(`${path}?${query}`);
      expect([query, body['Members@odata.nextLink'], body['Members@odata.count']]).toEqual([query, undefined, 3]);
    }
    expect(idsOf(await bodyOf(`${path}?$top=0`))).toEqual([]);
    expect(idsOf(await bodyOf(`${path}?$skip=2`))).toEqual(['3']);
  });

  it('also work for a collection that contains its members', async () => {
    const log = `${path}/1/LogServices`;
    const three = await bodyOf(`${log}?$top=3`);
    expect([idsOf(three), three['Members@odata.nextLink']]).toEqual([['0', '1', '2'], `${log}?$skip=3&$top=3`]);
    expect(idsOf(await bodyOf(`${log}?$filter=Id gt '2'`))).toEqual(['3', '4']);
  });

  it('skip a member that disappears during the request, and fail if no member answers', async () => {
    services.gone.add('1');
    expect(idsOf(await bodyOf(`${path}?$filter=PowerState eq 'On'`))).toEqual(['3']);
    services.gone.clear();
    for (const id of ['1', '2', '3']) services.down.add(id);
    expect(await fault(`${path}?$filter=PowerState eq 'On'`)).toEqual([503, 'ServiceTemporarilyUnavailable']);
    expect(await fault(`${path}?$expand=.`)).toEqual([503, 'ServiceTemporarilyUnavailable']);
  });

  it('name a member that cannot be read in its current state', async () => {
    services.busy.add('1');
    const body = await bodyOf(`${path}?$filter=PowerState eq 'On'`);
    expect([idsOf(body), body['@Message.ExtendedInfo']]).toEqual([
      ['3'],
      [expect.objectContaining({ Message: expect.stringContaining(`The answer lacks '${path}/1'`) })],
    ]);
  });

  it('leave out a member that cannot be read, and name it in a message', async () => {
    services.broken.add('1');
    services.down.add('2');
    const body = await bodyOf(`${path}?$filter=PowerState eq 'On'`);
    expect([idsOf(body), body['Members@odata.count']]).toEqual([['3'], 1]);
    expect(body['@Message.ExtendedInfo']).toEqual([
      expect.objectContaining({
        MessageId: 'Base.1.22.InternalError',
        Message: expect.stringContaining(`The answer lacks '${path}/1', which the service could not read.`),
      }),
      expect.objectContaining({
        MessageId: 'Base.1.22.ServiceTemporarilyUnavailable',
        Message: expect.stringContaining(`The answer lacks '${path}/2', which the service could not read. Reading: no`),
      }),
    ]);
    expect(outcomes.at(-1)).toMatchObject({ status: 200, error: { kind: 'internal' } });
  });
});

describe('$expand', () => {
  it('replaces only links outside Links by resources if its value is a dot', async () => {
    const body = await bodyOf(`${path}/1?$expand=.`);
    const log = await bodyOf(`${path}/1/LogServices`);
    expect(body).toEqual({
      ...(await bodyOf(`${path}/1`)),
      LogServices: log,
      '@Redfish.Settings': { SettingsObject: log },
    });
  });

  it('replaces only links inside Links if its value is a tilde', async () => {
    expect(await bodyOf(`${path}/1?$expand=~`)).toEqual({
      ...(await bodyOf(`${path}/1`)),
      Links: { Chassis: [chassisOf('1')] },
    });
  });

  it('replaces both kinds of links if its value is an asterisk, and never puts a resource into itself', async () => {
    const body = await bodyOf(`${path}/1?$expand=*($levels=6)`);
    expect(body['Links']).toEqual({ Chassis: [chassisOf('1')] });
    expect(body['LogServices']).toHaveProperty('Members');
  });

  it('expands as many levels as requested', async () => {
    services.count = 1;
    const one = await bodyOf(`${path}?$expand=.`);
    expect(one['Members']).toEqual([await bodyOf(`${path}/1`)]);
    const two = await bodyOf(`${path}?$expand=.($levels=2)`);
    expect(two['Members']).toEqual([await bodyOf(`${path}/1?$expand=.`)]);
  });

  it('leaves a link with the reason if the user may not read the resource, or if it is gone', async () => {
    const uri = '/redfish/v1/Managers/1';
    expect((await get(`${uri}/Certificates`, { Authorization: 'reader' })).status).toBe(403);
    const { body } = await get(`${uri}?$expand=.`, { Authorization: 'reader' });
    expect(body['Certificates']).toEqual({
      ...link(`${uri}/Certificates`),
      '@Message.ExtendedInfo': [expect.objectContaining({ MessageId: 'Base.1.22.InsufficientPrivilege' })],
    });
    expect((await bodyOf(`${uri}?$expand=.`))['Certificates']).toHaveProperty('Members');
    services.gone.add('2');
    expect((await bodyOf(`${path}?$expand=.`))['Members']).toContainEqual({
      ...link(`${path}/2`),
      '@Message.ExtendedInfo': [expect.objectContaining({ MessageId: 'Base.1.22.ResourceNotFound' })],
    });
  });

  it('leaves a link if the hypervisor reports that a machine does not exist anymore', async () => {
    services.undefined.add('2');
    const { status, body } = await get(`${path}?$expand=.`);
    expect(status).toBe(200);
    expect(body['Members']).toContainEqual({
      ...link(`${path}/2`),
      '@Message.ExtendedInfo': [
        expect.objectContaining({ MessageId: 'Base.1.22.ResourceMissingAtURI', MessageArgs: [`${path}/2`] }),
      ],
    });
  });

  it('leaves a link with the reason if one resource cannot be read, and reports the failure to the log', async () => {
    services.broken.add('1');
    services.down.add('2');
    const members = (await bodyOf(`${path}?$expand=.`))['Members'];
    expect(members).toEqual([
      {
        ...link(`${path}/1`),
        '@Message.ExtendedInfo': [expect.objectContaining({ MessageId: 'Base.1.22.InternalError' })],
      },
      {
        ...link(`${path}/2`),
        '@Message.ExtendedInfo': [expect.objectContaining({ MessageId: 'Base.1.22.ServiceTemporarilyUnavailable' })],
      },
      await bodyOf(`${path}/3`),
    ]);
    expect(outcomes.at(-2)).toMatchObject({ status: 200, error: { kind: 'internal' } });
  });

  it('expands the links of a resource that needs no login only for users with the privilege', async () => {
    const expanded = await bodyOf('/redfish/v1?$expand=.');
    expect(expanded['Managers']).toEqual(await bodyOf('/redfish/v1/Managers/1'));
    const anonymous = await client.get('/redfish/v1?$expand=.');
    expect([anonymous.status, (anonymous.json as JsonObject)['Managers']]).toEqual([
      200,
      {
        ...link('/redfish/v1/Managers/1'),
        '@Message.ExtendedInfo': [expect.objectContaining({ MessageId: 'Base.1.22.InsufficientPrivilege' })],
      },
    ]);
    expect((await client.get('/redfish/v1?$expand=.', { Authorization: 'unknown' })).status).toBe(401);
    expect((await client.get('/redfish/v1', { Authorization: 'unknown' })).status).toBe(200);
  });

  it('rejects an answer that would be too large before it reads the members, and returns a part with $top', async () => {
    services.count = maximumResources + 1;
    services.maxAtOnce = 0;
    expect(await fault(`${path}?$expand=.`)).toEqual([507, 'InsufficientStorage']);
    expect(services.maxAtOnce).toBe(0);
    expect((await bodyOf(`${path}?$expand=.&$top=10`))['Members']).toHaveLength(10);
    // Each machine adds seven resources: itself, its log, and the five entries of the log. So 1,000 machines exceed
    // the limit, and 500 do not.
    services.count = 1000;
    expect(await fault(`${path}?$expand=.($levels=2)`)).toEqual([507, 'InsufficientStorage']);
    services.count = 500;
    expect((await bodyOf(`${path}?$expand=.($levels=2)`))['Members']).toHaveLength(500);
  });

  it('has the ETag of the whole answer', async () => {
    const { headers } = await get(`${path}?$expand=.`);
    expect(headers.etag).not.toBe((await get(path)).headers.etag);
    expect((await get(`${path}?$expand=.`, { 'If-None-Match': headers.etag })).status).toBe(304);
  });
});

describe('the query parameter only', () => {
  it('returns the only member, or the collection if it has several members or none', async () => {
    expect(await bodyOf(`${path}?only`)).toEqual(await bodyOf(path));
    services.count = 0;
    expect(await bodyOf(`${path}?only`)).toEqual(await bodyOf(path));
    services.count = 1;
    const [only, member] = [await get(`${path}?only`), await get(`${path}/1`)];
    expect([only.body, only.headers.etag, only.headers.allow]).toEqual([
      member.body,
      member.headers.etag,
      member.headers.allow,
    ]);
  });
});

describe('a query in the wrong place', () => {
  it.each(['only', '$top=1', '$skip=1', "$filter=Id eq '1'"])('is rejected on a single resource: %s', async (query) => {
    expect(await fault(`${path}/1?${query}`)).toEqual([400, 'QueryNotSupportedOnResource']);
  });

  it('is rejected with a method that does not read', async () => {
    expect(await fault(`${path}?$top=1`, 'POST')).toEqual([400, 'QueryNotSupportedOnOperation']);
    expect(await fault(`${path}?$fake=1`, 'POST')).toEqual([501, 'QueryParameterUnsupported']);
  });

  it('is rejected on a document', async () => {
    expect(await fault('/redfish/v1/odata?$select=value')).toEqual([400, 'QueryNotSupportedOnResource']);
  });
});
