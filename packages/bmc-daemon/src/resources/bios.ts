/**
 * The firmware settings of a machine: as they are, and as they will be after the next start. `BIOS` is how sushy-tools spells it, and
 * how old clients have it in their bookmarks.
 */
import { z } from 'zod';
import type { SystemSnapshot } from '../drivers/driver.js';
import { message, renderMessage, withDetail } from '../redfish/messages.js';
import type { JsonObject } from '../redfish/resource.js';
import { biosRegistryId } from './attribute-registry.js';
import { attributeProperties, attributesBody, keptFirst, renderAttributes, settingsChange } from './bios-attributes.js';
import { reference } from './reference.js';
import { defineResource } from './services.js';

/** The only time: what a definition says, a machine learns when it starts. */
const applyTimes = ['OnReset'] as const;

const bios = defineResource({
  entity: 'Bios',
  odataType: '#Bios.v1_2_3.Bios',
  uri: '/redfish/v1/Systems/{systemId}/Bios',
  aliases: ['/redfish/v1/Systems/{systemId}/BIOS'],
  load: ({ params, services }) => services.driver.getSystem(params.systemId),
  canonicalParams: ({ uuid }) => ({ systemId: uuid }),
  render: (system, { self, services }) => ({
    Id: 'Bios',
    Name: 'BIOS Configuration',
    Description: system.boot.firmware === 'efi' ? 'UEFI firmware' : 'Legacy BIOS firmware',
    AttributeRegistry: biosRegistryId,
    Attributes: renderAttributes(system, 'now'),
    ...(!services.driver.changeable.has('settings') ? {} : { '@Redfish.Settings': renderSettings(system, self) }),
  }),
  actions: {
    '#Bios.ResetBios': {
      body: z.strictObject({}),
      bodyOptional: true,
      run: async ({ uuid }, _body, { services }) => {
        await services.driver.change(uuid, { resetSettings: keptFirst });
        return undefined;
      },
    },
  },
});

/**
 * DMTF's interoperability validator takes SupportedApplyTimes only in this form (its reading of the array fails always), and the
 * array says nothing more.
 */
function renderSettings({ firmware: { failure } }: SystemSnapshot, bios: string): JsonObject {
  const outcome = failure && {
    Time: failure.time,
    Messages: [renderMessage(withDetail(message('GeneralError'), `${failure.reason}.`))],
  };
  return {
    '@odata.type': '#Settings.v1_4_0.Settings',
    SettingsObject: reference(`${bios}/Settings`),
    'SupportedApplyTimes@Redfish.AllowableValues': applyTimes,
    ...outcome,
  };
}

const biosSettings = defineResource({
  entity: 'Bios',
  odataType: '#Bios.v1_2_3.Bios',
  uri: '/redfish/v1/Systems/{systemId}/Bios/Settings',
  aliases: ['/redfish/v1/Systems/{systemId}/BIOS/Settings'],
  load: ({ params, services }) => services.driver.getSystem(params.systemId),
  canonicalParams: ({ uuid }) => ({ systemId: uuid }),
  render: (system) => ({
    Id: 'Settings',
    Name: 'BIOS Configuration after the Next Start',
    AttributeRegistry: biosRegistryId,
    Attributes: renderAttributes(system, 'next'),
  }),
  patch: {
    body: (system) =>
      z.strictObject({
        Attributes: attributesBody(system).optional(),
        '@Redfish.SettingsApplyTime': z
          .strictObject({ '@odata.type': z.string().optional(), ApplyTime: z.enum(applyTimes) })
          .optional(),
      }),
    // Which attributes there are is not told by the annotation.
    shape: () => 'all',
    properties: attributeProperties,
    apply: async ({ uuid }, { Attributes: attributes = {} }, { services }) => {
      const change = settingsChange(attributes);
      if (Object.keys(change).length === 0) return undefined;
      await services.driver.change(uuid, { settings: change });
      return undefined;
    },
  },
});

/** The settings as they are, and those that wait. */
export const biosResources = [bios, biosSettings];
