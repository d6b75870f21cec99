import { afterEach, describe, expect, it } from '@jest/globals';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { testServices } from '../../test/support/services.js';
import { FakeDriver } from '../drivers/fake/fake-driver.js';
import { withoutLogin } from '../redfish/authenticate.js';
import { createPipeline } from '../redfish/pipeline.js';
import { selectFeatures, type FeatureSet } from './feature-set.js';
import { resources } from '../features.js';

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function serve(featureSet: FeatureSet): Promise<(path: string) => Promise<{ status: number; body: object }>> {
  const pipeline = createPipeline({
    resources: selectFeatures(resources, featureSet),
    services: testServices(new FakeDriver()),
    authenticate: withoutLogin,
    strict: false,
  });
  const listening = createServer((request, response) => void pipeline(request, response, '1'));
  server = listening;
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  const { port } = listening.address() as AddressInfo; // The address of a TCP server is an object.
  return async (path) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: response.status, body: (await response.json()) as object };
  };
}

/** Follows all links from the service root. Returns the status of each path. */
async function crawl(get: Awaited<ReturnType<typeof serve>>): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  const waiting = ['/redfish/v1'];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (found.has(path)) continue;
    const { status, body } = await get(path);
    found.set(path, status);
    for (const [, link = ''] of JSON.stringify(body).matchAll(/"@odata\.id":"([^"#]+)/g)) waiting.push(link);
  }
  return found;
}

/** Returns the paths, each once, with `{id}` in place of ids. */
const kinds = (paths: Iterable<string>) =>
  [
    ...new Set(
      [...paths].map((path) =>
        path
          .replace(/\/(Systems|Managers)\/[^/]+/, '/$1/{id}')
          .replace(/(Interfaces|VirtualMedia|Roles)\/.+/, '$1/{id}'),
      ),
    ),
  ].sort();

const minimum = [
  '/redfish/v1',
  '/redfish/v1/AccountService',
  '/redfish/v1/AccountService/Accounts',
  '/redfish/v1/AccountService/Roles',
  '/redfish/v1/AccountService/Roles/{id}',
  '/redfish/v1/SessionService',
  '/redfish/v1/SessionService/Sessions',
  '/redfish/v1/Systems',
  '/redfish/v1/Systems/{id}',
  '/redfish/v1/TaskService',
  '/redfish/v1/TaskService/Tasks',
];

const vmedia = [
  ...minimum,
  '/redfish/v1/Managers',
  '/redfish/v1/Managers/{id}',
  '/redfish/v1/Managers/{id}/EthernetInterfaces',
  '/redfish/v1/Managers/{id}/EthernetInterfaces/{id}',
  '/redfish/v1/Managers/{id}/VirtualMedia',
  '/redfish/v1/Managers/{id}/VirtualMedia/{id}',
  '/redfish/v1/Systems/{id}/EthernetInterfaces',
  '/redfish/v1/Systems/{id}/EthernetInterfaces/{id}',
  '/redfish/v1/Systems/{id}/VirtualMedia',
  '/redfish/v1/Systems/{id}/VirtualMedia/{id}',
].sort();

describe('feature sets', () => {
  it.each([
    ['minimum', minimum],
    ['vmedia', vmedia],
  ] as const)('serve their resources without a dead link: %s', async (featureSet, expected) => {
    const get = await serve(featureSet);
    const found = await crawl(get);
    expect([...new Set(found.values())]).toEqual([200]);
    expect(kinds(found.keys())).toEqual(expected);
    expect((await get('/redfish/v1/Chassis')).status).toBe(404);
    expect(JSON.stringify((await get('/redfish/v1/Systems')).body)).toContain('"Members@odata.count"');
  });

  it('serve all resources unchanged: full', () => {
    expect(selectFeatures(resources, 'full')).toBe(resources);
  });
});
