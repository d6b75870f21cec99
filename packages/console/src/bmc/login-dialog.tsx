/** The dialogs for a login and for a new password. */
import { useSignal } from '@preact/signals';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { TextField } from '../ui/field.js';
import { ErrorState, messageOf } from '../ui/states.js';
import { useSubmit } from '../ui/submit.js';
import { changePassword, logIn } from './redfish/session.js';
import { RedfishFailure } from './redfish/wire.js';
import { consoleTexts as texts } from '../texts/index.js';

/**
 * Asks for user and password. `expired` not null: a session has ended, and its page continues after the login of
 * the same user.
 */
export function LoginDialog({ expired }: { readonly expired: { readonly user: string | null } | null }) {
  const expiredUser = expired?.user ?? '';
  const user = useSignal(expiredUser);
  const password = useSignal('');
  const title = expired === null ? texts.logInTo : texts.logInAgain;
  const form = useSubmit(() => logIn(user.value, password.value), { title });
  return (
    <Dialog title={title}>
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
        <Failure of={form.failure.value} />
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
  const title = texts.passwordChange(user);
  const form = useSubmit(
    async () => {
      if (first.value !== second.value) throw new Error(texts.passwordsDiffer);
      await changePassword(user, account, first.value);
    },
    { title },
  );
  const fields = [
    [texts.newPassword, first],
    [texts.newPasswordAgain, second],
  ] as const;
  return (
    <Dialog title={title}>
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
        <Failure of={form.failure.value} />
        <div class="actions">
          <Button kind="primary" type="submit" isBusy={form.isBusy.value}>
            {texts.savePassword}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** The failure of a login or of a password change; nothing without a failure. */
function Failure({ of: thrown }: { readonly of: unknown }) {
  if (thrown === null) return null;
  const isRefused = thrown instanceof RedfishFailure && thrown.status === 401;
  return <ErrorState message={isRefused ? texts.wrongPassword : messageOf(thrown)} />;
}
