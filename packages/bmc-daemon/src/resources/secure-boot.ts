/** Secure Boot of a machine with UEFI; machines with legacy BIOS have none. */
import { z } from 'zod';
import type { SystemSnapshot } from '../drivers/driver.js';
import type { SecureBootSnapshot } from '../drivers/firmware-snapshot.js';
import { refuse } from '../redfish/errors.js';
import type { JsonObject } from '../redfish/resource.js';
import { defineResource } from './services.js';

/**
 * What can be done to keys from outside: variables are made anew with the vendor's keys in them, or with none. To take the platform
 * key alone out of them (DeletePK) they would have to be written to.
 */
const resetKeys = { ResetAllKeysToDefault: 'on', DeleteAllKeys: 'setup' } as const;
const resetKeysTypes = [
  'ResetAllKeysToDefault',
  'DeleteAllKeys',
] as const satisfies readonly (keyof typeof resetKeys)[];

interface Loaded {
  readonly system: SystemSnapshot;
  readonly state: SecureBootSnapshot;
}

export const secureBoot = defineResource({
  entity: 'SecureBoot',
  odataType: '#SecureBoot.v1_1_2.SecureBoot',
  uri: '/redfish/v1/Systems/{systemId}/SecureBoot',
  load: async ({ params, services }): Promise<Loaded> => {
    const system = await services.driver.getSystem(params.systemId);
    const { secureBoot: state } = system.firmware;
    if (state === null) throw refuse('ResourceMissingAtURI', `/redfish/v1/Systems/${params.systemId}/SecureBoot`);
    return { system, state };
  },
  canonicalParams: ({ system }) => ({ systemId: system.uuid }),
  render: ({ state: { enabled, current, enrolled } }): JsonObject => ({
    Id: 'SecureBoot',
    Name: 'UEFI Secure Boot',
    SecureBootEnable: enabled,
    // Of the present run: null while the machine is off.
    SecureBootCurrentBoot: current === null ? null : current ? 'Enabled' : 'Disabled',
    // OVMF knows no audit and no deployed mode.
    SecureBootMode: enrolled === null ? null : enrolled ? 'UserMode' : 'SetupMode',
  }),
  patch: {
    body: z.strictObject({ SecureBootEnable: z.boolean().optional() }),
    properties: { secureBoot: 'SecureBootEnable' },
    apply: async ({ system, state }, { SecureBootEnable: wanted }, { services }) => {
      if (wanted === undefined || wanted === state.enabled) return undefined;
      await services.driver.change(system.uuid, { secureBoot: wanted ? 'on' : 'off' });
      return undefined;
    },
  },
  actions: {
    '#SecureBoot.ResetKeys': {
      body: z.strictObject({ ResetKeysType: z.enum(resetKeysTypes) }),
      parameters: (): JsonObject => ({ 'ResetKeysType@Redfish.AllowableValues': resetKeysTypes }),
      run: async ({ system }, { ResetKeysType: type }, { services }) => {
        await services.driver.change(system.uuid, { secureBoot: resetKeys[type] });
        return undefined;
      },
    },
  },
});
