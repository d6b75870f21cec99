/** What DMTF's validators ask of payloads beyond schemas, links and headers, on every resource that can be reached. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import { createPipeline } from '../../src/redfish/pipeline.js';
import { currentUri } from '../../src/resources/current-uri.js';
import { resources } from '../../src/resources/index.js';
import { serve, type Client } from '../support/client.js';
import { accessWithAccount, testServices } from '../support/services.js';
import { crawl, type Body, type Crawled } from './crawler.js';

/** An object of a payload, with where it stands. */
interface Part {
  readonly at: string;
  readonly object: Body;
}

function partsOf(value: unknown, at: string): readonly Part[] {
  if (Array.isArray(value)) return value.flatMap((item, index) => partsOf(item, `${at}/${index}`));
  if (typeof value !== 'object' || value === null) return [];
  const object = value as Body; // JSON: what is no array is an object.
  return [{ at, object }, ...Object.entries(object).flatMap(([name, member]) => partsOf(member, `${at}/${name}`))];
}

const text = (value: unknown) => (typeof value === 'string' ? value : '');

const folder = mkdtempSync(join(tmpdir(), 'bmc-rules-'));
const driver = new FakeDriver();
let client: Client;
let found: ReadonlyMap<string, Crawled>;
let parts: readonly Part[];

beforeAll(async () => {
  const access = accessWithAccount(join(folder, 'users'));
  const services = testServices(driver, { access });
  const pipeline = createPipeline({
    resources,
    services,
    authenticate: access.authenticate,
    strict: true,
    currentUri: (uri) => currentUri(uri, services.settings),
  });
  client = await serve((request, response) => void pipeline(request, response, '1'));
  found = await crawl(client.port, { Authorization: `Basic ${Buffer.from('admin:secret').toString('base64')}` });
  const payloads = [...found.values()].filter(({ path }) => !path.endsWith('.json'));
  parts = payloads.flatMap(({ path, body }) => partsOf(body, `${path}#`));
});
afterAll(async () => {
  await client.close();
  await driver.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('every payload', () => {
  it('has something in it to look at (D5)', () => {
    expect(found.size).toBeGreaterThan(100);
    expect(parts.filter(({ at }) => at.includes('/Actions/#')).length).toBeGreaterThan(5);
    expect(parts.filter(({ object }) => 'MemberId' in object).length).toBeGreaterThan(2);
  });

  it('has paths without a slash at their end (D5)', () => {
    const slashed = parts.filter(({ object }) => /.\/$/.test(text(object['@odata.id'])));
    expect(slashed.map(({ at }) => at)).toEqual([]);
  });

  it('has nothing but its path in a link of Links (D5)', () => {
    const links = parts.filter(({ at }) => at.includes('#/Links/'));
    expect(links.length).toBeGreaterThan(5);
    expect(links.filter(({ object }) => Object.keys(object).join() !== '@odata.id').map(({ at }) => at)).toEqual([]);
  });

  it('has nothing but target, title and annotations of Redfish in an action (D5)', () => {
    const actions = parts.filter(({ at }) => /#\/Actions\/#[\w.]+$/.test(at));
    const strange = actions.flatMap(({ at, object }) =>
      Object.keys(object)
        .filter((name) => !['target', 'title'].includes(name) && !/^\w*@Redfish\.\w+$/.test(name))
        .map((name) => `${at}: ${name}`),
    );
    expect(strange).toEqual([]);
  });

  it('has the position of a member in a list as its MemberId, and in its path (D5)', () => {
    for (const { at, object } of parts.filter((part) => 'MemberId' in part.object)) {
      expect(object['MemberId']).toBe(at.split('/').at(-1));
      expect(object['@odata.id']).toBe(at);
    }
  });

  it('has words in its Name, and null for the password of an account (D5)', () => {
    const unnamed = [...found.values()].filter(({ body }) => !/\w/.test(text(body['Name'])));
    expect(unnamed.filter(({ path }) => !path.endsWith('.json')).map(({ path }) => path)).toEqual([]);
    const accounts = parts.filter(({ object }) => String(object['@odata.type']).startsWith('#ManagerAccount.'));
    expect(accounts.map(({ object }) => object['Password'])).toEqual([null]);
  });

  it('has at most seven properties and paths of a machine that DMTF calls deprecated (D4)', () => {
    const [machine = ''] = [...found.keys()].filter((path) => /^\/redfish\/v1\/Systems\/[^/]+$/.test(path));
    const id = machine.split('/').at(-1) ?? '';
    const ofMachine = parts.filter(({ at }) => at.includes(id));
    const led = ofMachine.filter(({ object }) => 'IndicatorLED' in object).map(({ at }) => at);
    expect(led).toEqual([`${machine}#`]);
    const chassis = found.get(`/redfish/v1/Chassis/${id}`)?.body ?? {};
    const old = ['Power', 'Thermal'].filter((name) => name in chassis);
    const manager = found.get(`/redfish/v1/Managers/${id}`)?.body ?? {};
    const moved = ['SerialConsole', 'VirtualMedia'].filter((name) => name in manager);
    expect(moved).toContain('VirtualMedia');
    expect(led.length + 2 * old.length + moved.length).toBeLessThan(8);
    const oldAddresses = /\/Managers\/[^/]+\/VirtualMedia|\/Storage\/[^/]+\/Drives/;
    expect([...found.keys()].filter((path) => oldAddresses.test(path))).toEqual([]);
  });
});
