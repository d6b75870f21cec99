/** Modal dialogs. The browser's `<dialog>` keeps the focus inside. */
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Button } from './button.js';
import { rememberFocus } from './frame/focus.js';
import { noteDialog } from './frame/leaving.js';
import { showToastsIn, Toasts } from './frame/toast.js';
import { uiTexts as texts } from '../texts/index.js';

/** Properties of `Dialog`. */
interface DialogProps {
  readonly title: string;
  /**
   * Called on Escape, on a step through the history, and on the close button. Without it, the dialog stays until its
   * owner removes it.
   */
  readonly onClose?: (() => void) | undefined;
  /** Default: about 30 rem. */
  readonly isWide?: boolean;
  readonly children: ComponentChildren;
}

/** A modal dialog. It is open as long as it is rendered. The page behind it keeps its state. */
export function Dialog({ title, onClose, isWide = false, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const close = useRef(onClose);
  close.current = onClose;
  const id = useId();
  // Opens the dialog together with its rendering. `useEffect` runs later: until then, a key press would go to the page.
  useLayoutEffect(() => {
    const dialog = element.current;
    const restoreFocus = rememberFocus();
    dialog?.showModal();
    const ends = [showToastsIn(id), noteDialog(() => close.current)];
    return () => {
      for (const end of ends) end();
      dialog?.close();
      restoreFocus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={isWide ? 'dialog wide' : 'dialog'}
      aria-labelledby={id}
      onCancel={(event) => {
        // The browser must not close the dialog itself at Escape: the owner decides in `onClose`.
        event.preventDefault();
        onClose?.();
      }}
      onClose={() => {
        // Browsers close a dialog at a second Escape, even if `preventDefault` was called at the first one.
        if (element.current?.isConnected !== true) return;
        if (onClose === undefined) element.current.showModal();
        else onClose();
      }}
    >
      <Toasts place={id} />
      <header class="row">
        <h2 id={id} class="grow">
          {title}
        </h2>
        {onClose === undefined ? null : (
          <Button kind="quiet" aria-label={texts.close} onClick={onClose}>
            <span aria-hidden="true">✕</span>
          </Button>
        )}
      </header>
      {children}
    </dialog>
  );
}
