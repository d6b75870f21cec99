/** The open sessions. A user may end the session of this page; with the privilege ConfigureManager, every session. */
import { useSignal } from '@preact/signals';
import { Button } from '../../../ui/button.js';
import { ConfirmDialog } from '../../../ui/confirm-dialog.js';
import { formatTime } from '../../../ui/format.js';
import { showToast } from '../../../ui/frame/toast.js';
import type { Column } from '../../../ui/table/columns.js';
import { byText, CollectionPage, useMembers, type Member } from '../../collection.js';
import { remove } from '../../redfish/client.js';
import { may, sessionUri } from '../../redfish/session.js';
import { RedfishFailure } from '../../redfish/wire.js';
import { sessionsTexts as texts } from '../../../texts/index.js';

/** A Session of Redfish. */
interface Session extends Member {
  readonly UserName: string;
  readonly SessionType: string;
  readonly ClientOriginIPAddress: string | null;
  readonly CreatedTime: string;
}

const isOwn = (session: Session): boolean => session['@odata.id'] === sessionUri();
const addressOf = (session: Session): string => session.ClientOriginIPAddress ?? '–';

/** The page Sessions. */
export default function SessionsPage() {
  const view = useMembers<Session>('/redfish/v1/SessionService/Sessions');
  /** The sessions that the open dialog ends. */
  const ending = useSignal<readonly Session[]>([]);
  const others = view.rows?.filter((session) => !isOwn(session)) ?? [];
  const [first] = ending.value;
  const isOne = ending.value.length === 1;
  const endAll = async (): Promise<void> => {
    const sessions = ending.value;
    for (const session of sessions) await end(session);
    showToast('good', texts.ended(sessions.length));
    await view.reload();
  };
  return (
    <CollectionPage
      title={texts.title}
      subtitle={view.rows === null ? undefined : texts.count(view.rows.length)}
      actions={
        may('ConfigureManager') && others.length > 1 ? (
          <Button kind="danger" onClick={() => (ending.value = others)}>
            {texts.endOthers}
          </Button>
        ) : null
      }
      columns={columnsOf((session) => (ending.value = [session]))}
      sorting={{ column: 'created', isAscending: false }}
      view={view}
      empty={texts.empty}
      emptyHint={texts.emptyHint}
    >
      {first === undefined ? null : (
        <ConfirmDialog
          title={isOne ? texts.confirm(first.UserName) : texts.confirmOthers}
          lost={
            isOne
              ? [texts.lost(first.UserName, addressOf(first)), ...(isOwn(first) ? [texts.lostOwn] : [])]
              : [texts.lostOthers(ending.value.length)]
          }
          confirmLabel={isOne ? texts.end : texts.endOthers}
          onConfirm={endAll}
          onClose={() => (ending.value = [])}
        />
      )}
    </CollectionPage>
  );
}

/** Ends a session. A session that has ended meanwhile is no failure. @throws as {@link remove}, except 404. */
async function end(session: Session): Promise<void> {
  try {
    await remove(session['@odata.id']);
  } catch (error) {
    if (!(error instanceof RedfishFailure) || error.status !== 404) throw error;
  }
}

function columnsOf(onEnd: (session: Session) => void): readonly Column<Session>[] {
  const { columns } = texts;
  return [
    {
      ...{ id: 'user', title: columns.user, isRowHeader: true },
      render: (session) => (
        <>
          {session.UserName} {isOwn(session) ? <small class="quiet">({texts.own})</small> : null}
        </>
      ),
      compare: byText(({ UserName }) => UserName),
    },
    { id: 'address', title: columns.address, render: addressOf, compare: byText(addressOf) },
    {
      ...{ id: 'type', title: columns.type, class: 'wide' },
      render: ({ SessionType }) => texts.types[SessionType] ?? SessionType,
      compare: byText(({ SessionType }) => SessionType),
    },
    {
      ...{ id: 'created', title: columns.created },
      render: ({ CreatedTime }) => <time dateTime={CreatedTime}>{formatTime(CreatedTime)}</time>,
      compare: byText(({ CreatedTime }) => CreatedTime),
    },
    {
      ...{ id: 'actions', title: columns.actions },
      render: (session) =>
        may('ConfigureManager') || isOwn(session) ? (
          <Button
            kind="quiet"
            aria-label={texts.endOf(session.UserName, addressOf(session))}
            onClick={() => onEnd(session)}
          >
            {texts.end}
          </Button>
        ) : null,
    },
  ];
}
