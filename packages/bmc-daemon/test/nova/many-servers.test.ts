/** 5,000 servers before Redfish clients. Nova is a small server of the test: the lab has no room for so many. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createTestLog } from '../../../daemon/test/support/log.js';
import { createNovaDriver } from '../../src/drivers/nova/nova-driver.js';
import { settingsFor, startCloudServer, type CloudServer } from '../support/cloud-server.js';
import { idOf, listServers } from '../support/listed-servers.js';
import { serveResources, type Body, type Served } from '../support/served-resources.js';

const COUNT = 5000;
let cloud: CloudServer;
let served: Served;

beforeEach(async () => {
  cloud = await startCloudServer();
  const servers = listServers(cloud);
  for (let index = 0; index < COUNT; index += 1) servers.put(index, {}, 0);
  const log = createTestLog({ level: 'error', format: 'json', write: () => undefined });
  const driver = createNovaDriver({ cloud: settingsFor(cloud.url), filter: {}, timeoutMs: 120_000, log });
  await driver.start();
  served = await serveResources(driver);
});
afterEach(async () => {
  await served.close();
  await cloud.close();
});

it('lists 5,000 servers, and expands them without a request for each', async () => {
  expect((await served.get('/redfish/v1/Systems'))['Members']).toHaveLength(COUNT);
  const { Members: members } = await served.get('/redfish/v1/Systems?$expand=.');
  expect((members as Body[]).map((member) => member['Name']).slice(0, 2)).toEqual(['server-0', 'server-1']);
  expect((members as Body[]).filter((member) => member['PowerState'] === 'On')).toHaveLength(COUNT);
  const listings = cloud.requests.filter((line) => line.includes('/servers'));
  expect(listings.filter((line) => !line.includes('/servers/detail'))).toEqual([]);
  // The first listing has five pages. Each later one asks for changes only.
  expect(listings.filter((line) => !line.includes('changes-since'))).toHaveLength(5);
  expect((await served.get(`/redfish/v1/Systems/${idOf(4999)}`))['Name']).toBe('server-4999');
});
