/** The dialogs for a log-in and for a new password. */
import { useSignal } from '@preact/signals';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { TextField } from '../ui/field.js';
import { ErrorState, messageOf } from '../ui/states.js';
import { changePassword, logIn } from './redfish/session.js';
import { RedfishFailure } from './redfish/wire.js';
import { consoleTexts as texts } from '../texts/index.js';

/**
 * Asks for user and password. `expired`: the session of a user has ended, and the page of this user
 * continues afterwards.
 */
export function LoginDialog({ expired }: { readonly expired: { readonly user: string | null } | null }) {
  const expiredUser = expired?.user ?? '';
  const user = useSignal(expiredUser);
  const password = useSignal('');
  const form = useSubmit(() => logIn(user.value, password.value));
  return (
    <Dialog title={expired === null ? texts.logInTo : texts.logInAgain}>
      {expired === null ? null : <p>{texts.keptHint}</p>}
      <form onSubmit={form.submit}>
        <TextField
          label={texts.user}
          value={user.value}
          onValue={(value) => {
            user.value = value;
          }}
          autocomplete="username"
          autocapitalize="off"
          spellcheck={false}
          autofocus={expiredUser === ''}
          isRequired
        />
        {expiredUser === '' || expiredUser === user.value ? null : <p class="fault">{texts.otherUser(expiredUser)}</p>}
        <TextField
          label={texts.password}
          type="password"
          value={password.value}
          onValue={(value) => {
            password.value = value;
          }}
          autocomplete="current-password"
          autofocus={expiredUser !== ''}
        />
        {form.error.value === null ? null : <ErrorState message={form.error.value} />}
        <div class="actions">
          <Button kind="primary" type="submit" isBusy={form.isBusy.value}>
            {texts.logIn}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** Asks for a new password. */
export function PasswordDialog({ user, account }: { readonly user: string; readonly account: string }) {
  const first = useSignal('');
  const second = useSignal('');
  const form = useSubmit(() => {
    if (first.value !== second.value) return Promise.reject(new Error(texts.passwordsDiffer));
    return changePassword(user, account, first.value);
  });
  const fields = [
    [texts.newPassword, first],
    [texts.newPasswordAgain, second],
  ] as const;
  return (
    <Dialog title={texts.passwordChange(user)}>
      <p>{texts.passwordChangeHint}</p>
      <form onSubmit={form.submit}>
        {fields.map(([label, field]) => (
          <TextField
            key={label}
            label={label}
            type="password"
            autocomplete="new-password"
            value={field.value}
            onValue={(value) => {
              field.value = value;
            }}
            isRequired
          />
        ))}
        {form.error.value === null ? null : <ErrorState message={form.error.value} />}
        <div class="actions">
          <Button kind="primary" type="submit" isBusy={form.isBusy.value}>
            {texts.savePassword}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** The state of a form that sends one request. */
function useSubmit(action: () => Promise<void>) {
  const error = useSignal<string | null>(null);
  const isBusy = useSignal(false);
  const submit = (event: Event): void => {
    event.preventDefault();
    isBusy.value = true;
    error.value = null;
    action()
      .catch((thrown: unknown) => {
        const isRefused = thrown instanceof RedfishFailure && thrown.status === 401;
        error.value = isRefused ? texts.wrongPassword : messageOf(thrown);
      })
      .finally(() => {
        isBusy.value = false;
      });
  };
  return { error, isBusy, submit };
}
