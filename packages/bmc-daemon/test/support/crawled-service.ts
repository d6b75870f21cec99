/**
 * A service in strict mode on a driver of the test, and everything that clients can read from it.
 */
import { expect, it } from '@jest/globals';
import { createTestLog } from '../../../daemon/test/support/log.js';
import { createApp } from '../../src/app.js';
import { fetchedConsoleLogs } from '../../src/console/log/fetched-console-logs.js';
import type { HypervisorDriver } from '../../src/drivers/driver.js';
import { resourcesOf } from '../../src/features.js';
import { withoutLogin } from '../../src/redfish/authenticate.js';
import { crawl, type Crawled } from '../contract/crawler.js';
import { dmtfRules } from '../contract/dmtf-rules.js';
import { dmtfSchemas } from '../spec/dmtf-schemas.js';
import { serve, type Client } from './client.js';
import { testServices } from './services.js';

const folder = process.env['RACKLESS_REDFISH_SCHEMAS'];
/** Whether DMTF's files are used. With RACKLESS_REQUIRE_ALL a missing path is a failure, not a skip. */
const isChecked = folder !== undefined || process.env['RACKLESS_REQUIRE_ALL'] === '1';

interface CrawledService {
  readonly client: Client;
  readonly found: ReadonlyMap<string, Crawled>;
  /** Ends the service and its driver. */
  close(): Promise<void>;
}

/** Starts a service on a started driver, and crawls it. */
export async function crawlService(driver: HypervisorDriver): Promise<CrawledService> {
  const app = createApp({
    resources: resourcesOf(driver),
    services: testServices(driver, {
      consoleSsh: null,
      consoleLogs: driver.logs === undefined ? null : fetchedConsoleLogs(driver.logs),
    }),
    authenticate: withoutLogin,
    strict: true,
    log: createTestLog({ level: 'error', format: 'json', write: () => undefined }),
    driver,
    version: '1.0.0',
  });
  const client = await serve(app.handler);
  return {
    client,
    found: await crawl(client.port, {}),
    close: async () => {
      await client.close();
      app.close();
      await driver.close();
    },
  };
}

/** Declares a test that checks all resources. Without DMTF's files it is skipped. */
export function itFollowsDmtf(found: () => CrawledService['found']): void {
  (isChecked ? it : it.skip)("follows DMTF's schemas and rules", () => {
    const [schemas, rules] = [dmtfSchemas(folder ?? ''), dmtfRules(folder ?? '')];
    const faults = [...found().values()]
      .filter(({ path }) => !path.endsWith('.json'))
      .flatMap(({ path, headers, body }) => [
        ...schemas.faults(body).map((fault) => `${path}: ${fault}`),
        ...rules.faults(body, (headers['allow'] ?? '').split(', ')),
      ]);
    expect(faults).toEqual([]);
  });
}
