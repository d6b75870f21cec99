/** A text that the user copies, such as a new key. */
import { Button } from './button.js';
import { copyText } from './copy.js';
import { Field } from './field.js';
import { uiTexts as texts } from '../texts/index.js';

/** A field with a button that copies its text. */
export function CopyField({ label, value }: { readonly label: string; readonly value: string }) {
  return (
    <Field label={label}>
      {(control) => (
        <div class="row">
          <input {...control} class="input mono grow" readOnly value={value} />
          <Button onClick={() => void copyText(value)}>{texts.copy}</Button>
        </div>
      )}
    </Field>
  );
}
