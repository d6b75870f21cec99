/** The accounts, and the privileges of their roles. */
import { useSignal } from '@preact/signals';
import { Button } from '../../../ui/button.js';
import { ConfirmDialog } from '../../../ui/confirm-dialog.js';
import { showToast } from '../../../ui/frame/toast.js';
import { Badge } from '../../../ui/states.js';
import type { Column } from '../../../ui/table/columns.js';
import { Table } from '../../../ui/table/table.js';
import { byText, CollectionPage, useMembers } from '../../collection.js';
import { remove } from '../../redfish/client.js';
import { loginState, may } from '../../redfish/session.js';
import { accountsTexts as texts } from '../../../texts/index.js';
import { AccountDialog } from './account-dialog.js';
import { ACCOUNTS, type Account, type Role } from './account.js';

/** The dialog that is open. `account` null: the dialog creates an account. */
type OpenDialog =
  { readonly kind: 'edit'; readonly account: Account | null } | { readonly kind: 'remove'; readonly account: Account };

/** The page Accounts. */
export default function AccountsPage() {
  const view = useMembers<Account>(ACCOUNTS);
  const { rows: roles } = useMembers<Role>('/redfish/v1/AccountService/Roles');
  const dialog = useSignal<OpenDialog | null>(null);
  const close = (): void => {
    dialog.value = null;
  };
  const { value: open } = dialog;
  return (
    <>
      <CollectionPage
        title={texts.title}
        subtitle={view.rows === null ? undefined : texts.count(view.rows.length)}
        actions={
          may('ConfigureUsers') ? (
            <Button kind="primary" onClick={() => (dialog.value = { kind: 'edit', account: null })}>
              {texts.create}
            </Button>
          ) : null
        }
        columns={columnsOf((next) => (dialog.value = next))}
        sorting={{ column: 'user', isAscending: true }}
        view={view}
        empty={texts.empty}
        emptyHint={texts.emptyHint}
      />
      {roles === null ? null : (
        <section class="part">
          <h2>{texts.roles}</h2>
          <Table label={texts.rolesTable} columns={roleColumns} rows={roles} keyOf={({ RoleId }) => RoleId} />
        </section>
      )}
      {open?.kind === 'edit' ? (
        <AccountDialog account={open.account} roles={roles ?? []} onSaved={view.reload} onClose={close} />
      ) : null}
      {open?.kind === 'remove' ? (
        <ConfirmDialog
          title={texts.confirm(open.account.UserName)}
          lost={texts.lost(open.account.UserName)}
          confirmLabel={texts.remove}
          onConfirm={async () => {
            await remove(open.account['@odata.id']);
            showToast('good', texts.removed(open.account.UserName));
            await view.reload();
          }}
          onClose={close}
        />
      ) : null}
    </>
  );
}

const isOwn = ({ UserName }: Account): boolean =>
  loginState.value.kind === 'loggedIn' && loginState.value.user === UserName;

function State({ account }: { readonly account: Account }) {
  if (account.Locked) return <Badge kind="bad">{texts.locked}</Badge>;
  if (!account.Enabled) return <Badge kind="neutral">{texts.disabled}</Badge>;
  return account.PasswordChangeRequired ? (
    <Badge kind="warn">{texts.mustChange}</Badge>
  ) : (
    <Badge kind="good">{texts.enabled}</Badge>
  );
}

function columnsOf(show: (dialog: OpenDialog) => void): readonly Column<Account>[] {
  const { columns } = texts;
  return [
    {
      ...{ id: 'user', title: columns.user, isRowHeader: true },
      render: (account) => (
        <>
          {account.UserName} {isOwn(account) ? <small class="quiet">({texts.own})</small> : null}
        </>
      ),
      compare: byText(({ UserName }) => UserName),
    },
    {
      ...{ id: 'role', title: columns.role },
      render: ({ RoleId }) => RoleId,
      compare: byText(({ RoleId }) => RoleId),
    },
    { id: 'state', title: columns.state, render: (account) => <State account={account} /> },
    {
      ...{ id: 'actions', title: columns.actions },
      render: (account) => (
        <span class="row">
          {may('ConfigureUsers') || (isOwn(account) && may('ConfigureSelf')) ? (
            <Button
              kind="quiet"
              aria-label={texts.editOf(account.UserName)}
              onClick={() => show({ kind: 'edit', account })}
            >
              {texts.edit}
            </Button>
          ) : null}
          {may('ConfigureUsers') ? (
            <Button
              kind="quiet"
              aria-label={texts.removeOf(account.UserName)}
              onClick={() => show({ kind: 'remove', account })}
            >
              {texts.remove}
            </Button>
          ) : null}
        </span>
      ),
    },
  ];
}

const roleColumns: readonly Column<Role>[] = [
  { id: 'role', title: texts.columns.role, isRowHeader: true, render: ({ RoleId }) => RoleId },
  ...Object.entries(texts.privileges).map(([privilege, title]) => ({
    ...{ id: privilege, title },
    render: ({ AssignedPrivileges: assigned }: Role) => (assigned.includes(privilege) ? texts.yes : texts.no),
  })),
];
