/** The question before a user leaves unfinished work. */
import { ConfirmDialog } from '../confirm-dialog.js';
import { uiTexts as texts } from '../../texts/index.js';
import { question } from './leaving.js';

/** Shows the question, if one is open. */
export function LeaveDialog() {
  if (question.value === null) return null;
  const { lost, go, stay } = question.value;
  return (
    <ConfirmDialog
      title={texts.leaving.title}
      lost={lost}
      confirmLabel={texts.leaving.leave}
      dismissLabel={texts.leaving.stay}
      onConfirm={go}
      onClose={stay}
    />
  );
}
