/** The settings of the service, from its registry of attributes. */
import { get } from '../../redfish/client.js';
import type { Setting, SettingValue } from './setting.js';

/** A MessageRegistryFile of Redfish. */
interface RegistryMember {
  readonly Location: readonly { readonly Uri?: string }[];
}

/** An AttributeRegistry of Redfish. */
interface Registry {
  readonly RegistryEntries: {
    readonly Attributes: readonly {
      readonly AttributeName: string;
      readonly HelpText?: string;
      readonly CurrentValue?: SettingValue;
      readonly DefaultValue?: SettingValue;
      readonly ResetRequired?: boolean;
      readonly Oem?: { readonly Rackless?: { readonly Origin?: string } };
    }[];
  };
}

const MEMBER = '/redfish/v1/Registries/RacklessServiceAttributeRegistry.v1_0_0';

/**
 * Reads the settings.
 * @throws {RedfishFailure} with status 404 if the service does not show its settings; others as {@link get}.
 */
export async function readSettings(): Promise<readonly Setting[]> {
  const { Location } = await get<RegistryMember>(MEMBER);
  const { RegistryEntries } = await get<Registry>(Location[0]?.Uri ?? '');
  return RegistryEntries.Attributes.map((attribute) => ({
    name: attribute.AttributeName,
    value: attribute.CurrentValue ?? null,
    default: attribute.DefaultValue ?? null,
    source: attribute.Oem?.Rackless?.Origin ?? null,
    help: attribute.HelpText ?? '',
    needsRestart: attribute.ResetRequired !== false,
  }));
}
