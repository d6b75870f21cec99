/** Buttons, and links that look like buttons. */
import type { ComponentChildren, JSX } from 'preact';

/** Properties of `Button`, in addition to those of `<button>`. */
interface ButtonProps extends Omit<JSX.IntrinsicElements['button'], 'size'> {
  /** `primary`: the main action of a view. `danger`: an action that loses something. Default: `plain`. */
  readonly kind?: 'plain' | 'primary' | 'danger' | 'quiet';
  /** Whether the action runs: the button shows that, and does nothing. It keeps the focus, so it is not `disabled`. */
  readonly isBusy?: boolean;
  readonly children?: ComponentChildren;
}

/** A button. Its type is `button`, so that it does not submit a form by mistake. */
export function Button({ kind = 'plain', isBusy = false, class: extra, children, onClick, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      class={`button ${kind} ${typeof extra === 'string' ? extra : ''}`}
      aria-disabled={isBusy || undefined}
      aria-busy={isBusy}
      // A click on a button of a form submits it, also a click that the Enter key in a field causes.
      onClick={isBusy ? (event) => event.preventDefault() : onClick}
    >
      {isBusy ? <span class="spinner" aria-hidden="true" /> : null}
      {children}
    </button>
  );
}
