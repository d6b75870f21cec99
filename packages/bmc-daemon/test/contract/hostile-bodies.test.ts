/**
 * Sends nearly correct bodies with random faults to each PATCH, POST and action, except that of console logs. No body
 * causes an internal error.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import { sampleMachines } from '../../src/drivers/fake/sample-machines.js';
import { publishWrites } from '../../src/events/publishers/published-writes.js';
import { withoutLogin } from '../../src/redfish/authenticate.js';
import { createPipeline } from '../../src/redfish/pipeline.js';
import type { Resource } from '../../src/redfish/resource.js';
import { createRouter } from '../../src/redfish/router.js';
import { resources, type AllServices } from '../../src/features.js';
import { certificatePem } from '../fixtures/certificate.js';
import { serve, type Client } from '../support/client.js';
import { seededRandom } from '../../../daemon/test/support/random.js';
import { accessWithAccount, testServices } from '../support/services.js';
import { crawl } from './crawler.js';
import { nearlyObject } from './hostile-values.js';

/** The seed. With the seed of a failed run in RACKLESS_SEED, the test repeats that run. */
const SEED = Number(process.env['RACKLESS_SEED'] ?? 20_261_122);
const BODIES_OF_EACH = Number(process.env['RACKLESS_BODIES'] ?? 25);

const root = '/redfish/v1';
const requester = {
  user: null,
  session: null,
  privileges: new Set<never>(),
  address: '',
  requestId: '',
  signal: new AbortController().signal,
};

interface Target {
  readonly method: string;
  readonly path: string;
  /** The resource that the write changes. */
  readonly resource: string;
  readonly schema: () => Promise<z.ZodType>;
}

const folder = mkdtempSync(join(tmpdir(), 'rackless-hostile-'));
const driver = new FakeDriver({ machines: sampleMachines(2) });
let services: AllServices;
let client: Client;
/** Internal errors during the requests. */
const failures: unknown[] = [];
let targets: readonly Target[];

const router = createRouter(resources.map((target) => ({ template: target.uri, target })));

function targetsOf(path: string, resource: Resource<AllServices>, params: Readonly<Record<string, string>>): Target[] {
  const load = async (): Promise<object> => resource.load({ params, services, requester });
  const { patch, post, actions = {} } = resource;
  return [
    ...(patch === undefined
      ? []
      : [
          {
            method: 'PATCH',
            path,
            resource: path,
            schema: async () => (typeof patch.body === 'function' ? patch.body(await load(), services) : patch.body),
          },
        ]),
    ...(post === undefined ? [] : [{ method: 'POST', path, resource: path, schema: () => Promise.resolve(post.body) }]),
    ...Object.entries(actions).map(([name, { body }]) => ({
      method: 'POST',
      path: `${path}/Actions/${name.slice(1)}`,
      resource: path,
      schema: () => Promise.resolve(body),
    })),
  ];
}

/** Creates a member in several collections, so that the crawl finds it. */
async function createMembers(): Promise<void> {
  const create = async (path: string, body: object): Promise<void> => {
    const { status, text } = await client.send('POST', `${root}${path}`, { body });
    if (status !== 201) throw new Error(`creating a member of ${path}: ${status} ${text}`);
  };
  const [system = ''] = sampleMachines(1).map(({ uuid }) => uuid);
  const certificate = { CertificateString: certificatePem, CertificateType: 'PEM' };
  await create(`/Systems/${system}/VirtualMedia/Cd/Certificates`, certificate);
  await create('/AccountService/Accounts', { UserName: 'rick', Password: 'morty-4-ever', RoleId: 'ReadOnly' });
  await create('/AccountService/Roles', { RoleId: 'Guest', AssignedPrivileges: ['Login'] });
  await create('/SessionService/Sessions', { UserName: 'admin', Password: 'secret' });
  await create('/EventService/Subscriptions', { Destination: 'http://127.0.0.1:9/', Protocol: 'Redfish' });
}

beforeAll(async () => {
  services = testServices(driver, { access: accessWithAccount(join(folder, 'users')) });
  const onChange = publishWrites(services.events);
  const pipeline = createPipeline({ resources, services, authenticate: withoutLogin, strict: true, onChange });
  client = await serve((request, response) => {
    void pipeline(request, response, '1').then(({ status, error }) => {
      if (status === 500) failures.push(error);
    });
  });
  await createMembers();
  const found = await crawl(client.port, {});
  targets = [...found.keys()].flatMap((path) => {
    const match = router.match(path);
    return match === undefined ? [] : targetsOf(path, match.target, match.params);
  });
});

afterAll(async () => {
  await client.close();
  await driver.close();
  rmSync(folder, { recursive: true });
});

describe('a body', () => {
  it('is tried for every PATCH, POST and action, except the action of console logs', () => {
    // Console logs need a recording; their only write has no parameters.
    const listed = resources.filter(({ uri }) => !uri.includes('/ConsoleLog'));
    const served = listed.flatMap(({ uri, patch, post, actions = {} }) => [
      ...(patch === undefined ? [] : [`PATCH ${uri}`]),
      ...(post === undefined ? [] : [`POST ${uri}`]),
      ...Object.keys(actions).map((name) => `POST ${uri}/Actions/${name.slice(1)}`),
    ]);
    const tried = targets.map(({ method, path, resource }) => {
      const uri = router.match(resource)?.target.uri ?? '';
      return `${method} ${uri}${path.slice(resource.length)}`;
    });
    expect(served.filter((target) => !tried.includes(target))).toEqual([]);
  });

  const imitation = { length: { toString: 1 } };
  it.each([
    ['AssetTag', 'PATCH', 'ComputerSystem', 'PropertyValueTypeError'],
    ['UserName', 'POST', 'ManagerAccountCollection', 'PropertyValueTypeError'],
    ['Destination', 'POST', 'EventDestinationCollection', 'PropertyValueTypeError'],
    ['CertificateString', 'POST', 'CertificateCollection', 'PropertyValueTypeError'],
  ])('with a %s that imitates a string gets 400 and the name of the property', async (name, method, entity, key) => {
    const ofEntity = targets.filter(({ resource }) => router.match(resource)?.target.entity === entity);
    const target = ofEntity.find((candidate) => candidate.method === method);
    const { status, json } = await client.send(method, target?.path ?? '', { body: { [name]: imitation } });
    const extended = (json as { error: { '@Message.ExtendedInfo': readonly Record<string, unknown>[] } }).error[
      '@Message.ExtendedInfo'
    ];
    const ofProperty = extended.filter(({ RelatedProperties }) => String(RelatedProperties) === `#/${name}`);
    expect([status, ofProperty.map(({ MessageId }) => MessageId)]).toEqual([400, [`Base.1.22.${key}`]]);
  });

  it('never causes a 500', async () => {
    const random = seededRandom(SEED);
    const failed: string[] = [];
    const statuses = new Map<number, number>();
    for (const { method, path, resource, schema } of targets) {
      for (let round = 0; round < BODIES_OF_EACH; round += 1) {
        const wanted = await schema();
        if (!(wanted instanceof z.ZodObject)) throw new Error(`the body of ${path} is no object`);
        const body = nearlyObject(wanted, random);
        const answer = await client.send(method, path, { body, headers: { 'Content-Type': 'application/json' } });
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        // An accepted write must not store a value that cannot be shown.
        const shown = answer.status < 300 ? await client.get(resource) : answer;
        if (answer.status === 500 || shown.status === 500) failed.push(`${method} ${path} ${body.slice(0, 500)}`);
      }
    }
    expect({ SEED, failed, failures: failures.map(String) }).toEqual({ SEED, failed: [], failures: [] });
    // Some bodies are correct by chance, so that the code after the schemas runs too.
    expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 400]));
  });
});
