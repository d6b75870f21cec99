/** The settings of the service that clients can read and change over Redfish. */
import { useSignal } from '@preact/signals';
import { Button } from '../../../ui/button.js';
import { Checkbox, SelectField, TextField } from '../../../ui/field.js';
import { PageHeader } from '../../../ui/frame/page-header.js';
import { showToast } from '../../../ui/frame/toast.js';
import { ErrorState, Loading, messageOf } from '../../../ui/states.js';
import { FormDialog } from '../../form-dialog.js';
import { patch } from '../../redfish/client.js';
import { useResource } from '../../resource.js';
import { settingsTexts as texts } from '../../../texts/index.js';

type Value = number | boolean | string;
/** A service of Redfish with its settings. */
type Service = Readonly<Record<string, unknown>> & { readonly '@Redfish.WriteableProperties'?: readonly string[] };

/** The parts of the page: a title, a resource, and the properties that are settings. */
const parts: readonly (readonly [title: string, uri: string, properties: readonly string[]])[] = [
  [
    texts.parts.login,
    '/redfish/v1/AccountService',
    [
      'HTTPBasicAuth',
      'MinPasswordLength',
      'MaxPasswordLength',
      'AccountLockoutThreshold',
      'AccountLockoutDuration',
      'AccountLockoutCounterResetEnabled',
      'AccountLockoutCounterResetAfter',
    ],
  ],
  [texts.parts.sessions, '/redfish/v1/SessionService', ['SessionTimeout']],
  [texts.parts.tasks, '/redfish/v1/TaskService', ['TaskAutoDeleteTimeoutMinutes']],
  [texts.parts.events, '/redfish/v1/EventService', ['DeliveryRetryAttempts', 'DeliveryRetryIntervalSeconds']],
];

const labelOf = (property: string): string => texts.properties[property]?.[0] ?? property;
const textOf = (value: Value): string =>
  typeof value === 'boolean'
    ? value
      ? texts.on
      : texts.off
    : value === 'Enabled'
      ? texts.on
      : value === 'Disabled'
        ? texts.off
        : String(value);

/** The page Settings: a part for each Redfish service that has settings. */
export default function SettingsPage() {
  return (
    <>
      <PageHeader title={texts.title} subtitle={texts.hint} />
      <div class="stack">
        {parts.map(([title, uri, properties]) => (
          <Part key={uri} title={title} uri={uri} properties={properties} />
        ))}
      </div>
    </>
  );
}

interface PartProps {
  readonly title: string;
  readonly uri: string;
  readonly properties: readonly string[];
}

function Part({ title, uri, properties }: PartProps) {
  const { body, etag, error, reload } = useResource<Service>(uri);
  const isEditing = useSignal(false);
  if (body === null)
    return error === null ? <Loading /> : <ErrorState message={messageOf(error)} onRetry={() => void reload()} />;
  const settings = properties.flatMap((name) => (isValue(body[name]) ? [[name, body[name]] as const] : []));
  const writable = settings.filter(([name]) => body['@Redfish.WriteableProperties']?.includes(name) === true);
  return (
    <section class="card stack" aria-label={title}>
      <div class="row">
        <h2 class="grow">{title}</h2>
        {writable.length === 0 ? null : (
          <Button aria-label={texts.editOf(title)} onClick={() => (isEditing.value = true)}>
            {texts.edit}
          </Button>
        )}
      </div>
      <dl class="facts">
        {settings.map(([name, value]) => (
          <div key={name}>
            <dt>{labelOf(name)}</dt>
            <dd>{textOf(value)}</dd>
          </div>
        ))}
      </dl>
      {isEditing.value ? (
        <SettingsDialog
          title={title}
          settings={Object.fromEntries(writable)}
          onSave={async (changed) => {
            await patch(uri, changed, etag);
            showToast('good', texts.saved(title));
            await reload();
          }}
          onClose={() => (isEditing.value = false)}
        />
      ) : null}
    </section>
  );
}

const isValue = (value: unknown): value is Value => ['number', 'boolean', 'string'].includes(typeof value);

interface SettingsDialogProps {
  readonly title: string;
  readonly settings: Readonly<Record<string, Value>>;
  /** Sends the changed settings. */
  readonly onSave: (changed: Readonly<Record<string, Value>>) => Promise<void>;
  readonly onClose: () => void;
}

function SettingsDialog({ title, settings, onSave, onClose }: SettingsDialogProps) {
  const changed = useSignal<Readonly<Record<string, Value>>>({});
  const set = (name: string, value: Value): void => {
    changed.value = { ...changed.value, [name]: value };
  };
  const names = Object.keys(settings);
  return (
    <FormDialog
      title={texts.editOf(title)}
      sendLabel={texts.save}
      properties={names}
      onSend={() => (Object.keys(changed.value).length === 0 ? Promise.resolve() : onSave(changed.value))}
      onClose={onClose}
    >
      {(faultOf) =>
        names.map((name) => (
          <Setting
            key={name}
            name={name}
            value={changed.value[name] ?? settings[name] ?? ''}
            fault={faultOf(name)}
            onValue={(value) => set(name, value)}
          />
        ))
      }
    </FormDialog>
  );
}

interface SettingProps {
  readonly name: string;
  readonly value: Value;
  readonly fault: string | undefined;
  readonly onValue: (value: Value) => void;
}

/** The field of a setting. A setting whose value is a text is a switch: `Enabled` or `Disabled`. */
function Setting({ name, value, fault, onValue }: SettingProps) {
  const label = labelOf(name);
  const hint = texts.properties[name]?.[1] ?? '';
  if (typeof value === 'boolean') return <Checkbox label={label} isChecked={value} onChange={onValue} />;
  if (typeof value === 'string') {
    const options = [
      ['Enabled', texts.on],
      ['Disabled', texts.off],
    ] as const;
    return <SelectField label={label} value={value} onValue={onValue} options={options} error={fault} />;
  }
  return (
    <TextField
      label={label}
      {...(hint === '' ? {} : { hint })}
      type="number"
      value={String(value)}
      onValue={(text) => onValue(Number(text))}
      error={fault}
      isRequired
    />
  );
}
