/** The form of the boot override. */
import { SelectField, TextField, type Option } from '../../../../ui/field.js';
import { DraftBar, valueText } from '../../../draft-bar.js';
import { useDraft, type FieldValues } from '../../../draft.js';
import { bootTexts as texts } from '../../../../texts/index.js';
import type { BootFormProps, BootOption, BootSystem } from './boot-system.js';

const labels: Readonly<Record<string, string>> = {
  BootSourceOverrideTarget: texts.target,
  BootSourceOverrideEnabled: texts.enabled,
  BootSourceOverrideMode: texts.mode,
  HttpBootUri: texts.http,
  UefiTargetBootSourceOverride: texts.uefiTarget,
  BootNext: texts.bootNext,
};

/** The field that a target needs in addition. */
const details: Readonly<Record<string, string>> = {
  UefiHttp: 'HttpBootUri',
  UefiTarget: 'UefiTargetBootSourceOverride',
  UefiBootNext: 'BootNext',
};

const readOverride = ({
  Boot: {
    BootSourceOverrideTarget = null,
    BootSourceOverrideEnabled = null,
    BootSourceOverrideMode = null,
    HttpBootUri = null,
    UefiTargetBootSourceOverride = null,
    BootNext = null,
  },
}: BootSystem): FieldValues => ({
  BootSourceOverrideTarget,
  BootSourceOverrideEnabled,
  BootSourceOverrideMode,
  HttpBootUri,
  UefiTargetBootSourceOverride,
  BootNext,
});

/**
 * Returns the body of the PATCH. It always contains BootSourceOverrideEnabled and, unless this is `Disabled`, the
 * target. It contains a field of `details` only if the user changed the field and the target needs it.
 */
function overrideChange(edits: FieldValues, values: FieldValues): object {
  const { BootSourceOverrideTarget, BootSourceOverrideEnabled } = values;
  const isOff = BootSourceOverrideEnabled === 'Disabled';
  const needed = isOff ? undefined : details[String(BootSourceOverrideTarget)];
  const unused = Object.values(details).filter((name) => name !== needed);
  const sent = { ...edits, BootSourceOverrideTarget, BootSourceOverrideEnabled };
  if (isOff) unused.push('BootSourceOverrideTarget');
  return { Boot: Object.fromEntries(Object.entries(sent).filter(([name]) => !unused.includes(name))) };
}

/** The texts of all values that the console knows, of all three selects. Other values have no text. */
const valueNames = { ...texts.targets, ...texts.enabledValues, ...texts.modes };

type Choice = 'BootSourceOverrideEnabled' | 'BootSourceOverrideTarget' | 'BootSourceOverrideMode';

/** The entry of a field without a value. */
const nothing: Option = ['', texts.noTarget];

/** Returns the devices that BootNext or UefiTargetBootSourceOverride can name. */
function devicesOf(detail: string, options: readonly BootOption[]): readonly Option[] {
  return options.flatMap(({ BootOptionReference: id, DisplayName: name, UefiDevicePath: path = null }): Option[] => {
    if (detail === 'BootNext') return [[id, name]];
    return path === null ? [] : [[path, name]];
  });
}

/** The form of the boot override, with the further field that the selected target needs. */
export function OverrideForm({ resource, body, options, isReadOnly }: BootFormProps) {
  const draft = useDraft({ resource, path: body['@odata.id'], read: readOverride, write: overrideChange });
  const text = (name: string): string => String(draft.values[name] ?? '');
  const { Boot: boot } = body;
  const isOff = text('BootSourceOverrideEnabled') === 'Disabled';
  const detail = isOff ? undefined : details[text('BootSourceOverrideTarget')];
  const bind = (name: string) => ({
    label: labels[name] ?? name,
    value: text(name),
    onValue: (value: string) => draft.set(name, value),
    disabled: isReadOnly,
  });
  /** Returns a select with the values that the service allows; null if the service names no values. */
  const choice = (name: Choice, names: Readonly<Record<string, string>>) => {
    const values = boot[`${name}@Redfish.AllowableValues`];
    if (values === undefined) return null;
    const known = values.map((value): Option => [value, names[value] ?? value]);
    return <SelectField {...bind(name)} options={values.includes(text(name)) ? known : [nothing, ...known]} />;
  };
  return (
    <section class="card" aria-label={texts.override}>
      <h2>{texts.override}</h2>
      <p class="quiet">{texts.overrideHint}</p>
      <div class="form-grid">
        {choice('BootSourceOverrideEnabled', texts.enabledValues)}
        {isOff ? null : choice('BootSourceOverrideTarget', texts.targets)}
        {choice('BootSourceOverrideMode', texts.modes)}
        {detail === undefined ? null : detail === 'HttpBootUri' ? (
          <TextField {...bind(detail)} type="url" placeholder="http://" />
        ) : (
          <SelectField {...bind(detail)} options={[nothing, ...devicesOf(detail, options)]} />
        )}
      </div>
      {isReadOnly ? null : (
        <DraftBar
          draft={draft}
          labelOf={(name) => labels[name] ?? name}
          textOf={(value) => valueNames[String(value)] ?? valueText(value)}
          saveLabel={texts.saveOverride}
        />
      )}
    </section>
  );
}
