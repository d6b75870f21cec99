/**
 * The effective settings of the service, as a registry of attributes (docs/decisions/031). DMTF has no
 * other resource for settings that are not in a schema.
 */
import { oemTypes } from '../../redfish/documents/oem-schemas.js';
import type { JsonObject } from '../../redfish/resource.js';
import { vendor } from '../../version.js';
import type { EffectiveSetting, SettingValue } from './effective-setting.js';
import type { RegistryFile } from './message-registry.js';

/** Id of the registry. Its name and version are also a part of the URI. */
const settingRegistryId = 'RacklessServiceAttributeRegistry.v1_0_0';

/**
 * The registry file.
 * @see DSP2046, AttributeRegistry
 */
export const settingRegistry: RegistryFile = {
  registry: settingRegistryId,
  id: settingRegistryId,
  name: 'Service Attribute Registry',
  description: 'The effective settings of the configuration of this service',
  odataType: '#AttributeRegistry.v1_4_0.AttributeRegistry',
  publicationUri: null,
  body: ({ effectiveSettings }) => ({
    Language: 'en',
    OwningEntity: vendor,
    RegistryVersion: '1.0.0',
    RegistryEntries: { Attributes: effectiveSettings().map(renderSetting) },
  }),
};

function renderSetting(setting: EffectiveSetting, index: number): JsonObject {
  const { name, value, default: defaultValue, origin, help, needsRestart, group } = setting;
  const type = typeOf(value, defaultValue);
  // DMTF has no type for numbers that are not integers.
  const shown = (some: SettingValue): SettingValue =>
    type === 'String' && typeof some === 'number' ? String(some) : some;
  return {
    AttributeName: name,
    HelpText: help,
    Type: type,
    CurrentValue: shown(value),
    DefaultValue: shown(defaultValue),
    ReadOnly: true,
    ResetRequired: needsRestart,
    MenuPath: `./${group}`,
    DisplayOrder: index,
    ...(origin === null ? {} : { Oem: { Rackless: { '@odata.type': oemTypes.attribute, Origin: origin } } }),
  };
}

function typeOf(...values: readonly SettingValue[]): 'Boolean' | 'Integer' | 'String' {
  if (values.every((value) => typeof value === 'boolean')) return 'Boolean';
  return values.every((value) => Number.isInteger(value)) ? 'Integer' : 'String';
}
