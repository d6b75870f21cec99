/**
 * Secure Boot of a machine with UEFI. Machines with legacy BIOS have no such resource. In OpenStack
 * they may have it, because the driver cannot always determine the type of the firmware.
 */
import { z } from 'zod';
import type { SystemSnapshot } from '../../drivers/snapshot/system-snapshot.js';
import type { SecureBootSnapshot } from '../../drivers/snapshot/firmware-snapshot.js';
import { redfishError } from '../../redfish/messages/errors.js';
import type { JsonObject } from '../../redfish/resource.js';
import { readSystem } from '../details.js';
import { defineResource } from '../services.js';

/**
 * The value of `secureBoot` in `driver.change()` for each ResetKeysType. The driver takes the keys from a
 * template: the default keys, or no keys. It cannot remove only one key, so DeletePK is not supported.
 */
const resetKeys = { ResetAllKeysToDefault: 'on', DeleteAllKeys: 'setup' } as const;
const resetKeysTypes = [
  'ResetAllKeysToDefault',
  'DeleteAllKeys',
] as const satisfies readonly (keyof typeof resetKeys)[];

const body = z.strictObject({ SecureBootEnable: z.boolean().optional() });
const readOnlyBody = z.strictObject({});

interface Loaded {
  readonly system: SystemSnapshot;
  readonly state: SecureBootSnapshot;
}

/**
 * Secure Boot of a machine.
 * @see DSP2046, SecureBoot; https://libvirt.org/kbase/secureboot.html
 */
export const secureBoot = defineResource({
  entity: 'SecureBoot',
  odataType: '#SecureBoot.v1_1_2.SecureBoot',
  uri: '/redfish/v1/Systems/{systemId}/SecureBoot',
  load: async ({ params, services }): Promise<Loaded> => {
    const system = await readSystem(params.systemId, 'SecureBoot', services, 'firmware');
    const { secureBoot: state } = system.firmware;
    if (state === null) throw redfishError('ResourceMissingAtURI', `/redfish/v1/Systems/${params.systemId}/SecureBoot`);
    return { system, state };
  },
  canonicalParams: ({ system }) => ({ systemId: system.uuid }),
  render: ({ state: { enabled, current, enrolled } }): JsonObject => ({
    Id: 'SecureBoot',
    Name: 'UEFI Secure Boot',
    SecureBootEnable: enabled,
    // State of the running machine; null while it is off.
    SecureBootCurrentBoot: current === null ? null : current ? 'Enabled' : 'Disabled',
    // OVMF does not support audit mode and deployed mode.
    SecureBootMode: enrolled === null ? null : enrolled ? 'UserMode' : 'SetupMode',
  }),
  patch: {
    body: (_entity, { driver }): z.ZodType<z.infer<typeof body>> =>
      driver.changeable.has('secureBoot') ? body : readOnlyBody,
    shape: () => 'any',
    properties: { secureBoot: 'SecureBootEnable' },
    apply: async ({ system, state }, { SecureBootEnable: wanted }, { services }) => {
      if (wanted === undefined || wanted === state.enabled) return undefined;
      await services.driver.change(system.uuid, { secureBoot: wanted ? 'on' : 'off' }, { basis: system });
      return undefined;
    },
  },
  actions: {
    '#SecureBoot.ResetKeys': {
      available: (_entity, { driver }) => driver.changeable.has('secureBoot'),
      body: z.strictObject({ ResetKeysType: z.enum(resetKeysTypes) }),
      parameters: (): JsonObject => ({ 'ResetKeysType@Redfish.AllowableValues': resetKeysTypes }),
      run: async ({ system }, { ResetKeysType: type }, { services }) => {
        await services.driver.change(system.uuid, { secureBoot: resetKeys[type] });
        return undefined;
      },
    },
  },
});
