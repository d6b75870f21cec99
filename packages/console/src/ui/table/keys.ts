/** The keyboard in tables: moving between rows, and selecting ranges. */

/**
 * Returns the control that an arrow key leads to: the same control in the row above or below. Scrolls the table if
 * this row would be outside of the window.
 * @returns null if the key is no arrow, the focus is not in a row, or there is no such row.
 */
export function neighborControl(event: KeyboardEvent, rowHeight: number): HTMLElement | null {
  const step = { ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling' } as const;
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return null;
  if (!(event.target instanceof HTMLElement)) return null;
  const row = event.target.closest<HTMLElement>('tbody tr');
  const region = row?.closest<HTMLElement>('.scroll');
  const next = row?.[step[event.key]];
  if (!row || !region || !(next instanceof HTMLElement) || next.getAttribute('aria-hidden') === 'true') return null;
  const isCheckbox = event.target.matches('input[type=checkbox]');
  const control = next.querySelector<HTMLElement>(isCheckbox ? 'input[type=checkbox]' : 'a, button, input');
  const { top, bottom } = region.getBoundingClientRect();
  const rowBox = next.getBoundingClientRect();
  const head = region.querySelector('thead')?.getBoundingClientRect().height ?? 0;
  if (rowBox.bottom > bottom) region.scrollTop += rowHeight;
  if (rowBox.top < top + head) region.scrollTop -= rowHeight;
  return control;
}

/**
 * Returns the selection with all rows between two rows.
 * @param shown the keys of all rows, in the order of the table.
 */
export function withRange(
  selected: ReadonlySet<string>,
  shown: readonly string[],
  { from, to }: { readonly from: string | null; readonly to: string },
): ReadonlySet<string> {
  const end = shown.indexOf(to);
  const begin = from === null ? -1 : shown.indexOf(from);
  const [low, high] = begin === -1 ? [end, end] : [Math.min(begin, end), Math.max(begin, end)];
  return new Set([...selected, ...shown.slice(low, high + 1)]);
}
