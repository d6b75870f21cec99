/** Short messages about results, at the edge of the window. */
import { signal } from '@preact/signals';
import { Button } from '../button.js';
import { uiTexts as texts } from '../../texts/index.js';

interface Toast {
  readonly id: number;
  readonly kind: 'good' | 'bad' | 'info';
  readonly text: string;
  /** The topmost dialog when the message appeared; undefined: none. */
  readonly dialog: string | undefined;
}

/** How long a message that is not an error stays, in milliseconds. */
const SHOWN_MS = 6000;
/** Older messages disappear when there are more. */
const MAX_TOASTS = 4;

const toasts = signal<readonly Toast[]>([]);
/** The open dialogs, the topmost last. Everything behind it is inert: no user can dismiss or hear a message there. */
const dialogs = signal<readonly string[]>([]);
let nextId = 0;

/**
 * Shows a message. An error stays until the user dismisses it, or until enough newer messages
 * replace it.
 */
export function showToast(kind: Toast['kind'], text: string): void {
  const id = (nextId += 1);
  toasts.value = [...toasts.value, { id, kind, text, dialog: dialogs.peek().at(-1) }].slice(-MAX_TOASTS);
  if (kind !== 'bad') setTimeout(() => end(id), SHOWN_MS);
}

/** Shows new messages in a dialog. Returns a function that ends this: then they are in the shell. */
export function showToastsIn(dialog: string): () => void {
  dialogs.value = [...dialogs.value, dialog];
  return () => {
    dialogs.value = dialogs.value.filter((id) => id !== dialog);
  };
}

/**
 * The messages. The shell and each dialog have a place for them. Screen readers announce new messages. Earlier messages
 * would cover the title of a dialog.
 * @param dialog the id of the dialog; undefined: the shell.
 */
export function Toasts({ dialog }: { readonly dialog?: string }) {
  const shown = toasts.value.filter((toast) => {
    const isOpen = toast.dialog !== undefined && dialogs.value.includes(toast.dialog);
    return (isOpen ? toast.dialog : undefined) === dialog;
  });
  return (
    <div class="toasts" role="log" aria-live="polite" aria-label={texts.notifications}>
      {shown.map(({ id, kind, text }) => (
        <div key={id} id={`toast-${id}`} class={`toast ${kind}`}>
          <span class="grow">{text}</span>
          <Button kind="quiet" aria-label={texts.dismiss(text)} onClick={() => dismiss(id)}>
            <span aria-hidden="true">✕</span>
          </Button>
        </div>
      ))}
    </div>
  );
}

/** Removes a message whose time is over; later, if its button has the focus. */
function end(id: number): void {
  if (document.activeElement?.closest('.toast')?.id === `toast-${id}`) setTimeout(() => end(id), SHOWN_MS);
  else dismiss(id);
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}
