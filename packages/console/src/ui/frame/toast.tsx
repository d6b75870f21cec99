/** Short messages about results, at the edge of the window. */
import { signal } from '@preact/signals';
import { Button } from '../button.js';
import { uiTexts as texts } from '../../texts/index.js';

interface Toast {
  readonly id: number;
  readonly kind: 'good' | 'bad' | 'info';
  readonly text: string;
  /** The place of the message: the id of a dialog, or a place in the shell. */
  readonly place: string;
  /** When the message appeared, as in `performance.now()`. */
  readonly sinceMs: number;
}

/** The places in the shell: at its lower edge, or where a dialog showed the message before it closed. */
const places = { edge: 'edge', left: 'left' } as const;
/** A message that was in a dialog for this time has been seen there, in milliseconds. */
const SEEN_MS = 300;

/** How long a message that is not an error stays, in milliseconds. */
const SHOWN_MS = 6000;
/** Older messages disappear when there are more. */
const MAX_TOASTS = 4;

const toasts = signal<readonly Toast[]>([]);
/**
 * The open dialogs, the topmost last. Everything behind the topmost dialog is inert: no user can dismiss or hear a
 * message there.
 */
let dialogs: readonly string[] = [];
let nextId = 0;

/**
 * Shows a message. An error stays until the user dismisses it, or until enough newer messages
 * replace it.
 */
export function showToast(kind: Toast['kind'], text: string): void {
  const id = (nextId += 1);
  toasts.value = [
    ...toasts.value,
    { id, kind, text, place: dialogs.at(-1) ?? places.edge, sinceMs: performance.now() },
  ].slice(-MAX_TOASTS);
  if (kind !== 'bad') setTimeout(() => end(id), SHOWN_MS);
}

/**
 * Shows new messages in a dialog. Returns a function that stops this, and moves the messages to the dialog behind it,
 * or to the shell. In the shell, a message that the user has already seen stays at its position in the window.
 */
export function showToastsIn(dialog: string): () => void {
  dialogs = [...dialogs, dialog];
  return () => {
    dialogs = dialogs.filter((id) => id !== dialog);
    const moved = (sinceMs: number): string =>
      dialogs.at(-1) ?? (performance.now() - sinceMs < SEEN_MS ? places.edge : places.left);
    toasts.value = toasts
      .peek()
      .map((toast) => (toast.place === dialog ? { ...toast, place: moved(toast.sinceMs) } : toast));
  };
}

/** The messages of the shell. Screen readers do not announce a message again that the user has seen in a dialog. */
export function ShellToasts() {
  return (
    <>
      <Toasts place={places.edge} />
      {toasts.value.some(({ place }) => place === places.left) ? <Toasts place={places.left} /> : null}
    </>
  );
}

/**
 * The messages at a place. Screen readers announce new messages. A dialog has no messages from before it opened,
 * because they would cover its title.
 * @param place the id of the dialog, or a place in the shell.
 */
export function Toasts({ place }: { readonly place: string }) {
  const shown = toasts.value.filter((toast) => toast.place === place);
  const isLeft = place === places.left;
  return (
    <div
      class={isLeft ? 'toasts left' : 'toasts'}
      role="log"
      aria-live={isLeft ? 'off' : 'polite'}
      aria-label={texts.notifications}
    >
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
