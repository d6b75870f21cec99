/** Fields of a form: a label, a control, a hint and an error, connected for screen readers. */
import type { AllHTMLAttributes, ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { uiTexts as texts } from '../texts/index.js';

/** The attributes that connect a control with its label, hint and error. */
interface ControlProps {
  readonly id: string;
  readonly 'aria-describedby'?: string;
  readonly 'aria-invalid'?: boolean;
}

/** Properties of `Field`. */
interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  /** A fault of the value. Screen readers announce it. */
  readonly error?: string | undefined;
  readonly isRequired?: boolean;
  /** Renders the control with the attributes that it gets. */
  readonly children: (control: ControlProps) => ComponentChildren;
}

/** A field with any control. `TextField` and `SelectField` cover the usual ones. */
export function Field({ label, hint, error, isRequired = false, children }: FieldProps) {
  const id = useId();
  const described = [hint === undefined ? '' : `${id}-hint`, error === undefined ? '' : `${id}-error`]
    .filter((each) => each !== '')
    .join(' ');
  return (
    <div class={error === undefined ? 'field' : 'field invalid'}>
      <label for={id}>
        {label}
        {isRequired ? (
          <span class="quiet" title={texts.required}>
            {' *'}
          </span>
        ) : null}
      </label>
      {children({
        id,
        ...(described === '' ? {} : { 'aria-describedby': described }),
        ...(error === undefined ? {} : { 'aria-invalid': true }),
      })}
      {hint === undefined ? null : <small id={`${id}-hint`}>{hint}</small>}
      {error === undefined ? null : (
        <small id={`${id}-error`} class="fault" role="alert">
          {error}
        </small>
      )}
    </div>
  );
}

interface ValueProps extends Omit<FieldProps, 'children'> {
  readonly value: string;
  readonly onValue: (value: string) => void;
}

/** Properties of `TextField`: further attributes go to `<input>`. */
type TextFieldProps = ValueProps & Omit<AllHTMLAttributes<HTMLInputElement>, keyof ValueProps>;

/** A field for one line of text; `type` makes it a field for passwords or numbers, for example. */
export function TextField({ label, hint, error, isRequired = false, value, onValue, ...rest }: TextFieldProps) {
  return (
    <Field label={label} hint={hint} error={error} isRequired={isRequired}>
      {(control) => (
        <input
          class="input"
          required={isRequired}
          {...(rest as object)} // Preact's types allow only some roles for each type of input.
          {...control}
          value={value}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** Properties of `TextAreaField`: further attributes go to `<textarea>`. */
type TextAreaFieldProps = ValueProps & Omit<AllHTMLAttributes<HTMLTextAreaElement>, keyof ValueProps>;

/** A field for several lines of text. */
export function TextAreaField({ label, hint, error, isRequired = false, value, onValue, ...rest }: TextAreaFieldProps) {
  return (
    <Field label={label} hint={hint} error={error} isRequired={isRequired}>
      {(control) => (
        <textarea
          class="input"
          required={isRequired}
          {...(rest as object)} // Preact's types allow only some roles, as in `TextField`
          {...control}
          value={value}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** A value of a select, with its text if that differs. */
export type Option = string | readonly [value: string, label: string];

/** Properties of `Select`. */
type SelectProps = Omit<AllHTMLAttributes<HTMLSelectElement>, 'value'> & {
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly options: readonly Option[];
};

/** A select without a label of its own. Give it an `aria-label`. */
export function Select({ value, onValue, options, ...rest }: SelectProps) {
  return (
    <select class="input" {...(rest as object)} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
      {options.map((option) => {
        const [key, label] = typeof option === 'string' ? [option, option] : option;
        return (
          <option key={key} value={key}>
            {label}
          </option>
        );
      })}
    </select>
  );
}

/** Properties of `SelectField`. */
type SelectFieldProps = ValueProps & { readonly options: readonly Option[]; readonly disabled?: boolean };

/** A field with a list of values. */
export function SelectField({ label, hint, error, isRequired = false, ...rest }: SelectFieldProps) {
  return (
    <Field label={label} hint={hint} error={error} isRequired={isRequired}>
      {(control) => <Select {...rest} {...control} required={isRequired} />}
    </Field>
  );
}

/** Properties of `Checkbox`. */
interface CheckboxProps {
  readonly label: ComponentChildren;
  readonly isChecked: boolean;
  readonly onChange: (isChecked: boolean) => void;
  readonly disabled?: boolean;
}

/** A checkbox with its label beside it. */
export function Checkbox({ label, isChecked, onChange, disabled = false }: CheckboxProps) {
  return (
    <label class="checkbox">
      <input
        type="checkbox"
        checked={isChecked}
        disabled={disabled}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>{label}</span>
    </label>
  );
}
