/** The state of a form that sends one request. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import { messageOf } from './states.js';

/** A form. */
interface SubmitState {
  /** The fault of the last request; null: none. */
  readonly error: ReadonlySignal<string | null>;
  readonly isBusy: ReadonlySignal<boolean>;
  /** For `onSubmit`. */
  readonly submit: (event: Event) => void;
}

/**
 * Sends a request when the user submits a form.
 * @param explain returns the text for a failure. Default: the message of the failure.
 */
export function useSubmit(action: () => Promise<void>, explain: (thrown: unknown) => string = messageOf): SubmitState {
  const error = useSignal<string | null>(null);
  const isBusy = useSignal(false);
  const submit = (event: Event): void => {
    event.preventDefault();
    isBusy.value = true;
    error.value = null;
    action()
      .catch((thrown: unknown) => {
        error.value = explain(thrown);
      })
      .finally(() => {
        isBusy.value = false;
      });
  };
  return { error, isBusy, submit };
}
