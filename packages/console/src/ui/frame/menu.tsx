/** A button that opens a list of controls. */
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';

/** Properties of `Menu`. */
interface MenuProps {
  /** The text of the button. */
  readonly label: string;
  readonly class: string;
  /** The class of the list. */
  readonly listClass: string;
  /** Renders the controls. `close` closes the list, and gives the focus to the button. */
  readonly children: (close: () => void) => ComponentChildren;
}

/** Returns the place in a list that a key leads to; null: the key does not move. `place` -1: the button. */
function placeAfterKey(key: string, place: number, count: number): number | null {
  if (key === 'ArrowDown') return (place + 1) % count;
  if (key === 'ArrowUp') return place <= 0 ? count - 1 : place - 1;
  if (key === 'Home') return 0;
  return key === 'End' ? count - 1 : null;
}

/**
 * The menu. The arrow keys up and down open it and lead from control to control; Home and End lead to the first and the
 * last control. The menu closes with Escape, and when an element outside of it gets the focus.
 */
export function Menu({ label, class: name, listClass, children }: MenuProps) {
  const details = useRef<HTMLDetailsElement>(null);
  const setOpen = (isOpen: boolean): void => {
    if (details.current !== null) details.current.open = isOpen;
  };
  const close = (): void => {
    // A control in a closed list cannot have the focus.
    details.current?.querySelector('summary')?.focus();
    setOpen(false);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') {
      close();
      return;
    }
    const isOpen = details.current?.open === true;
    if (!isOpen && !event.key.startsWith('Arrow')) return;
    const controls = [...(details.current?.querySelectorAll<HTMLElement>('button, input') ?? [])];
    const present = controls.findIndex((control) => control === document.activeElement);
    const place = placeAfterKey(event.key, present, controls.length);
    if (place === null) return;
    event.preventDefault();
    setOpen(true);
    controls[place]?.focus();
  };
  return (
    <details
      ref={details}
      class={name}
      onKeyDown={onKeyDown}
      onFocusOut={({ relatedTarget }) => {
        if (relatedTarget instanceof Node && details.current?.contains(relatedTarget) === false) setOpen(false);
      }}
    >
      <summary class="button plain">{label}</summary>
      <div class={listClass}>{children(close)}</div>
    </details>
  );
}
