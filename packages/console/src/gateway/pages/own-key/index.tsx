/** The virtual key of the login: its models, limits and budget. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { formatTime } from '../../../ui/format.js';
import { PageHeader } from '../../../ui/frame/page-header.js';
import { useAnswerOrder } from '../../../ui/answer-order.js';
import { ErrorState, Loading, messageOf } from '../../../ui/states.js';
import { nameOf, readOwnKey, type Key } from '../../api/keys.js';
import { KeyBudget, KeyStatus, limitsOf, modelsOf } from '../../key-view.js';
import { keysTexts as texts } from '../../../texts/index.js';

/** The page This key. */
export default function OwnKeyPage() {
  const key = useSignal<Key | null>(null);
  const error = useSignal<string | null>(null);
  const order = useAnswerOrder();
  const read = (): void => {
    const accept = order.begin();
    error.value = null;
    readOwnKey().then(
      (found) => {
        if (accept()) key.value = found;
      },
      (thrown: unknown) => {
        if (accept()) error.value = messageOf(thrown);
      },
    );
  };
  useEffect(read, []);
  const { columns, own } = texts;
  return (
    <>
      <PageHeader title={own.title} subtitle={own.subtitle} />
      {error.value === null ? null : <ErrorState title={own.failed} message={error.value} onRetry={read} />}
      {key.value === null ? error.value === null ? <Loading /> : null : <Facts shown={key.value} />}
    </>
  );

  function Facts({ shown }: { readonly shown: Key }) {
    const facts = [
      [columns.name, nameOf(shown)],
      [columns.status, <KeyStatus key="status" status={shown.status} />],
      [columns.models, modelsOf(shown)],
      [columns.spend, <KeyBudget key="budget" of={shown} />],
      [columns.limits, limitsOf(shown).join(', ') || texts.noLimits],
      [columns.expires, shown.expires === null ? texts.never : formatTime(shown.expires)],
      [own.tags, shown.tags.join(', ') || own.none],
      [own.createdAt, formatTime(shown.created_at)],
    ] as const;
    return (
      <dl class="card facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    );
  }
}
