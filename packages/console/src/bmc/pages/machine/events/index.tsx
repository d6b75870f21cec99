/** The event log of a machine: live, with filters, and newest first until the user sorts it. */
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { Button } from '../../../../ui/button.js';
import { ConfirmDialog } from '../../../../ui/confirm-dialog.js';
import { Select } from '../../../../ui/field.js';
import { formatSecond } from '../../../../ui/format.js';
import { showToast } from '../../../../ui/frame/toast.js';
import { useNarrow } from '../../../../ui/frame/narrow.js';
import { Badge, EmptyState, ErrorState, Loading, messageOf } from '../../../../ui/states.js';
import { sortRows, type Column, type Sorting } from '../../../../ui/table/columns.js';
import { VirtualTable } from '../../../../ui/table/virtual-table.js';
import { byText, useMembers, type Member } from '../../../collection.js';
import { post } from '../../../redfish/client.js';
import { may } from '../../../redfish/session.js';
import { logsTexts } from '../../../../texts/index.js';
import type { TabProps } from '../tab.js';

const { events: texts } = logsTexts;

/** A LogEntry of Redfish. */
interface Entry extends Member {
  readonly Id: string;
  readonly Created: string;
  readonly Severity: 'OK' | 'Warning' | 'Critical';
  readonly Message: string;
  readonly MessageId: string;
}

/** Height of a row in pixels. */
const ROW_HEIGHT = 34;
/** Height of a row in pixels on phones, where the time and the severity are below the message. */
const NARROW_ROW_HEIGHT = 68;
const kinds = { OK: 'good', Warning: 'warn', Critical: 'bad' } as const;

/** The tab Events. */
export default function EventsTab({ machine }: TabProps) {
  const uri = machine['@odata.id'];
  const log = `${uri}/LogServices/EventLog`;
  const { rows, error, reload } = useMembers<Entry>(`${log}/Entries`, { origin: uri });
  const sorting = useSignal<Sorting>({ column: 'created', isAscending: false });
  const search = useSignal('');
  const severity = useSignal('');
  const isClearing = useSignal(false);
  const isNarrow = useNarrow();
  const wanted = search.value.toLowerCase();
  const sorted = useMemo(() => sortRows(rows ?? [], columns, sorting.value), [rows, sorting.value]);
  if (rows === null)
    return error === null ? <Loading /> : <ErrorState message={messageOf(error)} onRetry={() => void reload()} />;
  const shown = sorted.filter(
    ({ Message, MessageId, Severity }) =>
      (severity.value === '' || Severity === severity.value) &&
      `${Message} ${MessageId}`.toLowerCase().includes(wanted),
  );
  return (
    <>
      <div class="row tools" role="group" aria-label={texts.label}>
        <input
          class="input"
          type="search"
          aria-label={texts.search}
          placeholder={texts.search}
          value={search.value}
          onInput={(event) => (search.value = event.currentTarget.value)}
        />
        <Select
          aria-label={texts.severity}
          value={severity.value}
          onValue={(value) => (severity.value = value)}
          options={[['', texts.anySeverity], 'OK', 'Warning', 'Critical']}
        />
        <span class="quiet grow" role="status">
          {texts.count(shown.length, rows.length)}
        </span>
        {may('ConfigureComponents') && rows.length > 0 ? (
          <Button onClick={() => (isClearing.value = true)}>{texts.clear}</Button>
        ) : null}
      </div>
      {error === null ? null : <ErrorState message={messageOf(error)} onRetry={() => void reload()} />}
      {shown.length === 0 ? (
        <EmptyState title={rows.length === 0 ? texts.empty : texts.noMatch} />
      ) : (
        <VirtualTable
          label={texts.label}
          columns={columns}
          rows={shown}
          keyOf={(entry) => entry['@odata.id']}
          sorting={sorting.value}
          onSort={(next) => (sorting.value = next)}
          rowHeight={isNarrow ? NARROW_ROW_HEIGHT : ROW_HEIGHT}
        />
      )}
      {isClearing.value ? (
        <ConfirmDialog
          title={texts.confirm(machine.Name)}
          lost={[texts.lost(rows.length)]}
          confirmLabel={texts.clear}
          onConfirm={async () => {
            await post(`${log}/Actions/LogService.ClearLog`);
            showToast('good', texts.cleared);
            await reload();
          }}
          onClose={() => (isClearing.value = false)}
        />
      ) : null}
    </>
  );
}

const columns: readonly Column<Entry>[] = [
  {
    ...{ id: 'created', title: texts.columns.created, class: 'wide' },
    render: ({ Created }) => <time dateTime={Created}>{formatSecond(Created)}</time>,
    // Entries of one millisecond have the order of their ids.
    compare: (a, b) => byText<Entry>(({ Created }) => Created)(a, b) || byText<Entry>(({ Id }) => Id)(a, b),
  },
  {
    ...{ id: 'severity', title: texts.columns.severity, class: 'wide' },
    render: ({ Severity }) => <Badge kind={kinds[Severity]}>{Severity}</Badge>,
    compare: byText(({ Severity }) => Severity),
  },
  {
    ...{ id: 'message', title: texts.columns.message, isRowHeader: true, class: 'event-text' },
    render: ({ Message, Created, Severity }) => (
      <>
        <span class="event-message" title={Message}>
          {Message}
        </span>
        <small class="event-facts">
          <Badge kind={kinds[Severity]}>{Severity}</Badge>
          <time dateTime={Created}>{formatSecond(Created)}</time>
        </small>
      </>
    ),
    compare: byText(({ Message }) => Message),
  },
  {
    ...{ id: 'id', title: texts.columns.id, class: 'event-id' },
    render: ({ MessageId }) => <code>{MessageId}</code>,
    compare: byText(({ MessageId }) => MessageId),
  },
];
