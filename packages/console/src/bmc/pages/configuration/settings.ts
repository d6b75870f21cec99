/** The settings of the service, from its registry of attributes. */
import { get } from '../../redfish/client.js';

type Value = string | number | boolean | null;

/** A setting. */
export interface Setting {
  readonly name: string;
  readonly value: Value;
  readonly default: Value;
  /** For example `/etc/bmc.conf:3`, `--port` or `environment EMULATOR_LISTEN_PORT`; null: the default applies. */
  readonly source: string | null;
  readonly help: string;
  readonly needsRestart: boolean;
}

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
      readonly CurrentValue?: Value;
      readonly DefaultValue?: Value;
      readonly ResetRequired?: boolean;
      readonly Oem?: { readonly Rackless?: { readonly Origin?: string } };
    }[];
  };
}

const MEMBER = '/redfish/v1/Registries/RacklessServiceAttributeRegistry.v1_0_0';

/**
 * Reads the settings.
 * @throws {RedfishFailure} with status 404 if the service does not show them.
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

/** Returns the settings that contain all words, in any case. */
export function searchSettings(settings: readonly Setting[], text: string): readonly Setting[] {
  const words = text.toLowerCase().split(/\s+/);
  return settings.filter(({ name, value, source, help }) => {
    const searched = `${name} ${String(value)} ${source ?? ''} ${help}`.toLowerCase();
    return words.every((word) => searched.includes(word));
  });
}
