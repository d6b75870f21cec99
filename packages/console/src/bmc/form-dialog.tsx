/** A dialog with a form that sends one request. Faults in the input that the service reports appear at their fields. */
import type { ComponentChildren } from 'preact';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { ErrorState, messageOf } from '../ui/states.js';
import { useSubmit } from '../ui/submit.js';
import { uiTexts as texts } from '../texts/index.js';
import { RedfishFailure } from './redfish/wire.js';

/** Returns the fault of a property, such as `Password` or `Boot/BootOrder`; undefined: none. */
export type FaultOf = (property: string) => string | undefined;

/** Properties of `FormDialog`. */
interface FormDialogProps {
  readonly title: string;
  /** The verb of the button that sends the form. */
  readonly sendLabel: string;
  /** The properties that have a field. */
  readonly properties: readonly string[];
  readonly isWide?: boolean;
  /** Sends the form. The dialog closes if this succeeds. */
  readonly onSend: () => Promise<void>;
  readonly onClose: () => void;
  /** Renders the fields. */
  readonly children: (faultOf: FaultOf) => ComponentChildren;
}

/**
 * A dialog with a form. It shows a message that names a property at the field of this property, and all other messages
 * below the fields.
 */
export function FormDialog({ title, sendLabel, properties, isWide, onSend, onClose, children }: FormDialogProps) {
  const { failure, isBusy, submit } = useSubmit(onSend, { title, onDone: onClose });
  const { faultOf, rest } = distribute(failure.value, properties);
  return (
    <Dialog title={title} onClose={onClose} isWide={isWide ?? false}>
      <form class="stack" onSubmit={submit}>
        {children(faultOf)}
        {rest === null ? null : <ErrorState message={rest} />}
        <div class="actions">
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button kind="primary" type="submit" isBusy={isBusy.value}>
            {sendLabel}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/**
 * Distributes the messages of a failure over the fields. `rest`: the messages without a field;
 * null: none.
 */
function distribute(
  failure: unknown,
  properties: readonly string[],
): { readonly faultOf: FaultOf; readonly rest: string | null } {
  if (failure === null) return { faultOf: () => undefined, rest: null };
  if (!(failure instanceof RedfishFailure)) return { faultOf: () => undefined, rest: messageOf(failure) };
  const found = new Map<string, string>();
  const rest: string[] = [];
  for (const { text, resolution, properties: named } of failure.messages) {
    const message = `${text} ${resolution}`.trim();
    const fields = properties.filter((property) => named.includes(`#/${property}`));
    for (const field of fields) found.set(field, `${found.get(field) ?? ''} ${message}`.trim());
    if (fields.length === 0) rest.push(message);
  }
  return { faultOf: (property) => found.get(property), rest: rest.length === 0 ? null : rest.join('\n') };
}
