/** Compares docs/reference/resources.md with the resources. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { requirementOf } from '../../src/redfish/privileges.js';
import { renderResourcesPage } from '../../src/resources/documentation.js';
import { resources, streams } from '../../src/features.js';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import { fullAccess } from '../../src/redfish/authenticate.js';
import { createPipeline } from '../../src/redfish/pipeline.js';
import { serve, type Client } from '../support/client.js';
import { testServices } from '../support/services.js';

const page = readFileSync(join(import.meta.dirname, '../../../../docs/reference/resources.md'), 'utf8');
/** The rows of the page, for example: | `/redfish/v1/Systems` | GET | ComputerSystemCollection | Login | */
const rows = [...page.matchAll(/^\| `(\S+)` \| (\w+) \| (.*) \| (.*) \|$/gm)].map(
  ([, uri = '', method = '', what = '', privilege = '']) => ({ uri, method, what, privilege }),
);

describe('docs/reference/resources.md', () => {
  it('matches the resources; npm run generate updates it', () => {
    expect(page).toBe(renderResourcesPage(resources, streams));
  });

  it('has no duplicate row, and a privilege or a note for each method', () => {
    const keys = rows.map(({ uri, method }) => `${method} ${uri}`);
    expect(keys).toEqual([...new Set(keys)]);
    expect(rows.filter(({ privilege }) => privilege === '')).toEqual([]);
    expect(rows.length).toBeGreaterThan(resources.length);
  });

  it('lists the privileges that the service checks, here for a reset and for a PATCH of an account', () => {
    const reset = '/redfish/v1/Systems/{systemId}/Actions/ComputerSystem.Reset';
    expect(rows.find(({ uri }) => uri === reset)?.privilege).toBe(
      requirementOf('ComputerSystem', '/redfish/v1/Systems/{systemId}', 'POST').any.join(' or '),
    );
    const account = rows.find(({ uri, method }) => method === 'PATCH' && uri.endsWith('Accounts/{accountId}'));
    expect(account?.privilege).toBe('ConfigureUsers; `Password` alone: ConfigureUsers or ConfigureSelf');
  });
});

describe('the methods of docs/reference/resources.md', () => {
  let client: Client;
  const driver = new FakeDriver();

  beforeAll(async () => {
    const pipeline = createPipeline({
      resources,
      services: testServices(driver),
      authenticate: () => fullAccess,
      strict: true,
    });
    client = await serve((request, response) => void pipeline(request, response, '1'));
  });
  afterAll(async () => {
    await client.close();
    await driver.close();
  });

  it('are exactly those of every path except the event stream', async () => {
    const stream = '/redfish/v1/EventService/SSE';
    const paths = [...new Set(rows.map(({ uri }) => uri))].filter((uri) => uri !== stream);
    const differences: string[] = [];
    for (const path of paths) {
      const named = rows.filter(({ uri }) => uri === path).map(({ method }) => method);
      // The page lists the methods of an alias only at its resource.
      const alias = rows.find(({ uri, what }) => uri === path && what.startsWith('the same as'))?.what.split('`')[1];
      const all = rows.filter(({ uri }) => uri === (alias ?? path)).map(({ method }) => method);
      // No resource supports TRACE, so the 405 lists the methods.
      const { status, headers } = await client.send('TRACE', path.replaceAll(/\{\w+\}/g, 'x'));
      const allowed = String(headers.allow).split(', ');
      const expected = new Set([...named, ...all, ...(named.includes('GET') ? ['HEAD'] : [])]);
      if (status !== 405 || [...allowed].sort().join() !== [...expected].sort().join()) {
        differences.push(`${path}: ${status} ${allowed.join()} and not ${[...expected].join()}`);
      }
    }
    expect(differences).toEqual([]);
  });
});
