import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { serve, type Client } from '../../test/support/client.js';
import { DriverError } from '../drivers/driver-error.js';
import { fullAccess } from './authenticate.js';
import type { Change } from './exchange.js';
import { redfishError } from './messages/errors.js';
import { message } from './messages/messages.js';
import { answerClientError } from './messages/raw-errors.js';
import { createPipeline, type RequestOutcome } from './pipeline.js';
import { resourceDefiner } from './resource.js';

interface Machine {
  readonly id: string;
  readonly name: string;
  readonly tag: string;
}
interface Services {
  readonly machines: Map<string, Machine>;
  readonly done: string[];
  rendered: number;
  loaded: number;
  fault: Error | undefined;
  clock: number;
}

/** Waits until the condition is true. Fails after two minutes. */
const until = async (condition: () => boolean) => {
  const deadline = Date.now() + 120_000;
  while (!condition() && Date.now() < deadline) await setTimeout(5);
  expect(condition()).toBe(true);
};

const defineResource = resourceDefiner<Services>();
const find = (services: Services, id: string): Machine => {
  services.loaded += 1;
  if (services.fault !== undefined) throw services.fault;
  const machine = services.machines.get(id) ?? [...services.machines.values()].find(({ name }) => name === id);
  if (machine === undefined) throw redfishError('ResourceNotFound', 'ComputerSystem', id);
  return machine;
};

const root = defineResource({
  entity: 'ServiceRoot',
  odataType: '#ServiceRoot.v1_20_0.ServiceRoot',
  uri: '/redfish/v1',
  needsNoLogin: true,
  load: ({ services }) => services.machines,
  render: () => ({ Id: 'RootService', Systems: { '@odata.id': '/redfish/v1/Systems' } }),
});

const collection = defineResource({
  entity: 'ComputerSystemCollection',
  odataType: '#ComputerSystemCollection.ComputerSystemCollection',
  uri: '/redfish/v1/Systems',
  load: ({ services }) => [...services.machines.keys()],
  render: (ids, { self }) => ({ Members: ids.map((id) => ({ '@odata.id': `${self}/${id}` })) }),
  post: {
    body: z.strictObject({ Name: z.string() }),
    run: (_ids, { Name }, { services }) => {
      services.machines.set('new', { id: 'new', name: Name, tag: '' });
      const messages = Name === 'loud' ? { messages: [message('Success')] } : {};
      return { ...messages, created: { location: '/redfish/v1/Systems/new', headers: { 'X-Auth-Token': 'abc' } } };
    },
  },
});

const system = defineResource({
  entity: 'ComputerSystem',
  odataType: '#ComputerSystem.v1_27_0.ComputerSystem',
  uri: '/redfish/v1/Systems/{systemId}',
  aliases: ['/redfish/v1/Machines/{systemId}'],
  load: ({ params, services }) => find(services, params.systemId),
  canonicalParams: (machine) => ({ systemId: machine.id }),
  render: (machine, { services }) => {
    services.rendered += 1;
    return { Id: machine.id, Name: machine.name, AssetTag: machine.tag, Status: { HealthRollup: 'OK' } };
  },
  patch: {
    body: (machine) =>
      z.strictObject({
        AssetTag: z
          .string()
          .refine((tag) => tag !== machine.id, 'a tag is no id')
          .optional(),
        Name: z.enum(['kept']).optional(),
      }),
    properties: { bootOrder: 'AssetTag' },
    apply: async (machine, { AssetTag, Name }, { services }) => {
      // The hypervisor answers after the other requests have arrived.
      if (AssetTag?.startsWith('slow') === true) await until(() => services.loaded >= 3);
      if (Name === 'kept') return { messages: [message('PropertyNotUpdated', 'Name')] };
      if (AssetTag === 'taken') throw new DriverError('invalid', 'tagging a: taken', { field: 'bootOrder' });
      services.machines.set(machine.id, { ...machine, tag: AssetTag ?? '' });
      if (AssetTag === 'moved') return { changed: { location: `/redfish/v1/Managers/${machine.id}` } };
      return undefined;
    },
  },
  delete: (machine, { services }) => {
    services.machines.delete(machine.id);
    return undefined;
  },
  actions: {
    '#ComputerSystem.Reset': {
      body: z.strictObject({ ResetType: z.enum(['On', 'Slow', 'Loud']) }),
      parameters: () => ({ 'ResetType@Redfish.AllowableValues': ['On', 'Slow'] }),
      run: (machine, { ResetType }, { services, requester }) => {
        services.done.push(`${machine.id} ${ResetType} ${requester.user ?? '-'}`);
        if (ResetType === 'Loud') return { messages: [message('Success')] };
        if (ResetType === 'On') return undefined;
        return { task: { monitor: '/redfish/v1/Monitor', task: '/redfish/v1/Systems/a' } };
      },
    },
    '#ComputerSystem.Eject': {
      body: z.strictObject({}),
      bodyOptional: true,
      run: (machine, _body, { services }) => {
        services.done.push(`${machine.id} eject`);
        return undefined;
      },
    },
    '#ComputerSystem.Strict': { body: z.strictObject({}), run: () => undefined },
    '#ComputerSystem.Wait': {
      body: z.strictObject({}),
      bodyOptional: true,
      available: ({ tag }) => tag === 'patient',
      run: async (_machine, _body, { services, requester }) => {
        services.done.push('waiting');
        await once(requester.signal, 'abort');
        services.done.push(`gone: ${requester.address}`);
        return undefined;
      },
    },
    '#ComputerSystem.Never': { body: z.strictObject({}), available: () => false, run: () => undefined },
  },
});

const manager = defineResource({
  entity: 'Manager',
  odataType: '#Manager.v1_24_0.Manager',
  uri: '/redfish/v1/Managers/{managerId}',
  load: ({ params, services }) => find(services, params.managerId),
  render: ({ id }) => ({ Id: id }),
  volatile: (services) => ({ DateTime: String((services.clock += 1)) }),
});

const monitor = defineResource({
  entity: 'Task',
  odataType: '#Task.v1_7_4.Task',
  uri: '/redfish/v1/Monitor/{state}',
  load: ({ params }) => ({ state: params.state }),
  render: ({ state }) => ({ TaskState: state }),
  status: ({ state }) =>
    state === 'Running' ? { status: 202, headers: { Location: '/redfish/v1/Monitor/Running' } } : { status: 204 },
});

const a: Machine = { id: 'a', name: 'web 1', tag: 'one' };
const services: Services = { machines: new Map(), done: [], rendered: 0, loaded: 0, fault: undefined, clock: 0 };
const outcomes: RequestOutcome[] = [];
const changes: Change[] = [];
const logins: string[] = [];
let client: Client;

beforeAll(async () => {
  const pipeline = createPipeline({
    resources: [root, collection, system, manager, monitor],
    services,
    strict: true,
    onChange: (change) => changes.push(change),
    authenticate: ({ method = '', headers }) => {
      logins.push(method);
      if (headers.authorization === 'Basic ok') return { ...fullAccess, user: 'admin' };
      if (headers.authorization === 'Basic slow')
        return { refused: 'not verified', attemptedUser: 'eve', retryAfterSeconds: 1.5 };
      if (headers.authorization === undefined) return { refused: 'no credentials' };
      throw redfishError('ServiceTemporarilyUnavailable', '1');
    },
  });
  client = await serve(
    (request, response) => void pipeline(request, response, 'r1').then((outcome) => outcomes.push(outcome)),
    (server) => server.on('clientError', (error, socket) => void answerClientError(error, socket)),
  );
});
afterAll(() => client.close());
afterEach(() => {
  services.machines.clear();
  services.machines.set('a', a);
  services.fault = undefined;
  services.done.length = 0;
  outcomes.length = 0;
  changes.length = 0;
  logins.length = 0;
});
services.machines.set('a', a);

const authorization = { Authorization: 'Basic ok' };
const send = (method: string, path: string, body?: string | object, headers = {}) =>
  client.send(method, path, { headers: { ...authorization, ...headers }, ...(body === undefined ? {} : { body }) });
const get = (path: string, headers = {}) => send('GET', path, undefined, headers);
const ids = (json: unknown): unknown =>
  (json as { error: { '@Message.ExtendedInfo': { MessageId: string }[] } }).error['@Message.ExtendedInfo'].map(
    ({ MessageId }) => MessageId.replace('Base.1.22.', ''),
  );
const extended = (json: unknown): unknown =>
  (json as { '@Message.ExtendedInfo': { MessageId: string }[] })['@Message.ExtendedInfo'].map(({ MessageId }) =>
    MessageId.replace('Base.1.22.', ''),
  );
const action = (name: string) => ({ target: `/redfish/v1/Systems/a/Actions/ComputerSystem.${name}` });
const actions = {
  '#ComputerSystem.Reset': { ...action('Reset'), 'ResetType@Redfish.AllowableValues': ['On', 'Slow'] },
  '#ComputerSystem.Eject': action('Eject'),
  '#ComputerSystem.Strict': action('Strict'),
};
const bodyOfA = {
  '@odata.id': '/redfish/v1/Systems/a',
  '@odata.type': '#ComputerSystem.v1_27_0.ComputerSystem',
  '@odata.context': '/redfish/v1/$metadata#ComputerSystem.ComputerSystem',
  Id: 'a',
  Name: 'web 1',
  AssetTag: 'one',
  Status: { HealthRollup: 'OK' },
  Actions: actions,
  '@Redfish.WriteableProperties': ['AssetTag', 'Name'],
};

describe('the pipeline, for reads,', () => {
  it('sends the resource with all headers and annotations of the protocol', async () => {
    const { status, headers, json } = await get('/redfish/v1/Systems/a');
    expect([status, json]).toEqual([200, bodyOfA]);
    expect(headers).toEqual({
      'odata-version': '4.0',
      'cache-control': 'no-cache',
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(JSON.stringify(bodyOfA).length),
      allow: 'GET, HEAD, PATCH, DELETE',
      link: '<http://redfish.dmtf.org/schemas/v1/ComputerSystem.v1_27_0.json>; rel=describedby',
      etag: expect.stringMatching(/^"[\w-]{22}"$/) as unknown,
      'x-request-id': 'r1',
      date: expect.any(String) as unknown,
      connection: 'close',
    });
  });

  it.each([
    '/redfish/v1/Systems/a/',
    '/redfish/v1/Systems/web%201',
    '/redfish/v1/Machines/a',
    '/redfish/v1/Systems/a?x=1',
  ])('sends the same resource at %s', async (path) => {
    const { status, json } = await get(path);
    expect([status, json]).toEqual([200, bodyOfA]);
  });

  it('answers HEAD with the headers of GET and no body', async () => {
    const [head, full] = [await send('HEAD', '/redfish/v1/Systems/a'), await get('/redfish/v1/Systems/a')];
    expect([head.status, head.text, { ...head.headers, date: '' }]).toEqual([200, '', { ...full.headers, date: '' }]);
  });

  it('sends GET, HEAD, POST in Allow for a collection with POST', async () => {
    expect((await get('/redfish/v1/Systems')).headers.allow).toBe('GET, HEAD, POST');
  });

  it('answers OPTIONS with Allow', async () => {
    const { status, headers, text } = await send('OPTIONS', '/redfish/v1/Systems/a/Actions/ComputerSystem.Reset/');
    expect([status, headers.allow, text]).toEqual([204, 'POST', '']);
  });

  it('ignores the body of a GET', async () => {
    expect((await send('GET', '/redfish/v1/Systems/a', 'nonsense')).status).toBe(200);
  });

  it('renders an entity once, until the entity is replaced', async () => {
    await get('/redfish/v1/Systems/a');
    const before = services.rendered;
    await get('/redfish/v1/Systems/a');
    await get('/redfish/v1/Systems/web%201');
    expect(services.rendered).toBe(before);
    services.machines.set('a', { ...a, tag: 'two' });
    expect((await get('/redfish/v1/Systems/a')).json).toEqual({ ...bodyOfA, AssetTag: 'two' });
    expect(services.rendered).toBe(before + 1);
  });

  it('answers a GET with the status of the resource, if it has one: 202 and 204', async () => {
    const running = await get('/redfish/v1/Monitor/Running');
    expect([running.status, running.headers.location, (running.json as { TaskState: string }).TaskState]).toEqual([
      202,
      '/redfish/v1/Monitor/Running',
      'Running',
    ]);
    const completed = await get('/redfish/v1/Monitor/Completed');
    expect([completed.status, completed.text]).toEqual([204, '']);
  });
});

describe('ETags', () => {
  it('give 304 to a client that has the current resource', async () => {
    const { headers } = await get('/redfish/v1/Systems/a');
    const again = await get('/redfish/v1/Systems/a', { 'If-None-Match': headers.etag });
    expect([again.status, again.text, again.headers.etag]).toEqual([304, '', headers.etag]);
    services.machines.set('a', { ...a, tag: 'two' });
    expect((await get('/redfish/v1/Systems/a', { 'If-None-Match': headers.etag })).status).toBe(200);
  });

  it('ignore volatile properties, whose new values are still sent', async () => {
    const [first, second] = [await get('/redfish/v1/Managers/a'), await get('/redfish/v1/Managers/a')];
    expect(first.headers.etag).toBe(second.headers.etag);
    expect(first.json).not.toEqual(second.json);
    services.machines.set('a', { ...a });
    expect((await get('/redfish/v1/Managers/a')).headers.etag).toBe(first.headers.etag);
  });

  it.each(['PATCH', 'DELETE'])('stop a %s with a stale ETag', async (method) => {
    const answer = await send(method, '/redfish/v1/Systems/a', { AssetTag: 'x' }, { 'If-Match': '"stale"' });
    expect([answer.status, ids(answer.json), services.machines.get('a')]).toEqual([412, ['PreconditionFailed'], a]);
  });

  it('allow a PATCH with the current ETag, whose answer has the new one', async () => {
    const { headers } = await get('/redfish/v1/Systems/a');
    const patched = await send('PATCH', '/redfish/v1/Systems/a', { AssetTag: 'x' }, { 'If-Match': headers.etag });
    expect([patched.status, patched.json]).toEqual([200, { ...bodyOfA, AssetTag: 'x' }]);
    expect(patched.headers.etag).not.toBe(headers.etag);
    expect(patched.headers.etag).toBe((await get('/redfish/v1/Systems/a')).headers.etag);
    expect((await send('PATCH', '/redfish/v1/Systems/a', { AssetTag: 'y' }, { 'If-Match': '*' })).status).toBe(200);
  });

  it('are compared after the body has arrived: an ETag that has become stale by then gives 412', async () => {
    const { headers } = await get('/redfish/v1/Systems/a');
    const body = JSON.stringify({ AssetTag: 'late' });
    const socket = connect(client.port, '127.0.0.1');
    socket.write(
      'PATCH /redfish/v1/Systems/a HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ok\r\n' +
        'Connection: close\r\nExpect: 100-continue\r\n' +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\nIf-Match: ${headers.etag ?? ''}\r\n\r\n`,
    );
    // "100 Continue": the service has read the headers.
    await once(socket, 'data');
    services.machines.set('a', { ...a, tag: 'changed meanwhile' });
    socket.write(body);
    expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1\.1 412 /);
    expect(services.machines.get('a')?.tag).toBe('changed meanwhile');
    socket.destroy();
  });

  it('allow only one of several concurrent PATCHes with the same ETag', async () => {
    const { headers } = await get('/redfish/v1/Systems/a');
    services.loaded = 0;
    const answers = await Promise.all(
      ['slow 1', 'slow 2', 'slow 3'].map((AssetTag, index) =>
        send(
          'PATCH',
          `/redfish/v1/Systems/${index === 1 ? 'web%201' : 'a'}`,
          { AssetTag },
          { 'If-Match': headers.etag },
        ),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412]);
  });

  it('also apply to If-Match of a read and to If-None-Match of a write', async () => {
    const { etag = '' } = (await get('/redfish/v1/Systems/a')).headers;
    const read = async (header: string) => (await get('/redfish/v1/Systems/a', { 'If-Match': header })).status;
    expect([await read('"stale"'), await read(etag), await read('*')]).toEqual([412, 200, 200]);
    const write = async (header: string) =>
      (await send('PATCH', '/redfish/v1/Systems/a', { AssetTag: 'one' }, { 'If-None-Match': header })).status;
    expect([await write('*'), await write(etag), await write('"stale"')]).toEqual([412, 412, 200]);
  });

  it.each(['If-Match', 'If-None-Match'])('name the header of a condition that fails: %s', async (name) => {
    const value = name === 'If-Match' ? '"stale"' : '*';
    const { text } = await send('PATCH', '/redfish/v1/Systems/a', { AssetTag: 'one' }, { [name]: value });
    expect(text).toMatch(new RegExp(`condition in .*\\b${name}\\b`));
  });

  it('are not compared with the resource that the answer to a write shows', async () => {
    const tagOf = async (path: string) => ({ 'If-Match': (await get(path)).headers.etag });
    const created = await send('POST', '/redfish/v1/Systems', { Name: 'new one' }, await tagOf('/redfish/v1/Systems'));
    expect([created.status, services.machines.has('new')]).toEqual([201, true]);
    const reset = '/redfish/v1/Systems/a/Actions/ComputerSystem.Reset';
    expect((await send('POST', reset, { ResetType: 'Slow' }, await tagOf('/redfish/v1/Systems/a'))).status).toBe(202);
    const moved = await send(
      'PATCH',
      '/redfish/v1/Systems/a',
      { AssetTag: 'moved' },
      await tagOf('/redfish/v1/Systems/a'),
    );
    expect([moved.status, moved.headers.location, services.machines.get('a')?.tag]).toEqual([
      200,
      '/redfish/v1/Managers/a',
      'moved',
    ]);
  });

  it('are not compared with If-Match of a POST, but a POST with If-None-Match: * gets 412', async () => {
    const reset = '/redfish/v1/Systems/a/Actions/ComputerSystem.Reset';
    const other = { 'If-Match': (await get('/redfish/v1')).headers.etag };
    expect((await send('POST', reset, { ResetType: 'On' }, other)).status).toBe(204);
    expect(services.done).toEqual(['a On admin']);
    expect((await send('POST', '/redfish/v1/Systems', { Name: 'new one' }, other)).status).toBe(201);
    expect((await send('POST', '/redfish/v1/Systems', { Name: 'new' }, { 'If-None-Match': '*' })).status).toBe(412);
  });

  it('are also compared before the body is parsed: a stale ETag with a bad body gives 412', async () => {
    expect((await send('PATCH', '/redfish/v1/Systems/a', '{', { 'If-Match': '"stale"' })).status).toBe(412);
  });
});

describe('the pipeline, for writes,', () => {
  it('answers a PATCH with the resource and messages', async () => {
    const { status, json, headers } = await send('PATCH', '/redfish/v1/Systems/a', { Name: 'kept' });
    expect([status, json]).toEqual([
      200,
      { ...bodyOfA, '@Message.ExtendedInfo': [expect.objectContaining({ MessageId: 'Base.1.22.PropertyNotUpdated' })] },
    ]);
    expect(headers.etag).toBe((await get('/redfish/v1/Systems/a')).headers.etag);
  });

  it.each([{}, { '@odata.id': '/redfish/v1/Systems/a' }])('answers a PATCH of %j with NoOperation', async (body) => {
    const { status, json } = await send('PATCH', '/redfish/v1/Systems/a', body);
    expect([status, ids(json)]).toEqual([400, ['NoOperation']]);
  });

  it('reports every fault of a PATCH at once', async () => {
    const { status, json } = await send('PATCH', '/redfish/v1/Systems/a', { AssetTag: 1, Id: 'b', Foo: 1 });
    expect([status, ids(json)]).toEqual([400, ['PropertyValueTypeError', 'PropertyNotWritable', 'PropertyUnknown']]);
    expect((json as { error: { code: string } }).error.code).toBe('Base.1.22.GeneralError');
  });

  it('reports values that this machine does not accept together with all other faults', async () => {
    const { status, json } = await send('PATCH', '/redfish/v1/Systems/a', { AssetTag: 'a', Name: 'b', Foo: 1 });
    expect([status, ids(json)]).toEqual([400, ['PropertyValueError', 'PropertyValueNotInList', 'PropertyUnknown']]);
  });

  it('reports the property that the driver rejects', async () => {
    const { status, json } = await send('PATCH', '/redfish/v1/Systems/a', { AssetTag: 'taken' });
    expect([status, ids(json)]).toEqual([400, ['PropertyValueIncorrect']]);
  });

  it.each([
    ['no body', undefined, {}, 400, 'MalformedJSON'],
    ['bad JSON', '{', { 'Content-Type': 'application/json' }, 400, 'MalformedJSON'],
    ['another content type', '{}', { 'Content-Type': 'text/plain' }, 415, 'HeaderInvalid'],
    ['more than 1 MiB', 'x'.repeat(2 ** 20 + 1), { 'Content-Type': 'application/json' }, 413, 'PayloadTooLarge'],
  ])('rejects a PATCH with %s', async (_what, body, headers, status, key) => {
    const answer = await send('PATCH', '/redfish/v1/Systems/a', body, headers);
    expect([answer.status, ids(answer.json)]).toEqual([status, [key]]);
  });

  it('answers an action with 204 and runs it as the user', async () => {
    const { status, text, headers } = await send('POST', '/redfish/v1/Systems/web%201/Actions/ComputerSystem.Reset/', {
      ResetType: 'On',
    });
    expect([status, text, headers['content-length'], services.done]).toEqual([204, '', undefined, ['a On admin']]);
  });

  it('answers 200 to an action that returns messages', async () => {
    const { status, json } = await send('POST', '/redfish/v1/Systems/a/Actions/ComputerSystem.Reset', {
      ResetType: 'Loud',
    });
    expect([status, json]).toEqual([
      200,
      { '@Message.ExtendedInfo': [expect.objectContaining({ MessageId: 'Base.1.22.Success' })] },
    ]);
  });

  it('answers 202 with the monitor and the task', async () => {
    const { status, headers, json } = await send('POST', '/redfish/v1/Systems/a/Actions/ComputerSystem.Reset', {
      ResetType: 'Slow',
    });
    expect([status, headers.location, headers['retry-after'], json]).toEqual([
      202,
      '/redfish/v1/Monitor',
      '1',
      bodyOfA,
    ]);
  });

  it.each([undefined, {}, { ResetType: 'Bogus' }])(
    'rejects an action with %j and lists the allowed values',
    async (body) => {
      const { status, json, text } = await send('POST', '/redfish/v1/Systems/a/Actions/ComputerSystem.Reset', body);
      const key =
        body !== undefined && 'ResetType' in body ? 'ActionParameterValueNotInList' : 'ActionParameterMissing';
      expect([status, ids(json), services.done]).toEqual([400, [key], []]);
      expect(text).toContain('Accepted: On, Slow, Loud.');
    },
  );

  it.each<[string, string | object | undefined, Record<string, string>]>([
    ['no body', undefined, {}],
    ['{}', {}, {}],
    ['an empty body with a JSON content type', '', { 'Content-Type': 'application/json' }],
    ["curl's empty form", '', { 'Content-Type': 'application/x-www-form-urlencoded' }],
  ])('accepts %s if the body is optional', async (_what, body, headers) => {
    const { status } = await send('POST', '/redfish/v1/Systems/a/Actions/ComputerSystem.Eject', body, headers);
    expect([status, services.done]).toEqual([204, ['a eject']]);
  });

  it('requires a body from an action without bodyOptional, even if {} is enough', async () => {
    const path = '/redfish/v1/Systems/a/Actions/ComputerSystem.Strict';
    expect([(await send('POST', path)).status, (await send('POST', path, {})).status]).toEqual([400, 204]);
  });

  it('answers 404 at an action that the resource does not show', async () => {
    expect((await send('POST', '/redfish/v1/Systems/a/Actions/ComputerSystem.Never', {})).status).toBe(404);
  });

  it('rejects a write by a web page of another site, even with credentials and without a preflight', async () => {
    const path = '/redfish/v1/Systems/a/Actions/ComputerSystem.Eject';
    const headers = { Origin: 'http://evil.example', 'Sec-Fetch-Site': 'cross-site' };
    const answer = await send('POST', path, undefined, headers);
    expect([answer.status, ids(answer.json), services.done]).toEqual([403, ['HeaderInvalid'], []]);
  });

  it('creates a member with a POST to Members, which has no GET', async () => {
    const { status, headers } = await send('POST', '/redfish/v1/Systems/Members', { Name: 'new one' });
    expect([status, headers.location]).toEqual([201, '/redfish/v1/Systems/new']);
    // For methods other than POST, this is the URI of a member with the id Members, which does not exist.
    expect((await get('/redfish/v1/Systems/Members')).status).toBe(404);
  });

  it('reports each successful write once, and no rejected write', async () => {
    const patched = await send('PATCH', '/redfish/v1/Systems/web%201', { AssetTag: 'x' });
    await send('POST', '/redfish/v1/Systems', { Name: 'new one' });
    await send('DELETE', '/redfish/v1/Systems/a');
    await send('POST', '/redfish/v1/Systems/new/Actions/ComputerSystem.Reset', { ResetType: 'On' });
    await send('PATCH', '/redfish/v1/Systems/new', { AssetTag: 'taken' });
    await send('DELETE', '/redfish/v1/Systems/new', undefined, { 'If-Match': '"stale"' });
    expect(patched.status).toBe(200);
    expect(changes.map(({ kind, uri, requester, detail }) => [kind, uri, requester.user, detail])).toEqual([
      ['changed', '/redfish/v1/Systems/a', 'admin', 'AssetTag'],
      ['created', '/redfish/v1/Systems/new', 'admin', undefined],
      ['removed', '/redfish/v1/Systems/a', 'admin', undefined],
      ['changed', '/redfish/v1/Systems/new', 'admin', 'ComputerSystem.Reset'],
    ]);
  });

  it('adds the messages of a creation to the created resource', async () => {
    const { status, json } = await send('POST', '/redfish/v1/Systems', { Name: 'loud' });
    expect([status, (json as { Name: string }).Name, extended(json)]).toEqual([201, 'loud', ['Success']]);
  });

  it('answers a creation with 201, Location and the resource', async () => {
    const { status, headers, json } = await send('POST', '/redfish/v1/Systems', { Name: 'new one' });
    expect([status, headers.location, headers['x-auth-token'], (json as { Name: string }).Name]).toEqual([
      201,
      '/redfish/v1/Systems/new',
      'abc',
      'new one',
    ]);
  });

  it('deletes with 204', async () => {
    expect([(await send('DELETE', '/redfish/v1/Systems/a')).status, services.machines.size]).toEqual([204, 0]);
  });
});

describe('the pipeline, for logins and failed requests,', () => {
  it('answers 401 without credentials, before 404 and 405', async () => {
    for (const [method, path] of [
      ['GET', '/redfish/v1/Systems/a'],
      ['GET', '/redfish/v1/nothing'],
      ['DELETE', '/redfish/v1/Systems'],
      ['POST', '/redfish/v1'],
      ['OPTIONS', '/redfish/v1'],
    ] as const) {
      const { status, headers, json } = await client.send(method, path);
      expect([status, headers['www-authenticate'], ids(json)]).toEqual([
        401,
        'Basic realm="Rackless", charset="UTF-8"',
        ['AccessUnauthorized'],
      ]);
    }
    expect(outcomes[0]).toEqual({
      route: '/redfish/v1/Systems/{systemId}',
      status: 401,
      user: null,
      refused: 'no credentials',
    });
  });

  it.each([
    '/redfish',
    '/redfish/',
    '/redfish/v1',
    '/redfish/v1/',
    '/redfish/v1/odata',
    '/redfish/v1/$metadata',
    '/redfish/v1/openapi.yaml',
  ])('accepts GET and HEAD of %s from every client', async (path) => {
    expect([(await client.get(path)).status, (await client.send('HEAD', path)).status]).toEqual([200, 200]);
  });

  it('answers credentials that were not verified with 503 and Retry-After, never with a challenge', async () => {
    const { status, headers, json } = await client.get('/redfish/v1/Systems', { Authorization: 'Basic slow' });
    expect([status, headers['retry-after'], headers['www-authenticate']]).toEqual([503, '2', undefined]);
    expect(JSON.stringify(json)).toContain('The user name and the password were not verified');
    // The log shows a failed login, not an error of the service.
    expect(outcomes).toEqual([
      { route: '/redfish/v1/Systems', status: 503, user: null, refused: 'not verified, user eve' },
    ]);
  });

  it('answers with the error that the authentication throws', async () => {
    expect((await client.get('/redfish/v1/Systems', { Authorization: 'Basic odd' })).status).toBe(503);
  });

  it('checks for OData-Version 4.0 before it looks for the resource', async () => {
    const { status, json } = await client.get('/redfish/v1/nothing', { 'OData-Version': '4.1' });
    expect([status, ids(json)]).toEqual([412, ['HeaderInvalid']]);
    expect((await get('/redfish/v1', { 'OData-Version': '4.0' })).status).toBe(200);
  });

  it.each(['/redfish/v1/nothing', '/redfish/v1/Systems/a/x', '/redfish/v2', '/redfish/v1/Systems/%zz'])(
    'answers 404 at %s',
    async (path) => {
      const { status, json } = await get(path);
      expect([status, ids(json)]).toEqual([404, ['ResourceMissingAtURI']]);
    },
  );

  it('answers 404 to a GET, PATCH or DELETE with an unknown id', async () => {
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const { status, json } = await send(
        method,
        '/redfish/v1/Systems/nobody',
        method === 'GET' ? undefined : { AssetTag: 'x' },
      );
      expect([status, ids(json)]).toEqual([404, ['ResourceNotFound']]);
    }
  });

  it.each([
    ['POST', '/redfish/v1/Systems/a/', 'GET, HEAD, PATCH, DELETE'],
    ['PATCH', '/redfish/v1', 'GET, HEAD'],
    ['DELETE', '/redfish/v1/$metadata', 'GET, HEAD'],
    ['GET', '/redfish/v1/Systems/a/Actions/ComputerSystem.Reset', 'POST'],
    ['PROPFIND', '/redfish/v1/Systems', 'GET, HEAD, POST'],
  ])('answers %s %s with 405 and Allow', async (method, path, allow) => {
    const { status, headers, json } = await send(method, path);
    expect([status, headers.allow, ids(json)]).toEqual([405, allow, ['OperationNotAllowed']]);
  });

  it('answers 501 to an unsupported query parameter of the protocol', async () => {
    const { status, json } = await get('/redfish/v1/Systems?$fake=1&x=2&$other');
    expect([status, ids(json)]).toEqual([501, ['QueryParameterUnsupported', 'QueryParameterUnsupported']]);
    expect(outcomes).toEqual([{ route: '/redfish/v1/Systems', status: 501, user: 'admin' }]);
  });

  it('answers 503 with Retry-After while the host is down', async () => {
    services.fault = new DriverError('unavailable', 'reading a on qemu:///system: connection refused');
    const { status, headers, json } = await get('/redfish/v1/Systems/a');
    expect([status, headers['retry-after'], ids(json)]).toEqual([503, '5', ['ServiceTemporarilyUnavailable']]);
  });

  it('answers 500 to an unexpected error, and shows its cause in the log only', async () => {
    services.fault = new Error('virDomainGetXMLDesc: secret path');
    const { status, json, text } = await get('/redfish/v1/Systems/a');
    expect([status, ids(json), text.includes('secret')]).toEqual([500, ['InternalError'], false]);
    expect(outcomes[0]).toEqual({
      route: '/redfish/v1/Systems/{systemId}',
      status: 500,
      user: 'admin',
      error: services.fault,
    });
  });
});

describe('connections', () => {
  it('abort the signal of a running action when the client disconnects', async () => {
    services.machines.set('a', { ...a, tag: 'patient' });
    const socket = connect(client.port, '127.0.0.1');
    socket.write(
      'POST /redfish/v1/Systems/a/Actions/ComputerSystem.Wait HTTP/1.1\r\nHost: x\r\n' +
        'Authorization: Basic ok\r\nContent-Length: 0\r\n\r\n',
    );
    await until(() => services.done.includes('waiting'));
    socket.destroy();
    await until(() => services.done.includes('gone: 127.0.0.1'));
  });

  it('do not delay the login of a read that follows 300 writes until all writes have logged in', async () => {
    const writes = Array.from({ length: 300 }, () => {
      const socket = connect(client.port, '127.0.0.1');
      socket.write(
        'POST /redfish/v1/Systems/a HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ok\r\nContent-Length: 0\r\n\r\n',
      );
      return { socket, answer: once(socket, 'data') };
    });
    expect((await get('/redfish/v1/Systems/a')).status).toBe(200);
    expect(logins.indexOf('GET')).toBeLessThan(200);
    for (const { socket, answer } of writes) {
      expect(String(await answer)).toMatch(/^HTTP\/1\.1 405 /);
      socket.destroy();
    }
    expect(logins).toHaveLength(301);
  });

  it('stay open after a body that was too large, whose rest is dropped', async () => {
    const chunk = `${(65_536).toString(16)}\r\n${'x'.repeat(65_536)}\r\n`;
    const head = 'Host: x\r\nAuthorization: Basic ok\r\n';
    const answers = await client.raw(
      `PATCH /redfish/v1/Systems/a HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(20)}0\r\n\r\n` +
        `GET /redfish HTTP/1.1\r\n${head}Connection: close\r\n\r\n`,
    );
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200']);
  });
});

describe('a request that the HTTP parser rejects', () => {
  const head = (answer: string) => answer.split('\r\n')[0];
  const body = (answer: string) => ids(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)));

  it.each([
    [
      'an unknown method',
      'FAKEMETHODFORTEST /redfish/v1 HTTP/1.1\r\nHost: x\r\n\r\n',
      '501 Not Implemented',
      'OperationNotAllowed',
    ],
    [
      'too large headers',
      `GET /redfish/v1 HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`,
      '431 Request Header Fields Too Large',
      'PayloadTooLarge',
    ],
    ['nonsense', 'what is this\r\n\r\n', '501 Not Implemented', 'OperationNotAllowed'],
    [
      'a bad header',
      'GET /redfish/v1 HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n',
      '400 Bad Request',
      'UnrecognizedRequestBody',
    ],
  ])('gets a Redfish error, and the connection closes: %s', async (_what, bytes, status, key) => {
    const answer = await client.raw(bytes);
    expect([head(answer), body(answer)]).toEqual([`HTTP/1.1 ${status}`, [key]]);
    expect(answer).toContain('\r\nConnection: close\r\n');
  });

  it('gets an error about too large headers, not about a large body', async () => {
    const answer = await client.raw(`GET /redfish/v1 HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`);
    expect(answer).toContain('The URI and the headers are too large, not the body.');
  });
});
