/** The tab Firmware: the firmware settings and Secure Boot of a machine. */
import { EmptyState } from '../../../../ui/states.js';
import { may } from '../../../redfish/session.js';
import { useResource } from '../../../resource.js';
import { firmwareTexts as texts } from '../../../../texts/index.js';
import { Loaded } from '../../../loaded.js';
import type { Link } from '../members.js';
import type { TabProps } from '../tab.js';
import type { Attribute } from './attributes.js';
import { BiosForm, type Bios } from './bios-form.js';
import { SecureBootCard } from './secure-boot.js';

interface FirmwareSystem {
  readonly Bios?: Link;
  readonly SecureBoot?: Link;
}

interface Registry {
  readonly RegistryEntries: { readonly Attributes: readonly Attribute[] };
}

interface RegistryFile {
  readonly Location: readonly { readonly Uri?: string }[];
}

/** The tab Firmware. */
export default function FirmwareTab({ machine }: TabProps) {
  const system = useResource<FirmwareSystem>(machine['@odata.id']);
  const mayChange = may('ConfigureComponents');
  return (
    <Loaded resource={system}>
      {({ Bios: bios, SecureBoot: secureBoot }) => (
        <div class="tab-grid">
          {bios === undefined ? (
            <EmptyState title={texts.noBios} />
          ) : (
            <BiosSettings path={bios['@odata.id']} name={machine.Name} mayChange={mayChange} />
          )}
          {secureBoot === undefined ? null : (
            <SecureBootCard path={secureBoot['@odata.id']} name={machine.Name} mayChange={mayChange} />
          )}
        </div>
      )}
    </Loaded>
  );
}

/** Shows the form. Reads the current and the pending settings, and the registry with the types of the settings. */
function BiosSettings({
  path,
  name,
  mayChange,
}: {
  readonly path: string;
  readonly name: string;
  readonly mayChange: boolean;
}) {
  const bios = useResource<Bios>(path);
  const settings = useResource<Bios>(bios.body?.['@Redfish.Settings']?.SettingsObject['@odata.id'] ?? null);
  const registryId = bios.body?.AttributeRegistry;
  const file = useResource<RegistryFile>(registryId === undefined ? null : `/redfish/v1/Registries/${registryId}`);
  const registry = useResource<Registry>(file.body?.Location[0]?.Uri ?? null);
  return (
    <Loaded resource={bios}>
      {(current) => (
        <Loaded resource={settings}>
          {(pending) => (
            <Loaded resource={registry}>
              {({ RegistryEntries }) => (
                <BiosForm
                  name={name}
                  bios={current}
                  settings={settings}
                  pending={pending}
                  registry={RegistryEntries.Attributes}
                  mayChange={mayChange}
                />
              )}
            </Loaded>
          )}
        </Loaded>
      )}
    </Loaded>
  );
}
