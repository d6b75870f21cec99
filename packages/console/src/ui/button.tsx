/** Buttons, and links that look like buttons. */
import type { ComponentChildren, JSX } from 'preact';

/** Properties of `Button`, in addition to those of `<button>`. */
interface ButtonProps extends Omit<JSX.IntrinsicElements['button'], 'size' | 'disabled'> {
  /** `primary`: the main action of a view. `danger`: an action that loses something. Default: `plain`. */
  readonly kind?: 'plain' | 'primary' | 'danger' | 'quiet';
  /** Whether the action runs: the button shows that, and does nothing. */
  readonly isBusy?: boolean;
  /**
   * Whether the button does nothing now. It keeps the focus and stays a stop of Tab: browsers differ in what happens to
   * the focus of an element with the attribute `disabled`.
   */
  readonly disabled?: boolean;
  readonly children?: ComponentChildren;
}

/** A button. Its default type is `button`, so that it does not submit a form by mistake. */
export function Button({
  kind = 'plain',
  isBusy = false,
  disabled = false,
  class: extra,
  children,
  onClick,
  ...rest
}: ButtonProps) {
  const isInert = isBusy || disabled;
  return (
    <button
      type="button"
      {...rest}
      class={`button ${kind} ${typeof extra === 'string' ? extra : ''}`}
      aria-disabled={isInert || undefined}
      aria-busy={isBusy}
      // A click on a button of a form submits it, also a click that the Enter key in a field causes. So a button that
      // does nothing must also prevent this.
      onClick={isInert ? (event) => event.preventDefault() : onClick}
    >
      {isBusy ? <span class="spinner" aria-hidden="true" /> : null}
      {children}
    </button>
  );
}
