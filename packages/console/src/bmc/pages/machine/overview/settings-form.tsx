/** The settings of a machine that have no tab: its asset tag, and what happens after a restart of its host. */
import { SelectField, TextField } from '../../../../ui/field.js';
import { DraftBar } from '../../../draft-bar.js';
import { useDraft } from '../../../draft.js';
import { may } from '../../../redfish/session.js';
import type { ResourceView } from '../../../resource.js';
import { machineTexts as texts } from '../../../../texts/index.js';

/** The part of a ComputerSystem that the form reads and changes. */
export interface Settings {
  readonly '@odata.id': string;
  readonly AssetTag?: string | null;
  readonly PowerRestorePolicy?: string;
  readonly 'PowerRestorePolicy@Redfish.AllowableValues'?: readonly string[];
  /** The properties that the service can change for this machine. */
  readonly '@Redfish.WriteableProperties'?: readonly string[];
}

const labels: Readonly<Record<string, string>> = {
  AssetTag: texts.assetTag,
  PowerRestorePolicy: texts.restorePolicy,
};

/** The form. It renders nothing for a machine with none of these settings. */
export function SettingsForm({
  resource,
  body,
}: {
  readonly resource: ResourceView<Settings>;
  readonly body: Settings;
}) {
  const draft = useDraft<Settings>({
    resource,
    path: body['@odata.id'],
    read: ({ AssetTag = null, PowerRestorePolicy = null }) => ({ AssetTag, PowerRestorePolicy }),
    write: (edits) => edits,
  });
  const policies = body['PowerRestorePolicy@Redfish.AllowableValues'] ?? [];
  const writeable = may('ConfigureComponents') ? (body['@Redfish.WriteableProperties'] ?? []) : [];
  const isReadOnly = !Object.keys(labels).some((name) => writeable.includes(name));
  if (body.AssetTag === undefined && policies.length === 0) return null;
  const bind = (name: string) => ({
    label: labels[name] ?? name,
    value: String(draft.values[name] ?? ''),
    onValue: (value: string) => draft.set(name, value === '' ? null : value),
    disabled: !writeable.includes(name),
  });
  return (
    <section class="card" aria-label={texts.settings}>
      <h2>{texts.settings}</h2>
      <div class="form-grid">
        {body.AssetTag === undefined ? null : <TextField {...bind('AssetTag')} maxLength={256} />}
        {policies.length === 0 ? null : (
          <SelectField
            {...bind('PowerRestorePolicy')}
            options={policies.map((policy) => [policy, texts.restorePolicies[policy] ?? policy] as const)}
          />
        )}
      </div>
      {isReadOnly ? null : (
        <DraftBar draft={draft} labelOf={(name) => labels[name] ?? name} saveLabel={texts.saveSettings} />
      )}
    </section>
  );
}
