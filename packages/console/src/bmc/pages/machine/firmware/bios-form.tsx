/** The form of the firmware settings: one field for each attribute. */
import { useSignal } from '@preact/signals';
import { Button } from '../../../../ui/button.js';
import { ConfirmDialog } from '../../../../ui/confirm-dialog.js';
import { SelectField, TextField, type Option } from '../../../../ui/field.js';
import { Notice } from '../../../../ui/states.js';
import { showToast } from '../../../../ui/frame/toast.js';
import { DraftBar } from '../../../draft-bar.js';
import { useDraft, type FieldValue, type FieldValues } from '../../../draft.js';
import { post } from '../../../redfish/client.js';
import type { ResourceView } from '../../../resource.js';
import { firmwareTexts as texts } from '../../../../texts/index.js';
import { attributesOf, parseInput, type Attribute } from './attributes.js';

/** A Bios of Redfish: the current settings, or those of the next start. */
export interface Bios {
  readonly '@odata.id': string;
  readonly AttributeRegistry?: string;
  readonly Attributes: FieldValues;
  readonly '@Redfish.Settings'?: {
    readonly SettingsObject: { readonly '@odata.id': string };
    /** The failure of the last start with pending settings. */
    readonly Messages?: readonly { readonly Message: string }[];
  };
  /** Absent: the service cannot change the settings. */
  readonly '@Redfish.WriteableProperties'?: readonly string[];
  readonly Actions?: { readonly '#Bios.ResetBios'?: { readonly target: string } };
}

/** Properties of `BiosForm`. */
interface BiosFormProps {
  readonly name: string;
  /** The current settings. */
  readonly bios: Bios;
  /** The resource of the settings after the next start. */
  readonly settings: ResourceView<Bios>;
  /** The body of `settings`. */
  readonly pending: Bios;
  readonly registry: readonly Attribute[];
  readonly mayChange: boolean;
}

/**
 * The form. It shows the value of each setting after the next start, with the edits of the user. If the current value
 * is different, it shows that, too.
 */
export function BiosForm({ name, bios, settings, pending, registry, mayChange }: BiosFormProps) {
  const draft = useDraft<Bios>({
    resource: settings,
    path: pending['@odata.id'],
    read: ({ Attributes }) => Attributes,
    write: (edits) => ({ Attributes: edits }),
  });
  const isAsked = useSignal(false);
  const isReadOnly = !mayChange || pending['@Redfish.WriteableProperties'] === undefined;
  const attributes = attributesOf(pending.Attributes, registry);
  const waiting = attributes.filter(({ AttributeName: key }) => pending.Attributes[key] !== bios.Attributes[key]);
  const labelOf = (key: string): string =>
    attributes.find(({ AttributeName }) => AttributeName === key)?.DisplayName ?? key;
  const resetBios = bios.Actions?.['#Bios.ResetBios']?.target;
  return (
    <section class="card" aria-label={texts.settings}>
      <header class="row">
        <h2 class="grow">{texts.settings}</h2>
        {resetBios === undefined || !mayChange ? null : (
          <Button
            kind="danger"
            onClick={() => {
              isAsked.value = true;
            }}
          >
            {texts.reset}
          </Button>
        )}
      </header>
      <p class="quiet">{texts.hint}</p>
      {(bios['@Redfish.Settings']?.Messages ?? []).map(({ Message }) => (
        <Notice key={Message} kind="bad">
          {Message}
        </Notice>
      ))}
      {waiting.length === 0 ? null : <Notice kind="warn">{texts.pending(waiting.length)}</Notice>}
      <div class="form-grid">
        {attributes.map((attribute) => (
          <AttributeField
            key={attribute.AttributeName}
            attribute={attribute}
            value={draft.values[attribute.AttributeName] ?? null}
            current={bios.Attributes[attribute.AttributeName] ?? null}
            isReadOnly={isReadOnly || attribute.ReadOnly === true}
            onValue={(value) => draft.set(attribute.AttributeName, value)}
          />
        ))}
      </div>
      {isReadOnly ? null : <DraftBar draft={draft} labelOf={labelOf} saveLabel={texts.save} />}
      {!isAsked.value || resetBios === undefined ? null : (
        <ConfirmDialog
          title={texts.resetQuestion(name)}
          lost={texts.resetLost}
          confirmLabel={texts.reset}
          onConfirm={async () => {
            await post(resetBios);
            await settings.reload();
            showToast('good', texts.resetDone);
          }}
          onClose={() => {
            isAsked.value = false;
          }}
        />
      )}
    </section>
  );
}

/** The field of an attribute. */
function AttributeField({
  attribute,
  value,
  current,
  isReadOnly,
  onValue,
}: {
  readonly attribute: Attribute;
  readonly value: FieldValue;
  readonly current: FieldValue;
  readonly isReadOnly: boolean;
  readonly onValue: (value: FieldValue) => void;
}) {
  const { AttributeName, DisplayName, HelpText, Type, LowerBound, UpperBound, MaxLength } = attribute;
  const hint = (
    <>
      {HelpText} {LowerBound === undefined ? null : texts.range(LowerBound, UpperBound)}
      {value === current ? null : <strong class="pending"> {texts.now(shown(current))}</strong>}
    </>
  );
  const common = {
    label: DisplayName ?? AttributeName,
    hint,
    value: value === null ? '' : String(value),
    onValue: (text: string) => onValue(parseInput(text, attribute)),
    disabled: isReadOnly,
  };
  const choices = choicesOf(attribute);
  if (choices !== null) {
    const isKnown = choices.some(([key]) => key === common.value);
    const own: Option = [common.value, value === null ? texts.unset : common.value];
    return <SelectField {...common} options={isKnown ? choices : [own, ...choices]} />;
  }
  const type = Type === 'Integer' ? 'number' : Type === 'Password' ? 'password' : 'text';
  return (
    <TextField
      {...common}
      type={type}
      autocomplete={Type === 'Password' ? 'new-password' : 'off'}
      min={LowerBound}
      max={UpperBound}
      maxLength={MaxLength}
    />
  );
}

/** Returns the values that the user can select for an attribute; null: the user types a value. */
function choicesOf({ Type, Value = [] }: Attribute): readonly (readonly [value: string, label: string])[] | null {
  if (Type === 'Boolean') {
    return [
      ['true', texts.on],
      ['false', texts.off],
    ];
  }
  if (Type !== 'Enumeration') return null;
  return Value.map(({ ValueName, ValueDisplayName }) => [ValueName, ValueDisplayName ?? ValueName] as const);
}

function shown(value: FieldValue): string {
  if (value === null || value === '') return texts.none;
  if (typeof value === 'boolean') return value ? texts.on : texts.off;
  return String(value);
}
