/**
 * Follows every link of the service like a client that walks the whole tree. The hosts have 0, 1
 * and 200 machines: in memory, and of libvirt's test driver.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openConsoleServices, type ConsoleRecorder } from '../../src/console/console-services.js';
import type { HypervisorDriver } from '../../src/drivers/driver.js';
import { FakeDriver } from '../../src/drivers/fake/fake-driver.js';
import { sampleMachines } from '../../src/drivers/fake/sample-machines.js';
import { createEventBus } from '../../src/events/event-bus.js';
import { publishWrites } from '../../src/events/publishers/published-writes.js';
import { createPipeline } from '../../src/redfish/pipeline.js';
import { currentUri } from '../../src/resources/current-uri.js';
import { resourcesOf } from '../../src/features.js';
import { TestHost } from '../libvirt-driver/host.js';
import { dmtfSchemas, type DmtfSchemas } from '../spec/dmtf-schemas.js';
import { until } from '../events/event-lab.js';
import { serve, type Client } from '../support/client.js';
import { accessWithAccount, testServices } from '../support/services.js';
import { crawl, faultsOf, type Crawled } from './crawler.js';
import { dmtfRules, type DmtfRules } from './dmtf-rules.js';

const silent = { info: () => undefined, warn: () => undefined, debug: () => undefined };

interface Host {
  /** Starts a driver with this number of machines, which must not be less than in the call before. */
  readonly withMachines: (count: number) => Promise<HypervisorDriver>;
  readonly close: () => Promise<void>;
}

const inMemory: Host = {
  withMachines: (count) => Promise.resolve(new FakeDriver({ machines: sampleMachines(count) })),
  close: () => Promise.resolve(),
};

function domainXml(number: number): string {
  const digits = String(number).padStart(4, '0');
  return `<domain type='test'>
  <name>crawled-${digits}</name>
  <uuid>00000000-0000-4000-8000-00000000${digits}</uuid>
  <memory unit='MiB'>64</memory>
  <vcpu>2</vcpu>
  <os><type arch='x86_64'>hvm</type></os>
  <devices>
    <disk type='file' device='disk'><source file='/x.img'/><target dev='vda' bus='virtio'/></disk>
    <disk type='file' device='cdrom'><target dev='hdc' bus='ide'/><readonly/></disk>
    <interface type='network'><source network='default'/><mac address='52:54:00:00:${digits.slice(0, 2)}:${digits.slice(2)}'/></interface>
  </devices>
</domain>`;
}

/** Opens test:///default, and removes the machine that libvirt defines there. */
async function onLibvirt(): Promise<Host> {
  const host = await TestHost.start('test');
  // The machines of the test driver disappear with its last connection, so this driver keeps one open.
  await host.driver();
  await host.virsh('destroy test; undefine test');
  let defined = 0;
  return {
    withMachines: async (count) => {
      const files: string[] = [];
      for (; defined < count; defined += 1) {
        const file = host.file(`${defined}.xml`);
        await writeFile(file, domainXml(defined));
        files.push(file);
      }
      if (files.length > 0) await host.virsh(files.map((file) => `define ${file}`).join('; '));
      return host.driver();
    },
    close: () => host.stop(),
  };
}

const folder = process.env['RACKLESS_REDFISH_SCHEMAS'];
/** Whether DMTF's files are used. With RACKLESS_REQUIRE_ALL a missing path is a failure, not a skip. */
const isChecked = folder !== undefined || process.env['RACKLESS_REQUIRE_ALL'] === '1';
/** Created once, because compiling a schema takes longer than requests. */
let checkers: { readonly schemas: DmtfSchemas; readonly rules: DmtfRules } | undefined;
/** Maximum number of checked resources: those of two hundred machines are of the same kinds. */
const MAX_CHECKED = 800;

/** The first faults are enough: two hundred machines repeat them. */
const first = (faults: readonly string[]) => faults.slice(0, 10);

describe.each([
  ['in memory', () => Promise.resolve(inMemory)],
  ["of libvirt's test driver", onLibvirt],
] as const)('a walk from the root, on machines %s', (_name, open) => {
  const state = mkdtempSync(join(tmpdir(), 'rackless-crawler-'));
  let host: Host;
  beforeAll(async () => {
    host = await open();
  });
  afterAll(async () => {
    await host.close();
    rmSync(state, { recursive: true });
  });

  // The order matters: machines are only added.
  describe.each([0, 1, 200])('with %i machines', (count) => {
    let driver: HypervisorDriver;
    let consoles: ConsoleRecorder;
    let client: Client;
    let found: ReadonlyMap<string, Crawled>;
    let served: ReturnType<typeof resourcesOf>;

    beforeAll(async () => {
      driver = await host.withMachines(count);
      const events = createEventBus((error) => {
        throw error;
      });
      const access = accessWithAccount(join(state, 'htpasswd'));
      consoles = openConsoleServices({
        driver,
        isLogged: true,
        stateDir: state,
        serviceUuid: String(count),
        log: silent,
      });
      consoles.start();
      const services = testServices(driver, { access, events, consoleLogs: consoles.logs });
      served = resourcesOf(driver);
      const pipeline = createPipeline({
        resources: served,
        services,
        authenticate: access.authenticate,
        onChange: publishWrites(events),
        strict: true,
        currentUri: (uri) => currentUri(uri, services.settings),
      });
      client = await serve((request, response) => void pipeline(request, response, '1'));
      const session = await client.send('POST', '/redfish/v1/SessionService/Sessions', {
        body: { UserName: 'admin', Password: 'secret' },
      });
      const headers = { 'X-Auth-Token': String(session.headers['x-auth-token']) };
      // Creates resources that exist only after a request: a subscription, and log entries of a
      // machine.
      expect(session.status).toBe(201);
      const subscriptions = '/redfish/v1/EventService/Subscriptions';
      if (served.some(({ uri }) => uri === subscriptions)) {
        const body = { Destination: 'https://192.0.2.1/events', Protocol: 'Redfish', Context: 'crawler' };
        expect((await client.send('POST', subscriptions, { headers, body })).status).toBe(201);
      }
      const [machine] = await driver.listSystems();
      if (machine !== undefined) {
        const body = { IndicatorLED: 'Blinking' };
        const { status } = await client.send('PATCH', `/redfish/v1/Systems/${machine.uuid}`, { headers, body });
        expect(status).toBe(200);
        if ((await driver.getSystem(machine.uuid)).hasConsole === true) await boot(machine.uuid);
      }
      found = await crawl(client.port, headers);
    });
    /** Starts a machine, and waits for output on its console. */
    const boot = async (uuid: string): Promise<void> => {
      await driver.power(uuid, 'create');
      const log = consoles.logs?.ofSystem(uuid);
      await until('the console log', async () => log === undefined || (await log.read()).length > 0);
    };
    afterAll(async () => {
      await client.close();
      await consoles.close();
      await driver.close();
    });

    it('finds no dead link and no fault in an answer', () => {
      expect(first([...found.values()].flatMap((crawled) => faultsOf(crawled, found)))).toEqual([]);
    });

    it('finds every machine, and all resources of the service itself', () => {
      const systems = [...found.keys()].filter((path) => /^\/redfish\/v1\/Systems\/[^/]+$/.test(path));
      expect(systems).toHaveLength(count);
      const own = served.map(({ uri }) => uri).filter((uri) => !uri.includes('{'));
      expect(own.filter((uri) => !found.has(uri))).toEqual([]);
    });

    (isChecked ? it : it.skip)("finds no violation of DMTF's schemas and rules in the first 800 resources", () => {
      checkers ??= { schemas: dmtfSchemas(folder ?? ''), rules: dmtfRules(folder ?? '') };
      const { schemas, rules } = checkers;
      const some = [...found.values()].filter(({ path }) => !path.endsWith('.json')).slice(0, MAX_CHECKED);
      const faults = some.flatMap(({ path, headers, body }) => [
        ...schemas.faults(body).map((fault) => `${path}: ${fault}`),
        ...rules.faults(body, (headers['allow'] ?? '').split(', ')),
      ]);
      expect(first(faults)).toEqual([]);
    });
  });
});
