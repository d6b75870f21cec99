/** The dialogs that create and edit a key. */
import { useSignal } from '@preact/signals';
import { Button } from '../../../ui/button.js';
import { CopyField } from '../../../ui/copy-field.js';
import { Dialog } from '../../../ui/dialog.js';
import { Checkbox, SelectField, TextField } from '../../../ui/field.js';
import { ErrorState, messageOf, Notice } from '../../../ui/states.js';
import { useSubmit } from '../../../ui/submit.js';
import { createKey, nameOf, updateKey, type ListedKey } from '../../api/keys.js';
import { keysTexts as texts } from '../../../texts/index.js';
import { fieldsOf, settingsOf, type KeyFields } from './key-form.js';

const { form: labels } = texts;

/** Properties of {@link KeyDialog}. */
interface KeyDialogProps {
  /** The key to edit; null: a new one. */
  readonly edited: ListedKey | null;
  /** Public names of all models. */
  readonly models: readonly string[];
  readonly onClose: () => void;
  /** Called with the new key, or with null after a change. */
  readonly onSaved: (key: string | null, name: string) => void;
}

/** Asks for the settings of a key, and saves them. */
export function KeyDialog({ edited, models, onClose, onSaved }: KeyDialogProps) {
  const fields = useSignal(fieldsOf(edited));
  const set = (changed: Partial<KeyFields>): void => {
    fields.value = { ...fields.value, ...changed };
  };
  const title = edited === null ? labels.createTitle : labels.editTitle(nameOf(edited));
  const save = async (): Promise<void> => {
    const settings = settingsOf(fields.value, edited);
    const name = fields.value.alias.trim();
    if (edited === null) onSaved(await createKey(settings), name || texts.newKey);
    else {
      if (Object.keys(settings).length > 0) await updateKey(edited.token, settings);
      onSaved(null, name || nameOf(edited));
    }
  };
  // The dialog with the new key replaces this one.
  const form = useSubmit(save, edited === null ? { title } : { title, onDone: onClose });
  return (
    <Dialog title={title} isWide onClose={onClose}>
      <form onSubmit={form.submit}>
        <div class="columns">
          <TextField
            label={labels.alias}
            hint={labels.aliasHint}
            value={fields.value.alias}
            onValue={(alias) => set({ alias })}
            maxLength={256}
            autocomplete="off"
            autofocus
          />
          <TextField
            label={labels.team}
            hint={labels.teamHint}
            value={fields.value.team}
            onValue={(team) => set({ team })}
            maxLength={256}
            autocomplete="off"
          />
        </div>
        <Models names={models} selected={fields.value.models} onSelect={(selected) => set({ models: selected })} />
        <Limits fields={fields.value} set={set} />
        <Validity fields={fields.value} isNew={edited === null} set={set} />
        {form.failure.value === null ? null : <ErrorState message={messageOf(form.failure.value)} />}
        <div class="actions">
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button kind="primary" type="submit" isBusy={form.isBusy.value}>
            {edited === null ? texts.create : labels.save}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface ModelsProps {
  readonly names: readonly string[];
  readonly selected: readonly string[];
  readonly onSelect: (selected: readonly string[]) => void;
}

/** The models of the key. The list also has the selected names that are no longer in the configuration. */
function Models({ names, selected, onSelect }: ModelsProps) {
  return (
    <fieldset class="field choices">
      <legend>{labels.models}</legend>
      {[...new Set([...names, ...selected])].map((name) => (
        <Checkbox
          key={name}
          label={name}
          isChecked={selected.includes(name)}
          onChange={(isChecked) =>
            onSelect(isChecked ? [...selected, name] : selected.filter((other) => other !== name))
          }
        />
      ))}
      <small>{labels.modelsHint}</small>
    </fieldset>
  );
}

interface PartProps {
  readonly fields: KeyFields;
  readonly set: (changed: Partial<KeyFields>) => void;
}

/** Limits of requests and tokens. */
function Limits({ fields, set }: PartProps) {
  const numbers = [
    ['rpm', labels.rpm],
    ['tpm', labels.tpm],
    ['parallel', labels.parallel],
  ] as const;
  return (
    <div class="columns">
      {numbers.map(([name, label]) => (
        <TextField
          key={name}
          label={label}
          hint={labels.empty}
          type="number"
          min={0}
          step={1}
          value={fields[name]}
          onValue={(value) => set({ [name]: value })}
        />
      ))}
    </div>
  );
}

/** Budget, expiry and type. */
function Validity({ fields, isNew, set }: PartProps & { readonly isNew: boolean }) {
  const periods = Object.entries(labels.periods);
  const isOther = !periods.some(([value]) => value === fields.period);
  return (
    <div class="columns">
      <TextField
        label={labels.budget}
        hint={labels.empty}
        type="number"
        min={0}
        step="any"
        value={fields.budget}
        onValue={(budget) => set({ budget })}
      />
      <SelectField
        label={labels.period}
        value={fields.period}
        onValue={(period) => set({ period })}
        options={isOther ? [fields.period, ...periods] : periods}
      />
      <SelectField
        label={labels.expires}
        value={fields.expires}
        onValue={(expires) => set({ expires })}
        options={[...(isNew ? [] : [['keep', labels.keepExpiry] as const]), ...Object.entries(labels.expiries)]}
      />
      {isNew ? (
        <SelectField
          label={labels.type}
          value={fields.type}
          onValue={(type) => set({ type })}
          options={Object.entries(labels.types)}
        />
      ) : null}
    </div>
  );
}

/** Shows a new key, once. */
export function NewKeyDialog({
  secret,
  name,
  onClose,
}: {
  readonly secret: string;
  readonly name: string;
  readonly onClose: () => void;
}) {
  return (
    <Dialog title={texts.created(name)}>
      <Notice kind="warn">{texts.createdHint}</Notice>
      <CopyField label={texts.key} value={secret} />
      <CopyField
        label={texts.example}
        value={`curl ${location.origin}/v1/models -H 'Authorization: Bearer ${secret}'`}
      />
      <div class="actions">
        <Button kind="primary" onClick={onClose}>
          {texts.done}
        </Button>
      </div>
    </Dialog>
  );
}
