/** A list that the user sorts: by dragging a row, with its buttons, or with Alt and the arrow keys. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Button } from '../../../../ui/button.js';
import { bootTexts as texts } from '../../../../texts/index.js';
import { moveEntry } from './order.js';

interface SortableListProps {
  readonly ids: readonly string[];
  /** Returns the name of a row, for screen readers. */
  readonly nameOf: (id: string) => string;
  readonly render: (id: string) => ComponentChildren;
  readonly isReadOnly: boolean;
  /** Called with the new order and the row that moved. */
  readonly onMove: (ids: readonly string[], moved: string) => void;
  readonly onRemove: (id: string) => void;
}

/** A sortable list. It does not change `ids` itself: its owner does, in `onMove` and `onRemove`. */
export function SortableList({ ids, nameOf, render, isReadOnly, onMove, onRemove }: SortableListProps) {
  const list = useRef<HTMLOListElement>(null);
  const dragged = useSignal<number | null>(null);
  /**
   * The last move by a button or a key, until the next rendering. The browser takes the focus from a row that
   * moves. So after the rendering, the row's button for the same direction gets the focus. At an end of the list,
   * this button is disabled, and the button for the opposite direction gets the focus.
   */
  const used = useRef<{ readonly id: string; readonly step: number } | null>(null);
  useLayoutEffect(() => {
    const { current } = used;
    used.current = null;
    if (current === null) return;
    const buttons = list.current?.children[ids.indexOf(current.id)]?.querySelectorAll('button');
    const [up, down] = buttons ?? [];
    const [wanted, other] = current.step < 0 ? [up, down] : [down, up];
    (wanted?.getAttribute('aria-disabled') === 'true' ? other : wanted)?.focus();
  });
  const move = (from: number, to: number): void => {
    const id = ids[from];
    if (id !== undefined && to >= 0 && to < ids.length && to !== from) onMove(moveEntry(ids, from, to), id);
  };
  const step = (id: string, by: number): void => {
    used.current = { id, step: by };
    move(ids.indexOf(id), ids.indexOf(id) + by);
  };
  return (
    <ol class="boot-order" ref={list}>
      {ids.map((id, index) => (
        <li
          key={id}
          draggable={!isReadOnly}
          class={dragged.value === index ? 'dragged' : undefined}
          onDragStart={(event) => {
            dragged.value = index;
            event.dataTransfer?.setData('text/plain', id);
          }}
          onDragOver={(event) => {
            if (dragged.value !== null) event.preventDefault();
          }}
          onDrop={(event) => {
            event.preventDefault();
            if (dragged.value !== null) move(dragged.value, index);
          }}
          onDragEnd={() => {
            dragged.value = null;
          }}
          onKeyDown={(event) => {
            if (!event.altKey || isReadOnly || !/^Arrow(Up|Down)$/.test(event.key)) return;
            event.preventDefault();
            step(id, event.key === 'ArrowUp' ? -1 : 1);
          }}
        >
          <span class="quiet" aria-hidden="true">
            {index + 1}
          </span>
          {render(id)}
          {isReadOnly ? null : (
            <RowButtons
              name={nameOf(id)}
              isFirst={index === 0}
              isLast={index === ids.length - 1}
              onStep={(by) => step(id, by)}
              onRemove={() => onRemove(id)}
            />
          )}
        </li>
      ))}
    </ol>
  );
}

function RowButtons({
  name,
  isFirst,
  isLast,
  onStep,
  onRemove,
}: {
  readonly name: string;
  readonly isFirst: boolean;
  readonly isLast: boolean;
  readonly onStep: (by: number) => void;
  readonly onRemove: () => void;
}) {
  return (
    <span class="order-buttons">
      <Button kind="quiet" aria-label={texts.up(name)} disabled={isFirst} onClick={() => onStep(-1)}>
        ↑
      </Button>
      <Button kind="quiet" aria-label={texts.down(name)} disabled={isLast} onClick={() => onStep(1)}>
        ↓
      </Button>
      <Button kind="quiet" aria-label={texts.leave(name)} onClick={onRemove}>
        {texts.remove}
      </Button>
    </span>
  );
}
