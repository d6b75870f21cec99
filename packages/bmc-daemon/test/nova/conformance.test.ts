/** What the daemon serves of servers follows DMTF's schemas, and has no dead link. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestLog } from '../../../daemon/test/support/log.js';
import { createApp, type App } from '../../src/app.js';
import type { HypervisorDriver } from '../../src/drivers/driver.js';
import { createNovaDriver } from '../../src/drivers/nova/nova-driver.js';
import { resourcesOf } from '../../src/features.js';
import { withoutLogin } from '../../src/redfish/authenticate.js';
import { crawl, faultsOf, type Crawled } from '../contract/crawler.js';
import { dmtfRules } from '../contract/dmtf-rules.js';
import { dmtfSchemas } from '../spec/dmtf-schemas.js';
import { serve, type Client } from '../support/client.js';
import { settingsFor, startCloudServer, type CloudServer } from '../support/cloud-server.js';
import { idOf, listServers } from '../support/listed-servers.js';
import { testServices } from '../support/services.js';

const folder = process.env['RACKLESS_REDFISH_SCHEMAS'];
/** With RACKLESS_REQUIRE_ALL a missing path is a failure, not a skip. */
const judged = folder !== undefined || process.env['RACKLESS_REQUIRE_ALL'] === '1';

describe('the service before a cloud', () => {
  let cloud: CloudServer;
  let driver: HypervisorDriver;
  let app: App;
  let client: Client;
  let found: ReadonlyMap<string, Crawled>;

  beforeAll(async () => {
    cloud = await startCloudServer();
    const servers = listServers(cloud);
    servers.put(1, { description: 'a web server' });
    servers.put(2, { 'OS-EXT-STS:vm_state': 'error', 'OS-EXT-STS:power_state': 0 });
    servers.put(3, {
      'OS-EXT-STS:vm_state': 'stopped',
      'OS-EXT-STS:power_state': 4,
      'OS-EXT-STS:task_state': 'powering-on',
    });
    const log = createTestLog({ level: 'error', format: 'json', write: () => undefined });
    driver = createNovaDriver({ cloud: settingsFor(cloud.url), filter: {}, timeoutMs: 120_000, log });
    await driver.start();
    app = createApp({
      resources: resourcesOf(driver),
      services: testServices(driver, { consoleSsh: null }),
      authenticate: withoutLogin,
      strict: true,
      log,
      driver,
      version: '1.0.0',
    });
    client = await serve(app.handler);
    found = await crawl(client.port, {});
  });
  afterAll(async () => {
    await client.close();
    app.close();
    await driver.close();
    await cloud.close();
  });

  it('has no dead link', () => {
    expect([...found.values()].flatMap((crawled) => faultsOf(crawled, found))).toEqual([]);
    expect(found.has(`/redfish/v1/Systems/${idOf(1)}/Processors/CPU0`)).toBe(true);
  });

  (judged ? it : it.skip)("follows DMTF's schemas and rules", () => {
    const [schemas, rules] = [dmtfSchemas(folder ?? ''), dmtfRules(folder ?? '')];
    const faults = [...found.values()]
      .filter(({ path }) => !path.endsWith('.json'))
      .flatMap(({ path, headers, body }) => [
        ...schemas.faults(body).map((fault) => `${path}: ${fault}`),
        ...rules.faults(body, (headers['allow'] ?? '').split(', ')),
      ]);
    expect(faults).toEqual([]);
  });

  it('shows the state of each server, and offers nothing that Nova does not have', () => {
    const bodyOf = (index: number) => found.get(`/redfish/v1/Systems/${idOf(index)}`)?.body ?? {};
    expect([1, 2, 3].map((index) => bodyOf(index)['PowerState'])).toEqual(['On', 'Off', 'PoweringOn']);
    expect(bodyOf(2)['Status']).toMatchObject({ Health: 'Critical' });
    const names = Object.keys(bodyOf(1));
    expect(names).toEqual(expect.arrayContaining(['ProcessorSummary', 'MemorySummary', 'EthernetInterfaces']));
    expect(names.filter((name) => /Boot|Bios$|Storage|VirtualMedia|SecureBoot|Indicator|AssetTag/.test(name))).toEqual(
      [],
    );
  });
});
