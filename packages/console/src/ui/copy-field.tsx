/** A text that the user copies, such as a new key. */
import { useRef } from 'preact/hooks';
import { Button } from './button.js';
import { Field } from './field.js';
import { texts } from './texts/en.js';
import { showToast } from './frame/toast.js';

/** A field with a button that copies its text. Browsers allow the clipboard only over HTTPS and on localhost. */
export function CopyField({ label, value }: { readonly label: string; readonly value: string }) {
  const input = useRef<HTMLInputElement>(null);
  const copy = async (): Promise<void> => {
    input.current?.select();
    try {
      await navigator.clipboard.writeText(value);
      showToast('good', texts.copied);
    } catch {
      showToast('info', texts.copyYourself);
    }
  };
  return (
    <Field label={label}>
      {(control) => (
        <div class="row nowrap">
          <input {...control} ref={input} class="input mono grow" readOnly value={value} />
          <Button onClick={() => void copy()}>{texts.copy}</Button>
        </div>
      )}
    </Field>
  );
}
