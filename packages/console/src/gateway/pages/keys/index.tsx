/** The list of virtual keys: create, edit, block and revoke them. */
import { useSignal } from '@preact/signals';
import { useCallback, useEffect } from 'preact/hooks';
import { Button } from '../../../ui/button.js';
import type { Column } from '../../../ui/table/columns.js';
import { ConfirmDialog } from '../../../ui/confirm-dialog.js';
import { TextField } from '../../../ui/field.js';
import { formatCount, formatDate } from '../../../ui/format.js';
import { PageHeader } from '../../../ui/frame/page-header.js';
import { useAnswerOrder } from '../../../ui/answer-order.js';
import { EmptyState, ErrorState, Loading, messageOf } from '../../../ui/states.js';
import { Table } from '../../../ui/table/table.js';
import { showToast } from '../../../ui/frame/toast.js';
import { listKeys, nameOf, revokeKey, setBlocked, type KeyPage, type ListedKey } from '../../api/keys.js';
import { deployments } from '../../api/models.js';
import { KeyBudget, KeyStatus, limitsOf, modelsOf } from '../../key-view.js';
import { keysTexts as texts } from '../../../texts/index.js';
import { KeyDialog, NewKeyDialog } from './key-dialog.js';

/** The dialog that is open. */
type OpenDialog =
  | { readonly kind: 'edit'; readonly key: ListedKey | null }
  | { readonly kind: 'created'; readonly secret: string; readonly name: string }
  | { readonly kind: 'revoke' | 'block'; readonly key: ListedKey };

/** The page Keys. */
export default function KeysPage() {
  const search = useSignal('');
  const page = useSignal(1);
  const dialog = useSignal<OpenDialog | null>(null);
  const { found, error, read } = useKeys(page.value, search.value);
  useEffect(() => {
    // The last key of the last page may have been revoked.
    if (found !== null && found.current_page > found.total_pages) page.value = Math.max(1, found.total_pages);
  }, [found]);
  const show = (next: OpenDialog | null): void => {
    dialog.value = next;
  };
  const unblock = (key: ListedKey): void => {
    setBlocked(key.token, false).then(
      () => {
        showToast('good', texts.unblocked(nameOf(key)));
        void read();
      },
      (thrown: unknown) => showToast('bad', messageOf(thrown)),
    );
  };
  return (
    <>
      <PageHeader
        title={texts.title}
        subtitle={found === null ? undefined : texts.count(found.total_count, formatCount(found.total_count))}
        actions={
          <Button kind="primary" onClick={() => show({ kind: 'edit', key: null })}>
            {texts.create}
          </Button>
        }
      />
      <div class="filters">
        <TextField
          label={texts.search}
          type="search"
          value={search.value}
          onValue={(value) => {
            search.value = value;
            page.value = 1;
          }}
        />
      </div>
      {error === null ? null : <ErrorState title={texts.failed} message={error} onRetry={() => void read()} />}
      {found === null ? (
        error === null ? (
          <Loading />
        ) : null
      ) : found.keys.length === 0 ? (
        <EmptyState title={search.value === '' ? texts.empty : texts.noMatch}>
          {search.value === '' ? texts.emptyHint : null}
        </EmptyState>
      ) : (
        <Table label={texts.table} columns={columnsOf(show, unblock)} rows={found.keys} keyOf={({ token }) => token} />
      )}
      {found === null || found.total_pages < 2 ? null : (
        <Pager
          found={found}
          onPage={(next) => {
            page.value = next;
          }}
        />
      )}
      {dialog.value === null ? null : <KeyDialogs open={dialog.value} show={show} read={read} />}
    </>
  );
}

/** Reads a page of keys. */
function useKeys(page: number, search: string) {
  const state = useSignal<{ readonly found: KeyPage | null; readonly error: string | null }>({
    found: null,
    error: null,
  });
  const order = useAnswerOrder();
  const read = useCallback(async () => {
    const accept = order.begin();
    const result = await listKeys(page, search).then(
      (found) => ({ found, error: null }),
      (thrown: unknown) => ({ ...state.peek(), error: messageOf(thrown) }),
    );
    if (accept()) state.value = result;
  }, [page, search]);
  useEffect(() => {
    // The page or the search may have changed: ignores answers for the earlier one.
    order.forget();
    void read();
  }, [read]);
  return { ...state.value, read };
}

interface DialogsProps {
  readonly open: OpenDialog;
  readonly show: (next: OpenDialog | null) => void;
  readonly read: () => Promise<void>;
}

/** The open dialog. */
function KeyDialogs({ open, show, read }: DialogsProps) {
  const close = (): void => show(null);
  if (open.kind === 'created') return <NewKeyDialog secret={open.secret} name={open.name} onClose={close} />;
  if (open.kind === 'edit')
    return (
      <KeyDialog
        edited={open.key}
        models={[...new Set((deployments.value ?? []).map(({ model_name: name }) => name))]}
        onClose={close}
        onSaved={(secret, name) => {
          void read();
          if (secret === null) showToast('good', texts.saved(name));
          else show({ kind: 'created', secret, name });
        }}
      />
    );
  const { key, kind } = open;
  const name = nameOf(key);
  const isRevoke = kind === 'revoke';
  return (
    <ConfirmDialog
      title={isRevoke ? texts.revokeTitle(name) : texts.blockTitle(name)}
      lost={isRevoke ? texts.revokeLost : texts.blockLost}
      confirmLabel={isRevoke ? texts.revoke : texts.block}
      onConfirm={async () => {
        await (isRevoke ? revokeKey(key.token) : setBlocked(key.token, true));
        showToast('good', isRevoke ? texts.revoked(name) : texts.blocked(name));
        await read();
      }}
      onClose={close}
    />
  );
}

/** The buttons for further pages. */
function Pager({ found, onPage }: { readonly found: KeyPage; readonly onPage: (page: number) => void }) {
  const { current_page: page, total_pages: pages } = found;
  return (
    <div class="row pager">
      <Button disabled={page <= 1} onClick={() => onPage(page - 1)}>
        {texts.previous}
      </Button>
      <span>{texts.page(page, pages)}</span>
      <Button disabled={page >= pages} onClick={() => onPage(page + 1)}>
        {texts.next}
      </Button>
    </div>
  );
}

function columnsOf(show: (next: OpenDialog) => void, unblock: (key: ListedKey) => void): readonly Column<ListedKey>[] {
  const { columns: titles } = texts;
  return [
    {
      id: 'name',
      title: titles.name,
      class: 'names',
      isRowHeader: true,
      render: (key) => (
        <>
          {nameOf(key)}
          <small class="detail mono">{key.key_name}</small>
        </>
      ),
    },
    { id: 'status', title: titles.status, render: ({ status }) => <KeyStatus status={status} /> },
    { id: 'models', title: titles.models, class: 'wide names', render: modelsOf },
    { id: 'spend', title: titles.spend, render: (key) => <KeyBudget of={key} /> },
    {
      id: 'limits',
      title: titles.limits,
      class: 'wide limits',
      render: (key) => {
        const limits = limitsOf(key);
        return limits.length === 0
          ? texts.noLimits
          : limits.map((limit) => (
              <span key={limit} class="detail">
                {limit}
              </span>
            ));
      },
    },
    {
      id: 'expires',
      title: titles.expires,
      class: 'wide date',
      render: ({ expires }) => (expires === null ? texts.never : formatDate(expires)),
    },
    {
      id: 'actions',
      title: titles.actions,
      render: (key) => {
        const name = nameOf(key);
        return (
          <div class="row">
            <Button
              kind="quiet"
              aria-label={texts.actionOn(texts.edit, name)}
              onClick={() => show({ kind: 'edit', key })}
            >
              {texts.edit}
            </Button>
            {key.blocked ? (
              <Button kind="quiet" aria-label={texts.actionOn(texts.unblock, name)} onClick={() => unblock(key)}>
                {texts.unblock}
              </Button>
            ) : (
              <Button
                kind="quiet"
                aria-label={texts.actionOn(texts.block, name)}
                onClick={() => show({ kind: 'block', key })}
              >
                {texts.block}
              </Button>
            )}
            <Button
              kind="quiet"
              aria-label={texts.actionOn(texts.revoke, name)}
              onClick={() => show({ kind: 'revoke', key })}
            >
              {texts.revoke}
            </Button>
          </div>
        );
      },
    },
  ];
}
