/** The state of a form or dialog that sends one request. */
import { useSignal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { showToast } from './frame/toast.js';
import { messageOf } from './states.js';
import { uiTexts as texts } from '../texts/index.js';

/** The state of a form or a dialog. */
interface SubmitState {
  /** The error of the last request; null: none. */
  readonly failure: ReadonlySignal<unknown>;
  readonly isBusy: ReadonlySignal<boolean>;
  /** For `onSubmit` and `onClick`. It does nothing while a request runs. */
  readonly submit: (event: Event) => void;
}

/** Options of {@link useSubmit}. */
interface SubmitOptions {
  /** The title of the form. If the user has closed the form, a message with this title reports the failure. */
  readonly title: string;
  /** Called after the request has succeeded, unless the user has closed the form meanwhile. */
  readonly onDone?: () => void;
}

/** Sends a request when the user submits a form. */
export function useSubmit(action: () => Promise<void> | void, { title, onDone }: SubmitOptions): SubmitState {
  const failure = useSignal<unknown>(null);
  const isBusy = useSignal(false);
  const isOpen = useRef(true);
  useEffect(() => {
    isOpen.current = true;
    return () => {
      isOpen.current = false;
    };
  }, []);
  const send = async (): Promise<void> => {
    isBusy.value = true;
    failure.value = null;
    try {
      await action();
      if (isOpen.current) onDone?.();
    } catch (thrown) {
      failure.value = thrown;
      if (!isOpen.current) showToast('bad', texts.failedLater(title, messageOf(thrown)));
    } finally {
      isBusy.value = false;
    }
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    if (!isBusy.peek()) void send();
  };
  return { failure, isBusy, submit };
}
