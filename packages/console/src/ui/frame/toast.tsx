/** Short messages about results, at the edge of the window. */
import { signal } from '@preact/signals';
import { Button } from '../button.js';
import { uiTexts as texts } from '../../texts/index.js';

interface Toast {
  readonly id: number;
  readonly kind: 'good' | 'bad' | 'info';
  readonly text: string;
}

/** How long a message that is not an error stays, in milliseconds. */
const SHOWN_MS = 6000;
/** Older messages disappear when there are more. */
const MAX_TOASTS = 4;

const toasts = signal<readonly Toast[]>([]);
let nextId = 0;

/**
 * Shows a message. An error stays until the user dismisses it, or until enough newer messages
 * replace it.
 */
export function showToast(kind: Toast['kind'], text: string): void {
  const id = (nextId += 1);
  toasts.value = [...toasts.value, { id, kind, text }].slice(-MAX_TOASTS);
  if (kind !== 'bad') setTimeout(() => end(id), SHOWN_MS);
}

/** The messages. The shell renders them once. Screen readers announce new messages. */
export function Toasts() {
  return (
    <div class="toasts" role="log" aria-live="polite" aria-label={texts.notifications}>
      {toasts.value.map(({ id, kind, text }) => (
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

/** Removes a message whose time is over, or later if the user is at its button. */
function end(id: number): void {
  if (document.activeElement?.closest('.toast')?.id === `toast-${id}`) setTimeout(() => end(id), SHOWN_MS);
  else dismiss(id);
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}
