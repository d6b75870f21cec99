/** Buttons, and links that look like buttons. */
import type { ComponentChildren, JSX } from 'preact';

/** Properties of `Button`, in addition to those of `<button>`. */
interface ButtonProps extends Omit<JSX.IntrinsicElements['button'], 'size'> {
  /** `primary`: the main action of a view. `danger`: an action that loses something. Default: `plain`. */
  readonly kind?: 'plain' | 'primary' | 'danger' | 'quiet';
  /** Whether the action runs: the button shows that, and cannot be used. */
  readonly isBusy?: boolean;
  readonly children?: ComponentChildren;
}

/** A button. Its type is `button`, so that it does not submit a form by mistake. */
export function Button({ kind = 'plain', isBusy = false, class: extra, disabled, children, ...rest }: ButtonProps) {
  const isDisabled = isBusy || disabled === true;
  return (
    <button
      type="button"
      {...rest}
      class={`button ${kind} ${typeof extra === 'string' ? extra : ''}`}
      disabled={isDisabled}
      aria-busy={isBusy}
    >
      {isBusy ? <span class="spinner" aria-hidden="true" /> : null}
      {children}
    </button>
  );
}
