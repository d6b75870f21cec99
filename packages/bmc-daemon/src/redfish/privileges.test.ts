import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { resources } from '../features.js';
import { hasPrivilegeRow, requirementOf, type Requirement } from './privileges.js';

const methods = ['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE'] as const;
const systems = '/redfish/v1/Systems/{systemId}/X/{id}';
const managers = '/redfish/v1/Managers/{managerId}/X/{id}';

describe('the table of privileges', () => {
  it('has a row for every served entity', () => {
    const without = [...new Set(resources.map(({ entity }) => entity))].filter((entity) => !hasPrivilegeRow(entity));
    expect(without).toEqual([]);
  });

  it('rejects everyone at an unknown resource, and with an unknown method', () => {
    for (const method of methods) expect(requirementOf('Toaster', systems, method)).toEqual({ any: [] });
    expect(requirementOf('ComputerSystem', systems, 'TRACE')).toEqual({ any: [] });
  });

  it('distinguishes managers from machines, passwords from accounts, and console logs from other logs', () => {
    expect(requirementOf('EthernetInterface', systems, 'PATCH')).toEqual({ any: ['ConfigureComponents'] });
    expect(requirementOf('EthernetInterface', managers, 'PATCH')).toEqual({ any: ['ConfigureManager'] });
    expect(requirementOf('LogService', systems, 'POST')).toEqual({ any: ['ConfigureComponents'] });
    expect(requirementOf('LogService', managers, 'POST')).toEqual({ any: ['ConfigureManager'] });
    const entries = '/redfish/v1/Systems/{id}/LogServices/ConsoleLog/Entries';
    for (const uri of [entries, `${entries}/{entryId}`]) {
      expect(requirementOf('LogEntry', uri, 'GET')).toEqual({ any: ['ConfigureComponents'] });
      expect(requirementOf('LogEntry', uri.replace('ConsoleLog', 'EventLog'), 'GET')).toEqual({ any: ['Login'] });
    }
    expect(requirementOf('Certificate', systems, 'GET')).toEqual({ any: ['ConfigureComponents'] });
    expect(requirementOf('Certificate', managers, 'GET')).toEqual({ any: ['ConfigureManager'] });
    expect(requirementOf('ManagerAccount', '/redfish/v1/AccountService/Accounts/{id}', 'PATCH')).toEqual({
      any: ['ConfigureUsers'],
      properties: { Password: ['ConfigureUsers', 'ConfigureSelf'] },
    });
  });
});

const operationMap = z.record(z.string(), z.array(z.object({ Privilege: z.array(z.string()).length(1) })));
const override = z.object({ Targets: z.array(z.string()), OperationMap: operationMap });
const registry = z.object({
  Mappings: z.array(
    z.object({
      Entity: z.string(),
      OperationMap: operationMap,
      PropertyOverrides: z.array(override).optional(),
      SubordinateOverrides: z.array(override).optional(),
      ResourceURIOverrides: z.array(z.unknown()).max(0).optional(),
    }),
  ),
});

/**
 * Returns the alternative privileges of a method, without NoAuth. NoAuth is not a privilege: it means that the
 * service root needs no login, and the tests of the pipeline check this.
 */
const alternatives = (map: z.infer<typeof operationMap>, method: string) =>
  map[method]?.flatMap(({ Privilege }) => Privilege).filter((name) => name !== 'NoAuth');
const sorted = (names: readonly string[] | undefined) => [...(names ?? [])].sort();

/** First segment of the URIs to which a subordinate override applies. */
const segments: Readonly<Record<string, string>> = {
  ComputerSystem: 'Systems',
  Manager: 'Managers',
  Chassis: 'Chassis',
  Processor: 'Systems',
  Memory: 'Systems',
};

const folder = process.env['RACKLESS_REDFISH_SCHEMAS'];
if (folder === undefined && process.env['RACKLESS_REQUIRE_ALL'] !== '1') {
  it.skip("agrees with DMTF's registry: RACKLESS_REDFISH_SCHEMAS is not set", () => undefined);
} else {
  // If RACKLESS_REQUIRE_ALL is set, a missing path fails here instead of skipping the test.
  const registries = path.join(folder ?? '', 'registries');
  const file = readdirSync(registries).find((name) => name.endsWith('PrivilegeRegistry.json')) ?? '';
  const { Mappings } = registry.parse(JSON.parse(readFileSync(path.join(registries, file), 'utf8')));
  const known = Mappings.filter(({ Entity }) => hasPrivilegeRow(Entity));

  describe("DMTF's base privilege registry", () => {
    it('contains every entity of the service, and more than 90 entities of our table', () => {
      const entities = new Set(Mappings.map(({ Entity }) => Entity));
      expect(resources.filter(({ entity }) => !entities.has(entity)).map(({ entity }) => entity)).toEqual([]);
      expect(known.length).toBeGreaterThan(90);
    });

    it.each(known.map((mapping) => [mapping.Entity, mapping] as const))(
      'is the same as our table for %s',
      (entity, mapping) => {
        const asked = (uri: string, method: string): Requirement => requirementOf(entity, uri, method);
        for (const method of methods) {
          // A URI without an override.
          const { any, properties = {} } = asked('/redfish/v1/Elsewhere/{id}', method);
          expect([method, sorted(any)]).toEqual([method, sorted(alternatives(mapping.OperationMap, method))]);
          const overridden = (mapping.PropertyOverrides ?? []).filter(({ OperationMap }) => method in OperationMap);
          expect(Object.keys(properties).sort()).toEqual(overridden.flatMap(({ Targets }) => Targets).sort());
          for (const { Targets, OperationMap } of overridden)
            for (const name of Targets)
              expect(sorted(properties[name])).toEqual(sorted(alternatives(OperationMap, method)));
          for (const { Targets, OperationMap } of mapping.SubordinateOverrides ?? []) {
            const segment = segments[Targets[0] ?? ''];
            // Skips overrides for parts that virtual machines do not have, such as PCIe devices and
            // ports. The service has no metrics of such parts.
            if (segment === undefined) continue;
            const expected = alternatives(OperationMap, method) ?? alternatives(mapping.OperationMap, method);
            expect([segment, method, sorted(asked(`/redfish/v1/${segment}/{a}/X`, method).any)]).toEqual([
              segment,
              method,
              sorted(expected),
            ]);
          }
        }
      },
    );
  });
}
