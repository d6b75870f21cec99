/**
 * Validates all resources that a client can reach, and some errors, with DMTF's schemas. Tests both values of
 * EMULATOR_DMTF_STRICT, and how the resources differ between them.
 */
import { describe, expect, it } from '@jest/globals';
import { dmtfSchemas, type DmtfSchemas } from './dmtf-schemas.js';
import { describeSpec, type Body, type SpecDaemon } from './spec-daemon.js';

const folder = process.env['RACKLESS_REDFISH_SCHEMAS'];

/** Removes `HealthRollUp` (row RF-23), which is not in DMTF's schemas. */
function withoutRollUp(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutRollUp);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== 'HealthRollUp')
      .map(([name, member]) => [name, withoutRollUp(member)]),
  );
}

async function faultsEverywhere(
  daemon: SpecDaemon,
  schemas: DmtfSchemas,
  prepare: (body: Body) => Body,
): Promise<readonly string[]> {
  const found = await daemon.crawl();
  return [...found].flatMap(([path, body]) => schemas.faults(prepare(body)).map((fault) => `${path}: ${fault}`));
}

if (folder === undefined && process.env['RACKLESS_REQUIRE_ALL'] !== '1') {
  describe("answers against DMTF's schemas", () => {
    it.skip('are valid: RACKLESS_REDFISH_SCHEMAS is not set', () => undefined);
  });
} else {
  // With RACKLESS_REQUIRE_ALL a missing path is a failure here, not a skip.
  const schemas = dmtfSchemas(folder ?? '');

  describe("the check with DMTF's schemas", () => {
    it('finds a wrong type, an unknown property, a missing property and an unknown version', () => {
      const chassis = {
        '@odata.id': '/redfish/v1/Chassis/1',
        '@odata.type': '#Chassis.v1_28_0.Chassis',
        Id: '1',
        Name: 'n',
        ChassisType: 'Other',
      };
      expect(schemas.faults(chassis)).toEqual([]);
      expect(schemas.faults({ ...chassis, Foo: 1 }).join()).toContain('Foo');
      expect(schemas.faults({ ...chassis, Name: 1 })).not.toEqual([]);
      expect(schemas.faults({ ...chassis, Status: { HealthRollUp: 'OK' } }).join()).toContain('/Status');
      expect(schemas.faults({ ...chassis, ChassisType: undefined })).not.toEqual([]);
      expect(schemas.faults({ ...chassis, '@odata.type': '#Chassis.v9_0_0.Chassis' })).not.toEqual([]);
    });
  });

  for (const strict of [false, true]) {
    // `withoutRollUp` returns an object for an object.
    const prepare = (body: Body): Body => (strict ? body : (withoutRollUp(body) as Body));
    describeSpec(
      `answers against DMTF's schemas, EMULATOR_DMTF_STRICT ${strict ? 'True' : 'False'}`,
      (spec) => {
        it('are valid for a machine that is off and for one that runs with an image in its drive', async () => {
          await expect(faultsEverywhere(spec(), schemas, prepare)).resolves.toEqual([]);
          await spec().insert();
          await spec().reset('On');
          await expect(faultsEverywhere(spec(), schemas, prepare)).resolves.toEqual([]);
        });

        it('are valid error bodies where they are errors', async () => {
          const path = `/redfish/v1/Systems/${spec().uuid}`;
          for (const answer of [
            await spec().call('GET', '/redfish/v1/Nowhere'),
            await spec().call('PATCH', path, { Foo: 1, Boot: { BootSourceOverrideEnabled: 'Twice' } }),
            await spec().call('POST', `${path}/Actions/ComputerSystem.Reset`, { ResetType: 'Nmi' }),
          ]) {
            expect(answer.status).toBeGreaterThanOrEqual(400);
            expect(schemas.errorFaults(answer.body ?? {})).toEqual([]);
          }
        });
      },
      { strict },
    );
  }
}

/** Returns the links of a manager as in strict mode: with the chassis of its machine. */
function linksOf(path: string, { Links: links }: Body): Body {
  const chassis = { '@odata.id': path.replace('Managers', 'Chassis') };
  // Row RF-49 of the contract requires Links.
  return { ...(links as Body), ManagerForChassis: [chassis], 'ManagerForChassis@odata.count': 1 };
}

/** Removes deprecated properties that no profile requires. */
function withoutDeprecated({ '@odata.type': type, ...body }: Body): Body {
  // The contract requires these objects.
  const withoutProperty = (object: unknown, name: string): Body => ({ ...(object as Body), [name]: undefined });
  const rest: Body = { '@odata.type': type, ...body };
  switch (String(type).split('.')[0]) {
    case '#ComputerSystem':
      return {
        ...rest,
        MemorySummary: withoutProperty(body['MemorySummary'], 'Status'),
        ProcessorSummary: withoutProperty(body['ProcessorSummary'], 'Status'),
      };
    case '#Chassis':
    case '#Drive': {
      const key = '@Redfish.WriteableProperties';
      const writeable = body[key];
      const names = Array.isArray(writeable) ? { [key]: writeable.filter((name) => name !== 'IndicatorLED') } : {};
      return { ...withoutProperty(rest, 'IndicatorLED'), ...names };
    }
    default:
      return rest;
  }
}

const oldAddress = /^\/redfish\/v1\/(?:Managers\/[^/]+\/VirtualMedia|Systems\/[^/]+\/Storage\/[^/]+\/Drives\/)/;

/** Replaces deprecated URIs by their successors. */
function relinked(body: Body): Body {
  const text = JSON.stringify(body)
    .replace(/"(\/redfish\/v1)\/Managers\/([^/"]+\/VirtualMedia)/g, '"$1/Systems/$2')
    .replace(/"(\/redfish\/v1)\/Systems\/([^/"]+)\/Storage\/([^/"]+)\/Drives\//g, '"$1/Chassis/$2/Drives/$3-');
  return JSON.parse(text) as Body; // The text is still the JSON of an object.
}

describeSpec('EMULATOR_DMTF_STRICT', (spec) => {
  it("omits what is deprecated or not in DMTF's schemas, replaces old links, and adds UUID and ManagerForChassis", async () => {
    const asWritten = await spec().crawl();
    const strict = await spec().crawlStrict();
    const linked = [...asWritten.keys()].filter((path) => !oldAddress.test(path));
    expect([...strict.keys()].sort()).toEqual(linked.sort());
    const rootUuid = strict.get('/redfish/v1')?.['UUID'];
    expect(rootUuid).toMatch(/^[0-9a-f-]{36}$/);

    for (const path of linked) {
      const body = asWritten.get(path) ?? {};
      const isManager = /^\/redfish\/v1\/Managers\/[^/]+$/.test(path);
      if (isManager) expect(body['ServiceEntryPointUUID']).toBeNull();
      expect(body['@Redfish.Copyright']).toMatch(/\w/);
      expect(JSON.stringify(body).includes('"HealthRollUp"')).toBe(JSON.stringify(body).includes('"HealthRollup"'));
      const expected = {
        ...relinked(withoutDeprecated(withoutRollUp(body) as Body)), // `withoutRollUp` returns an object for an object.
        '@Redfish.Copyright': undefined,
        ...(isManager ? { ServiceEntryPointUUID: rootUuid, Links: linksOf(path, body) } : {}),
      };
      // The time and the state of the machines change between the two reads.
      const time = 'DateTime' in body ? { DateTime: null } : {};
      const isMeasured = /^#(?:MetricReport|ProcessorMetrics|MemoryMetrics)\./.test(String(body['@odata.type']));
      const values = { Timestamp: null, MetricValues: null, BandwidthPercent: null, CapacityUtilizationPercent: null };
      // The load of the host also changes.
      const reading = typeof body['Reading'] === 'number' ? { Reading: null } : {};
      const moving = { ...time, ...reading, ...(isMeasured ? values : {}) };
      expect({ ...strict.get(path), ...moving }).toEqual({ ...expected, ...moving });
    }
  });
});
