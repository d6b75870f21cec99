/** Compares docs/internals/lifecycle.md with the service. The tests cause the answer of each row. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { DriverError, type DriverErrorKind } from '../../src/drivers/driver-error.js';
import { fullAccess } from '../../src/redfish/authenticate.js';
import { redfishError } from '../../src/redfish/messages/errors.js';
import { answerClientError } from '../../src/redfish/messages/raw-errors.js';
import { createPipeline } from '../../src/redfish/pipeline.js';
import { resourceDefiner } from '../../src/redfish/resource.js';
import { streamDefiner } from '../../src/redfish/stream.js';
import { accessFixture, accounts, headersOf, statusAndKeys, root, sessions, USERS } from '../support/access.js';
import { serve, type Client, type Received, type Sent } from '../support/client.js';

const page = readFileSync(join(import.meta.dirname, '../../../../docs/internals/lifecycle.md'), 'utf8');
const rows = [...page.matchAll(/^\| (\w+) \| `([\w ]+)` \| /gm)].map(([, stage, answer]) => `${stage}: ${answer}`);

const fixture = accessFixture();

const defineResource = resourceDefiner<object>();
/** A machine that cannot be read if its id is `unavailable`, and whose reset fails with the kind in the body. */
const failing = defineResource({
  entity: 'ComputerSystem',
  odataType: '#ComputerSystem.v1_27_0.ComputerSystem',
  uri: '/redfish/v1/Systems/{systemId}',
  load: ({ params }) => {
    if (params.systemId === 'unavailable') throw new DriverError('unavailable', 'asking the host: no answer');
    return { Id: params.systemId };
  },
  render: (entity) => ({ ...entity }),
  actions: {
    '#ComputerSystem.Reset': {
      body: z.strictObject({ kind: z.string() }),
      run: (_machine, { kind }) => {
        if (kind === 'task') return { task: { monitor: '/redfish/v1/Systems/1', task: '/redfish/v1/Systems/1' } };
        throw new DriverError(kind as DriverErrorKind, 'resetting the machine: it refuses'); // The tests pass only kinds of errors.
      },
    },
  },
});

/** A stream that no test reads. */
const stream = streamDefiner<object>()({
  entity: 'EventService',
  uri: '/redfish/v1/EventService/SSE',
  contentType: 'text/event-stream',
  open: () => () => undefined,
});

let failures: Client;
let busy: Client;

beforeAll(async () => {
  const options = { resources: [failing], streams: [stream], services: {}, strict: true };
  const pipeline = createPipeline({ ...options, authenticate: () => fullAccess });
  failures = await serve(
    (request, response) => void pipeline(request, response, '1'),
    (server) => server.on('clientError', answerClientError),
  );
  const overloaded = createPipeline({
    ...options,
    authenticate: () => {
      throw redfishError('ServiceTemporarilyUnavailable', '1');
    },
  });
  busy = await serve((request, response) => void overloaded(request, response, '1'));
});
afterAll(async () => {
  await failures.close();
  await busy.close();
});

const call = (method: string, path: string, { headers, ...sent }: Sent = {}) =>
  fixture.client.send(method, path, { ...sent, headers: { ...headersOf('admin'), ...headers } });
const get = (path: string, headers: Readonly<Record<string, string>> = {}) => call('GET', path, { headers });
const patch = (body: string | object, headers: Readonly<Record<string, string>> = {}) =>
  call('PATCH', fixture.machine, { body, headers });
const reset = (kind: string) =>
  failures.send('POST', '/redfish/v1/Systems/1/Actions/ComputerSystem.Reset', { body: { kind } });
const json = { 'Content-Type': 'application/json' };

/** Sends bytes on a new connection. Returns the answer without its headers. */
async function raw(bytes: string): Promise<Received> {
  const [head = '', text = ''] = (await failures.raw(bytes)).split('\r\n\r\n');
  const status = Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]);
  return { status, headers: {}, text, json: JSON.parse(text) as unknown };
}

/** A request that gets the answer of each row, in the order of the page. */
const provoked: readonly (readonly [row: string, provoke: () => Promise<Received>])[] = [
  ['HTTP: 400 UnrecognizedRequestBody', () => raw('GET / HTTP/1.1\r\nno header\r\n\r\n')],
  ['HTTP: 431 PayloadTooLarge', () => raw(`GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`)],
  ['HTTP: 501 OperationNotAllowed', () => raw('FAKEMETHOD / HTTP/1.1\r\nHost: x\r\n\r\n')],
  ['version: 412 HeaderInvalid', () => get(root, { 'OData-Version': '4.1' })],
  ['origin: 403 HeaderInvalid', () => patch({ AssetTag: 'x' }, { Origin: 'http://other.example' })],
  ['credentials: 401 AccessUnauthorized', () => fixture.client.get(sessions)],
  ['credentials: 503 ServiceTemporarilyUnavailable', () => busy.get('/redfish/v1/Systems/1')],
  ['match: 404 ResourceMissingAtURI', () => get(`${root}/Nowhere`)],
  ['match: 405 OperationNotAllowed', () => call('DELETE', fixture.machine)],
  ['match: 204', () => call('OPTIONS', fixture.machine)],
  [
    'privilege: 403 InsufficientPrivilege',
    () => fixture.client.send('PATCH', fixture.machine, { headers: headersOf('rick'), body: { AssetTag: 'x' } }),
  ],
  [
    'privilege: 403 PasswordChangeRequired',
    async () => {
      await call('PATCH', `${accounts}/rick`, { body: { PasswordChangeRequired: true } });
      return fixture.client.get(fixture.machine, headersOf('rick'));
    },
  ],
  ['query: 501 QueryParameterUnsupported', () => get(`${root}/Systems?$unheard=1`)],
  ['query: 400 QueryNotSupportedOnOperation', () => call('DELETE', `${accounts}/rick?$select=Id`)],
  ['query: 400 QueryNotSupportedOnResource', () => get(`${fixture.machine}?$top=1`)],
  ['query: 400 QueryParameterValueFormatError', () => get(`${fixture.machine}?$expand=everything`)],
  ['query: 400 QueryParameterOutOfRange', () => get(`${root}/Systems?$top=-1`)],
  ['load: 404 ResourceMissingAtURI', () => get(`${root}/Systems/nobody`)],
  ['load: 404 ResourceNotFound', () => get(`${fixture.machine}/Processors/nothing`)],
  ['load: 503 ServiceTemporarilyUnavailable', () => failures.get('/redfish/v1/Systems/unavailable')],
  [
    'precondition: 304',
    async () => {
      const { headers } = await get(fixture.machine);
      return get(fixture.machine, { 'If-None-Match': String(headers.etag) });
    },
  ],
  ['precondition: 412 PreconditionFailed', () => patch({ AssetTag: 'x' }, { 'If-Match': '"another"' })],
  ['body: 413 PayloadTooLarge', () => patch(`{"AssetTag":"${'x'.repeat(1024 * 1024)}"}`, json)],
  ['body: 400 StringValueTooLong', () => patch(`{"AssetTag":"${'x'.repeat(2 ** 17 + 1)}"}`, json)],
  ['body: 415 HeaderInvalid', () => patch('AssetTag=x', { 'Content-Type': 'application/x-www-form-urlencoded' })],
  ['body: 400 MalformedJSON', () => patch('{', json)],
  ['body: 400 UnrecognizedRequestBody', () => patch('[]', json)],
  ['body: 400 NoOperation', () => patch({})],
  ['body: 400 PropertyUnknown', () => patch({ Foo: 1 })],
  ['body: 400 PropertyNotWritable', () => patch({ PowerState: 'On' })],
  ['body: 400 PropertyValueNotInList', () => patch({ Boot: { BootSourceOverrideEnabled: 'Twice' } })],
  [
    'body: 400 ActionParameterMissing',
    () => call('POST', `${fixture.machine}/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia`, { body: {} }),
  ],
  ['operation: 200', () => patch({ AssetTag: 'x' })],
  ['operation: 201', () => fixture.logIn('admin', USERS.admin)],
  ['operation: 202', () => reset('task')],
  [
    'operation: 204',
    () => call('POST', `${fixture.machine}/Actions/ComputerSystem.Reset`, { body: { ResetType: 'ForceOff' } }),
  ],
  ['operation: 409 ResourceInUse', () => reset('conflict')],
  ['operation: 400 ActionNotSupported', () => reset('unsupported')],
  ['operation: 502 CouldNotEstablishConnection', () => reset('mediaUnreachable')],
  ['operation: 400 CreateLimitReachedForResource', () => reset('noPlace')],
  ['operation: 406 HeaderInvalid', () => failures.get(stream.uri, { Accept: 'application/json' })],
  ['operation: 507 InsufficientStorage', () => reset('storageFull')],
  ['operation: 500 OperationFailed', () => reset('failed')],
  ['operation: 500 InternalError', () => reset('internal')],
];

describe('docs/internals/lifecycle.md', () => {
  it('lists the answers that the tests below provoke, in the order of these tests', () => {
    expect(rows).toEqual(provoked.map(([row]) => row));
  });

  it.each(provoked)('has the right answer in the row %s', async (row, provoke) => {
    expect(statusAndKeys(await provoke())).toBe(row.slice(row.indexOf(': ') + 2));
  });

  it('has the stages in the order in which a request with several faults reports them', async () => {
    const answers: string[] = [];
    let path = `${fixture.machine.replace(/[^/]+$/, 'nobody')}/Nowhere?$unheard=1`;
    let headers: Record<string, string> = { 'OData-Version': '4.1', 'If-Match': '"another"', ...json };
    const ask = async (body: string) =>
      void answers.push(statusAndKeys(await fixture.client.send('PATCH', path, { headers, body })));

    await ask('{');
    headers = { 'If-Match': '"another"', ...json };
    await ask('{');
    headers = { ...headers, ...headersOf('rick') };
    await ask('{');
    path = path.replace('/Nowhere', '');
    await ask('{');
    headers = { ...headers, ...headersOf('admin') };
    await ask('{');
    path = path.replace('?$unheard=1', '');
    await ask('{');
    path = fixture.machine;
    await ask('{');
    headers = { ...headersOf('admin'), ...json };
    await ask('{');
    await ask('{"AssetTag":"x"}');
    expect(answers).toEqual([
      '412 HeaderInvalid',
      '401 AccessUnauthorized',
      '404 ResourceMissingAtURI',
      '403 InsufficientPrivilege',
      '501 QueryParameterUnsupported',
      '404 ResourceMissingAtURI',
      '412 PreconditionFailed',
      '400 MalformedJSON',
      '200',
    ]);
  });
});
