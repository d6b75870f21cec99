/** The boot order: a list that the user can sort with the keyboard and the mouse. */
import { useSignal } from '@preact/signals';
import { Button } from '../../../../ui/button.js';
import { Notice } from '../../../../ui/states.js';
import { DraftBar } from '../../../draft-bar.js';
import { useDraft } from '../../../draft.js';
import { bootTexts as texts } from '../../../../texts/index.js';
import type { BootFormProps, BootSystem } from './boot-system.js';
import { SortableList } from './sortable-list.js';

/** The list with its form. */
export function OrderList({ resource, body, options, isReadOnly }: BootFormProps) {
  const draft = useDraft<BootSystem>({
    resource,
    path: body['@odata.id'],
    read: ({ Boot }) => ({ BootOrder: Boot.BootOrder ?? [] }),
    write: ({ BootOrder }) => ({ Boot: { BootOrder } }),
  });
  const announcement = useSignal('');
  const order = draft.values['BootOrder'] as readonly string[]; // `read` returns a list of ids
  const nameOf = (id: string): string => options.find((each) => each.BootOptionReference === id)?.DisplayName ?? id;
  const rest = options.map(({ BootOptionReference }) => BootOptionReference).filter((id) => !order.includes(id));
  const set = (next: readonly string[]): void => draft.set('BootOrder', next);
  const name = (id: string) => (
    <span class="grow">
      {nameOf(id)} <small class="mono">{id}</small>
    </span>
  );
  return (
    <section class="card" aria-label={texts.order}>
      <h2>{texts.order}</h2>
      <p class="quiet">{texts.orderHint}</p>
      {body.Boot.BootSourceOverrideEnabled === 'Once' ? <Notice>{texts.orderWaits}</Notice> : null}
      {order.length === 0 ? <p class="quiet">{texts.empty}</p> : null}
      <SortableList
        ids={order}
        nameOf={nameOf}
        render={name}
        isReadOnly={isReadOnly}
        onMove={(next, id) => {
          set(next);
          announcement.value = texts.moved(nameOf(id), next.indexOf(id) + 1, next.length);
        }}
        onRemove={(id) => set(order.filter((each) => each !== id))}
      />
      <p class="visually-hidden" role="status">
        {announcement.value}
      </p>
      {rest.length === 0 ? null : (
        <>
          <h3>{texts.notInOrder}</h3>
          <ul class="boot-order">
            {rest.map((id) => (
              <li key={id}>
                {name(id)}
                {isReadOnly ? null : (
                  <Button kind="quiet" aria-label={texts.add(nameOf(id))} onClick={() => set([...order, id])}>
                    {texts.insert}
                  </Button>
                )}
              </li>
            ))}
          </ul>
        </>
      )}
      {isReadOnly ? null : <DraftBar draft={draft} labelOf={() => texts.order} saveLabel={texts.saveOrder} />}
    </section>
  );
}
