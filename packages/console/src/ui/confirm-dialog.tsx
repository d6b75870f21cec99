/** The confirmation of an action that loses something. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './button.js';
import { Dialog } from './dialog.js';
import { TextField } from './field.js';
import { ErrorState, messageOf } from './states.js';
import { useSubmit } from './submit.js';
import { visibleText } from './frame/visible-text.js';
import { uiTexts as texts } from '../texts/index.js';

/** Properties of `ConfirmDialog`. */
interface ConfirmDialogProps {
  /** The question, such as `Turn off node-1?`. */
  readonly title: string;
  /** The things that are lost, such as `Unsaved work of the guest`. */
  readonly lost: readonly string[];
  /** The text of the button that performs the action, such as `Turn off`. */
  readonly confirmLabel: string;
  /**
   * The text of the button that closes the dialog without the action. Default: `Cancel`, which is misleading if the
   * action itself cancels something.
   */
  readonly dismissLabel?: string;
  /**
   * A name that the user must type before the button works. Hidden characters may be typed as the dialog shows
   * them.
   */
  readonly typed?: string;
  /** Further text above the buttons. */
  readonly children?: ComponentChildren;
  /** Performs the action. If it fails, the dialog shows the error and stays open. */
  readonly onConfirm: () => Promise<void> | void;
  readonly onClose: () => void;
}

/**
 * Asks before an action that loses something, and names what is lost. The focus starts at the button that changes
 * nothing.
 */
export function ConfirmDialog({
  title,
  lost,
  confirmLabel,
  dismissLabel = texts.cancel,
  typed = '',
  children,
  onConfirm,
  onClose,
}: ConfirmDialogProps) {
  const [input, setInput] = useState('');
  const { failure, isBusy, submit } = useSubmit(onConfirm, { title, onDone: onClose });
  return (
    <Dialog title={title} onClose={onClose}>
      {lost.length === 0 ? null : (
        <>
          <p>{texts.lost}</p>
          <ul class="lost">
            {lost.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </>
      )}
      {children}
      {typed === '' ? null : (
        <TextField label={texts.typeName(typed)} value={input} onValue={setInput} autocomplete="off" />
      )}
      {failure.value === null ? null : <ErrorState message={messageOf(failure.value)} />}
      <div class="actions">
        <Button autofocus disabled={isBusy.value} onClick={onClose}>
          {dismissLabel}
        </Button>
        <Button
          kind={lost.length === 0 ? 'primary' : 'danger'}
          isBusy={isBusy.value}
          disabled={input !== typed && input !== visibleText(typed)}
          onClick={submit}
        >
          {confirmLabel}
        </Button>
      </div>
    </Dialog>
  );
}
