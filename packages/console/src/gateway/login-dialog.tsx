/** The dialog for the login with a key. */
import { useSignal } from '@preact/signals';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { TextField } from '../ui/field.js';
import { ErrorState, messageOf } from '../ui/states.js';
import { useSubmit } from '../ui/submit.js';
import { isRefused, logIn } from './api/session.js';
import { frameTexts as texts } from '../texts/index.js';

/** Asks for a key. `isExpired`: a page is behind the dialog, and continues after the login. */
export function LoginDialog({ isExpired }: { readonly isExpired: boolean }) {
  const key = useSignal('');
  const title = isExpired ? texts.logInAgain : texts.logInTo;
  const form = useSubmit(() => logIn(key.value.trim()), { title });
  const failure = form.failure.value;
  return (
    <Dialog title={title}>
      {isExpired ? <p>{texts.keptHint}</p> : null}
      <form onSubmit={form.submit}>
        <TextField
          label={texts.key}
          hint={texts.keyHint}
          type="password"
          name="key"
          value={key.value}
          onValue={(value) => {
            key.value = value;
          }}
          autocomplete="current-password"
          autofocus
          isRequired
        />
        {failure === null ? null : <ErrorState message={isRefused(failure) ? texts.wrongKey : messageOf(failure)} />}
        <div class="actions">
          <Button kind="primary" type="submit" isBusy={form.isBusy.value}>
            {texts.logIn}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
