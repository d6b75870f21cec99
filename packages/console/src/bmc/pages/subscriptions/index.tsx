/** The subscriptions of events, and the open event streams. */
import { useSignal } from '@preact/signals';
import { Button } from '../../../ui/button.js';
import { ConfirmDialog } from '../../../ui/confirm-dialog.js';
import { showToast } from '../../../ui/frame/toast.js';
import { Badge, messageOf } from '../../../ui/states.js';
import type { Column } from '../../../ui/table/columns.js';
import { byText, CollectionPage, useMembers, type Member } from '../../collection.js';
import { post, remove } from '../../redfish/client.js';
import { may } from '../../redfish/session.js';
import { subscriptionsTexts as texts } from '../../../texts/index.js';
import { SubscriptionDialog, SUBSCRIPTIONS } from './subscription-dialog.js';

/** An EventDestination of Redfish. */
interface Subscription extends Member {
  readonly Id: string;
  readonly Destination?: string | null;
  readonly Context?: string | null;
  readonly SubscriptionType: string;
  readonly EventFormatType?: string;
  readonly Status?: { readonly State?: string | null; readonly Health?: string | null };
  readonly Actions?: Readonly<Record<string, { readonly target?: string }>>;
}

/** The health of a destination changes without an event, so the page reads the subscriptions at this interval. */
const POLL_MS = 10_000;

const isSuspended = ({ Status }: Subscription): boolean => Status?.State === 'Disabled';
const destinationOf = ({ Destination, SubscriptionType: type }: Subscription): string =>
  type === 'SSE' ? texts.stream(Destination?.replace(/^.*:\/\//, '') ?? '') : (Destination ?? '–');

/** The page Subscriptions. */
export default function SubscriptionsPage() {
  const view = useMembers<Subscription>(SUBSCRIPTIONS, { pollMs: POLL_MS });
  const isCreating = useSignal(false);
  const removing = useSignal<Subscription | null>(null);
  const subscription = removing.value;
  const perform = (uri: string, body: object, done?: string): void => {
    post(uri, body).then(
      () => {
        if (done !== undefined) showToast('good', done);
        void view.reload();
      },
      (error: unknown) => showToast('bad', messageOf(error)),
    );
  };
  const test = (): void =>
    perform(
      '/redfish/v1/EventService/Actions/EventService.SubmitTestEvent',
      { MessageId: 'ResourceEvent.1.0.TestMessage', Message: texts.testText, MessageSeverity: 'OK' },
      texts.tested,
    );
  return (
    <CollectionPage
      title={texts.title}
      actions={
        may('ConfigureManager') ? (
          <span class="row">
            <Button onClick={test}>{texts.test}</Button>
            <Button kind="primary" onClick={() => (isCreating.value = true)}>
              {texts.create}
            </Button>
          </span>
        ) : null
      }
      columns={columnsOf(
        (uri) => perform(uri, {}),
        (next) => (removing.value = next),
      )}
      sorting={{ column: 'destination', isAscending: true }}
      view={view}
      empty={texts.empty}
      emptyHint={texts.emptyHint}
    >
      {isCreating.value ? (
        <SubscriptionDialog onSaved={view.reload} onClose={() => (isCreating.value = false)} />
      ) : null}
      {subscription === null ? null : (
        <ConfirmDialog
          title={texts.confirm}
          lost={[texts.lost(destinationOf(subscription))]}
          confirmLabel={texts.remove}
          onConfirm={async () => {
            await remove(subscription['@odata.id']);
            await view.reload();
          }}
          onClose={() => (removing.value = null)}
        />
      )}
    </CollectionPage>
  );
}

/** The text of a destination. A line can end between its words, before the port, or after a slash. */
function Destination({ text }: { readonly text: string }) {
  const parts = text.match(/\s|(?::\d+(?=\/|$))?(?:(?!:\d+(?:\/|$))[^\s/]|\/(?=\/))*\/?/g) ?? [];
  return <>{parts.map((part, index) => (/^\s*$/.test(part) ? part : <span key={index}>{part}</span>))}</>;
}

function State({ subscription }: { readonly subscription: Subscription }) {
  if (isSuspended(subscription)) return <Badge>{texts.suspended}</Badge>;
  return subscription.Status?.Health === 'OK' ? (
    <Badge kind="good">{texts.active}</Badge>
  ) : (
    <Badge kind="warn">{texts.failing}</Badge>
  );
}

function columnsOf(
  onAction: (uri: string) => void,
  onRemove: (subscription: Subscription) => void,
): readonly Column<Subscription>[] {
  const { columns } = texts;
  return [
    {
      ...{ id: 'destination', title: columns.destination, isRowHeader: true, class: 'destination' },
      render: (subscription) => <Destination text={destinationOf(subscription)} />,
      compare: byText(destinationOf),
    },
    {
      ...{ id: 'context', title: columns.context, class: 'wide' },
      render: ({ Context }) => Context ?? '',
      compare: byText(({ Context }) => Context),
    },
    {
      ...{ id: 'format', title: columns.format, class: 'wide' },
      render: ({ EventFormatType: format = 'Event' }) => texts.formats[format] ?? format,
    },
    { id: 'state', title: columns.state, render: (subscription) => <State subscription={subscription} /> },
    {
      ...{ id: 'actions', title: columns.actions },
      render: (subscription) => {
        if (!may('ConfigureManager')) return null;
        const [name, text] = isSuspended(subscription)
          ? (['#EventDestination.ResumeSubscription', texts.resume] as const)
          : (['#EventDestination.SuspendSubscription', texts.suspend] as const);
        const target = subscription.Actions?.[name]?.target;
        const destination = destinationOf(subscription);
        return (
          <span class="row">
            {target === undefined ? null : (
              <Button kind="quiet" aria-label={texts.actionOf(text, destination)} onClick={() => onAction(target)}>
                {text}
              </Button>
            )}
            <Button
              kind="quiet"
              aria-label={texts.actionOf(texts.remove, destination)}
              onClick={() => onRemove(subscription)}
            >
              {texts.remove}
            </Button>
          </span>
        );
      },
    },
  ];
}
