/** The registry of the BIOS attributes: their names, types, values and help texts. */
import type { JsonObject } from '../../redfish/resource.js';
import { vendor } from '../../version.js';
import type { RegistryFile } from '../service/message-registry.js';
import { biosAttributes, type BiosAttribute } from './bios-attributes.js';

/** Id of the registry, which `Bios.AttributeRegistry` names. */
export const biosRegistryId = 'RacklessBiosAttributeRegistry.v1_0_0';

/**
 * The registry file. It omits bounds that differ between machines.
 * @see DSP2046, AttributeRegistry
 */
export const biosRegistry: RegistryFile = {
  registry: biosRegistryId,
  id: biosRegistryId,
  name: 'BIOS Attribute Registry',
  description: 'The BIOS attributes of virtual machines',
  odataType: '#AttributeRegistry.v1_4_0.AttributeRegistry',
  publicationUri: null,
  body: {
    Language: 'en',
    OwningEntity: vendor,
    RegistryVersion: '1.0.0',
    RegistryEntries: { Attributes: biosAttributes.map(renderAttribute) },
  },
};

function renderAttribute(attribute: BiosAttribute): JsonObject {
  const { name, display, help, type, readOnly = false, resetValue } = attribute;
  return {
    AttributeName: name,
    DisplayName: display,
    HelpText: help,
    Type: type,
    ReadOnly: readOnly,
    ResetRequired: !readOnly,
    ...(type === 'Password' ? { WriteOnly: true } : {}),
    ...(resetValue === undefined ? {} : { DefaultValue: resetValue }),
    ...renderBounds(attribute),
  };
}

function renderBounds(attribute: BiosAttribute): JsonObject {
  switch (attribute.type) {
    case 'Enumeration':
      return { Value: attribute.values.map((value) => ({ ValueName: value, ValueDisplayName: value })) };
    case 'Integer':
      return { LowerBound: attribute.lower };
    case 'Boolean':
      return {};
    case 'String':
    case 'Password':
      return { MinLength: 0, MaxLength: attribute.maxLength };
  }
}
