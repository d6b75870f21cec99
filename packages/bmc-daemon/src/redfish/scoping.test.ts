import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { serve, type Client } from '../../test/support/client.js';
import { withoutLogin } from './authenticate.js';
import { redfishError } from './messages/errors.js';
import { createPipeline } from './pipeline.js';
import { resourceDefiner } from './resource.js';

interface Machine {
  tag: string;
}
interface Services {
  readonly owner: string;
  readonly machines: ReadonlyMap<string, Machine>;
}

const defineResource = resourceDefiner<Services>();

const collection = defineResource({
  entity: 'ComputerSystemCollection',
  odataType: '#ComputerSystemCollection.ComputerSystemCollection',
  uri: '/redfish/v1/Systems',
  load: ({ services }) => services.machines,
  render: (machines, { self, services }) => ({
    Name: services.owner,
    Members: [...machines.keys()].map((id) => ({ '@odata.id': `${self}/${id}` })),
  }),
});

const system = defineResource({
  entity: 'ComputerSystem',
  odataType: '#ComputerSystem.v1_27_0.ComputerSystem',
  uri: '/redfish/v1/Systems/{systemId}',
  load: ({ params, services }) => {
    const found = services.machines.get(params.systemId);
    if (found === undefined) throw redfishError('ResourceNotFound', 'ComputerSystem', params.systemId);
    return found;
  },
  // Every scope sees the same object, but must not share its cached body.
  render: ({ tag }, { services }) => ({ AssetTag: tag, Name: services.owner }),
  patch: {
    body: z.strictObject({ AssetTag: z.string() }),
    apply: (machine, { AssetTag }, { services }) => {
      machine.tag = `${services.owner} ${AssetTag}`;
      return undefined;
    },
  },
  actions: {
    '#ComputerSystem.Reset': {
      body: z.strictObject({}),
      bodyOptional: true,
      run: (machine, _body, { services }) => {
        machine.tag = `reset by ${services.owner}`;
        return undefined;
      },
    },
  },
});

describe('a request that comes by the name of one machine', () => {
  let client: Client;
  let machines: Map<string, Machine>;
  const getByName = async (host: string, path: string): Promise<unknown> => (await client.get(path, { host })).json;

  beforeEach(async () => {
    machines = new Map([
      ['a', { tag: 'x' }],
      ['b', { tag: 'x' }],
    ]);
    const pipeline = createPipeline({
      resources: [collection, system],
      services: { owner: 'all', machines },
      authenticate: (request) => {
        // Simulates a client that disconnects during the check of its password: its socket then has no address, so
        // the scope is unknown.
        if (request.headers.authorization !== undefined) delete request.headers.host;
        return withoutLogin(request);
      },
      strict: true,
      scoping: {
        scopeOf: ({ headers }) => (headers.host === 'a.example' ? 'a' : null),
        servicesOf: (scope) => ({
          owner: scope,
          machines: new Map([...machines].filter(([id]) => id === scope)),
        }),
      },
    });
    client = await serve((request, response) => void pipeline(request, response, 'id'));
  });
  afterEach(() => client.close());

  it('sees only this machine, and a request by another name sees all machines', async () => {
    const members = (ids: readonly string[]) => ids.map((id) => ({ '@odata.id': `/redfish/v1/Systems/${id}` }));
    await expect(getByName('a.example', '/redfish/v1/Systems')).resolves.toMatchObject({
      Name: 'a',
      Members: members(['a']),
    });
    await expect(getByName('b.example', '/redfish/v1/Systems')).resolves.toMatchObject({
      Name: 'all',
      Members: members(['a', 'b']),
    });
    const statuses = async (host: string) =>
      (await Promise.all(['a', 'b'].map((id) => client.get(`/redfish/v1/Systems/${id}`, { host })))).map(
        ({ status }) => status,
      );
    await expect(statuses('a.example')).resolves.toEqual([200, 404]);
    await expect(statuses('b.example')).resolves.toEqual([200, 200]);
  });

  it('gets its scope before the password check, so that a disconnect during the check does not change it', async () => {
    const { json } = await client.get('/redfish/v1/Systems', { host: 'a.example', authorization: 'Basic x' });
    expect(json).toMatchObject({ Name: 'a' });
  });

  it('never receives a body that was rendered for another scope', async () => {
    const path = '/redfish/v1/Systems/a';
    for (const [host, name] of [
      ['b.example', 'all'],
      ['a.example', 'a'],
      ['b.example', 'all'],
    ] as const) {
      const { json, headers } = await client.get(path, { host });
      expect(json).toMatchObject({ Name: name, AssetTag: 'x' });
      const again = await client.get(path, { host, 'If-None-Match': String(headers.etag) });
      expect(again.status).toBe(304);
    }
  });

  it('sees and changes only this machine in queries, PATCH and actions', async () => {
    const headers = { host: 'a.example' };
    await expect(getByName('a.example', '/redfish/v1/Systems?$expand=.')).resolves.toMatchObject({
      Members: [{ Name: 'a' }],
    });
    await client.send('PATCH', '/redfish/v1/Systems/a', { headers, body: { AssetTag: '7' } });
    expect(machines.get('a')).toEqual({ tag: 'a 7' });
    await client.send('POST', '/redfish/v1/Systems/a/Actions/ComputerSystem.Reset', { headers });
    expect(machines.get('a')).toEqual({ tag: 'reset by a' });
    for (const [method, path] of [
      ['PATCH', '/redfish/v1/Systems/b'],
      ['POST', '/redfish/v1/Systems/b/Actions/ComputerSystem.Reset'],
    ] as const) {
      expect((await client.send(method, path, { headers, body: { AssetTag: '7' } })).status).toBe(404);
    }
    expect(machines.get('b')).toEqual({ tag: 'x' });
  });
});
