/** The dialog that creates or changes an account. */
import { useSignal } from '@preact/signals';
import { Checkbox, SelectField, TextField } from '../../../ui/field.js';
import { showToast } from '../../../ui/frame/toast.js';
import { FormDialog, type FaultOf } from '../../form-dialog.js';
import { patch, post } from '../../redfish/client.js';
import { may } from '../../redfish/session.js';
import { useResource } from '../../resource.js';
import { accountsTexts as texts } from '../../../texts/index.js';
import { ACCOUNTS, type Account, type Role } from './account.js';

/** The part of the AccountService that limits passwords. */
interface AccountService {
  readonly MinPasswordLength?: number;
  readonly MaxPasswordLength?: number;
}

/** Properties of `AccountDialog`. */
interface AccountDialogProps {
  /** null: a new account. */
  readonly account: Account | null;
  readonly roles: readonly Role[];
  readonly onSaved: () => Promise<void>;
  readonly onClose: () => void;
}

/** The dialog. Without the privilege ConfigureUsers, it has only the fields of the password. */
export function AccountDialog({ account, roles, onSaved, onClose }: AccountDialogProps) {
  const { body: service } = useResource<AccountService>('/redfish/v1/AccountService');
  const fields = useSignal(fieldsOf(account));
  const set = (changed: Partial<AccountFields>): void => {
    fields.value = { ...fields.value, ...changed };
  };
  const limits = [service?.MinPasswordLength ?? 0, service?.MaxPasswordLength ?? 0] as const;
  const send = async (): Promise<void> => {
    const { user, role, password, again, isEnabled, mustChange } = fields.value;
    if (password !== again) throw new Error(texts.differ);
    const common = { Enabled: isEnabled, PasswordChangeRequired: mustChange };
    if (account === null) await post(ACCOUNTS, { UserName: user, Password: password, RoleId: role, ...common });
    else await patch(account['@odata.id'], changesOf(account, fields.value));
    showToast('good', texts.saved(user));
    await onSaved();
  };
  return (
    <FormDialog
      title={account === null ? texts.create : texts.editOf(account.UserName)}
      sendLabel={texts.save}
      properties={['UserName', 'Password', 'RoleId', 'Enabled', 'PasswordChangeRequired']}
      onSend={send}
      onClose={onClose}
    >
      {(faultOf) => (
        <>
          {may('ConfigureUsers') ? <Identity fields={fields.value} set={set} faultOf={faultOf} roles={roles} /> : null}
          <Passwords fields={fields.value} set={set} faultOf={faultOf} isNew={account === null} limits={limits} />
          {may('ConfigureUsers') ? <LogIn fields={fields.value} set={set} isLocked={account?.Locked === true} /> : null}
        </>
      )}
    </FormDialog>
  );
}

interface PartProps {
  readonly fields: AccountFields;
  readonly set: (changed: Partial<AccountFields>) => void;
}
interface CheckedPartProps extends PartProps {
  readonly faultOf: FaultOf;
}

/** Name and role. */
function Identity({ fields, set, faultOf, roles }: CheckedPartProps & { readonly roles: readonly Role[] }) {
  return (
    <>
      <TextField
        label={texts.user}
        value={fields.user}
        onValue={(user) => set({ user })}
        error={faultOf('UserName')}
        isRequired
        autocomplete="off"
      />
      <SelectField
        label={texts.role}
        value={fields.role}
        onValue={(role) => set({ role })}
        options={roles.map(({ RoleId }) => RoleId)}
        error={faultOf('RoleId')}
      />
    </>
  );
}

/** The new password, twice. */
function Passwords({
  fields,
  set,
  faultOf,
  isNew,
  limits,
}: CheckedPartProps & { readonly isNew: boolean; readonly limits: readonly [min: number, max: number] }) {
  return (
    <>
      <TextField
        label={isNew ? texts.password : texts.newPassword}
        hint={isNew ? texts.passwordHint(...limits) : texts.newPasswordHint(...limits)}
        type="password"
        value={fields.password}
        onValue={(password) => set({ password })}
        error={faultOf('Password')}
        isRequired={isNew}
        autocomplete="new-password"
      />
      <TextField
        label={texts.passwordAgain}
        type="password"
        value={fields.again}
        onValue={(again) => set({ again })}
        isRequired={fields.password !== ''}
        autocomplete="new-password"
      />
    </>
  );
}

/** Permission to log in, the required change of the password, and, if the account is locked, its unlocking. */
function LogIn({ fields, set, isLocked }: PartProps & { readonly isLocked: boolean }) {
  return (
    <>
      <Checkbox label={texts.mayLogIn} isChecked={fields.isEnabled} onChange={(isEnabled) => set({ isEnabled })} />
      <Checkbox label={texts.change} isChecked={fields.mustChange} onChange={(mustChange) => set({ mustChange })} />
      {isLocked ? (
        <Checkbox label={texts.unlock} isChecked={fields.isUnlocked} onChange={(isUnlocked) => set({ isUnlocked })} />
      ) : null}
    </>
  );
}

/** The fields of the form. */
interface AccountFields {
  readonly user: string;
  readonly role: string;
  readonly password: string;
  readonly again: string;
  readonly isEnabled: boolean;
  readonly isUnlocked: boolean;
  readonly mustChange: boolean;
}

function fieldsOf(account: Account | null): AccountFields {
  return {
    user: account?.UserName ?? '',
    role: account?.RoleId ?? 'ReadOnly',
    password: '',
    again: '',
    isEnabled: account?.Enabled ?? true,
    isUnlocked: false,
    mustChange: account?.PasswordChangeRequired ?? true,
  };
}

/** Returns the changed properties of an account. */
function changesOf(account: Account, next: AccountFields): object {
  return {
    ...(next.user === account.UserName ? {} : { UserName: next.user }),
    ...(next.role === account.RoleId ? {} : { RoleId: next.role }),
    ...(next.password === '' ? {} : { Password: next.password }),
    ...(next.isEnabled === account.Enabled ? {} : { Enabled: next.isEnabled }),
    ...(next.isUnlocked ? { Locked: false } : {}),
    ...(next.mustChange === account.PasswordChangeRequired ? {} : { PasswordChangeRequired: next.mustChange }),
  };
}
