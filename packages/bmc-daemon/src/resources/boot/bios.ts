/**
 * The firmware settings of a machine: now, and after the next start. The alias `BIOS` is the
 * spelling of sushy-tools, which older clients use.
 */
import { z } from 'zod';
import { message, renderMessage, sentence, withDetail } from '../../redfish/messages/messages.js';
import type { JsonObject, Resource } from '../../redfish/resource.js';
import { biosDetails, readSystem, type SystemWith } from '../details.js';
import { reference } from '../reference.js';
import { defineResource, type Services } from '../services.js';
import { biosRegistryId } from './attribute-registry.js';
import { firmwareName } from './boot-reference.js';
import {
  attributeProperties,
  attributesBody,
  resetValues,
  renderAttributes,
  settingsChange,
} from './bios-attributes.js';

/** Changes apply when the machine starts or when a client restarts it. Redfish calls both OnReset. */
const applyTimes = ['OnReset'] as const;

const bios = defineResource({
  entity: 'Bios',
  odataType: '#Bios.v1_2_3.Bios',
  uri: '/redfish/v1/Systems/{systemId}/Bios',
  aliases: ['/redfish/v1/Systems/{systemId}/BIOS'],
  load: ({ params, services }) => readSystem(params.systemId, 'Bios', services, ...biosDetails),
  canonicalParams: ({ uuid }) => ({ systemId: uuid }),
  render: (system, { self, services }) => ({
    Id: 'Bios',
    Name: 'BIOS Configuration',
    Description: firmwareName(system.firmware.settings),
    AttributeRegistry: biosRegistryId,
    Attributes: renderAttributes(system, 'now', services.driver),
    '@Redfish.Settings': renderSettings(system, self),
  }),
  actions: {
    '#Bios.ResetBios': {
      available: (_system, { driver }) => driver.changeable.has('resetSettings'),
      body: z.strictObject({}),
      bodyOptional: true,
      run: async (system, _body, { services }) => {
        await services.driver.change(system.uuid, { resetSettings: resetValues }, { basis: system });
        return undefined;
      },
    },
  },
});

/**
 * Renders `@Redfish.Settings`, with the reason if the last start could not apply the settings. SupportedApplyTimes is
 * an annotation because DMTF's interoperability validator always fails on the array form.
 */
function renderSettings({ firmware: { failure } }: SystemWith<'firmware'>, bios: string): JsonObject {
  const outcome = failure && {
    Time: failure.time,
    Messages: [renderMessage(withDetail(message('GeneralError'), sentence(failure.reason)))],
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
  load: ({ params, services }) => readSystem(params.systemId, 'Bios', services, ...biosDetails),
  canonicalParams: ({ uuid }) => ({ systemId: uuid }),
  render: (system, { services }) => ({
    Id: 'Settings',
    Name: 'BIOS Configuration after the Next Start',
    AttributeRegistry: biosRegistryId,
    Attributes: renderAttributes(system, 'next', services.driver),
  }),
  patch: {
    body: (system) =>
      z.strictObject({
        Attributes: attributesBody(system).optional(),
        '@Redfish.SettingsApplyTime': z
          .strictObject({ '@odata.type': z.string().optional(), ApplyTime: z.enum(applyTimes) })
          .optional(),
      }),
    // One shape for all machines: their schemas differ inside `Attributes` only, and the
    // @Redfish.WriteableProperties annotation does not list the attributes.
    shape: () => 'all',
    properties: attributeProperties,
    apply: async (system, { Attributes: attributes = {} }, { services }) => {
      const change = settingsChange(attributes);
      if (Object.keys(change).length === 0) return undefined;
      await services.driver.change(system.uuid, { settings: change }, { basis: system });
      return undefined;
    },
  },
});

/**
 * The current and the pending firmware settings.
 * @see DSP2046, Bios; DSP0266, settings resource
 */
export const biosResources = [bios, biosSettings];

const { patch: _patch, ...fixedSettings } = biosSettings;

/**
 * The same resources without PATCH, for a driver that cannot change settings. Ironic's profile
 * requires the pending settings in every Bios.
 */
export const fixedBiosResources: readonly Resource<Services>[] = [bios, fixedSettings];
