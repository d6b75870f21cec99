/**
 * The focus in the rows of a virtual table. Tab leads to one row; other keys lead from row to row. The row with the
 * focus stays in the page while the user scrolls.
 */
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { LinePlaces } from './line-places.js';

/** A control of a row: the checkbox, or the first other control. */
interface RowControl {
  /** The number of the line, from 0. */
  readonly line: number;
  readonly isCheckbox: boolean;
}

/** The row with the focus. */
interface FocusedRow extends RowControl {
  /** `data-line-id` of the row. */
  readonly id: string;
}

/** The focus of a table in a component. */
interface RowFocus {
  /** The row with the focus; null: the focus is elsewhere. */
  readonly focused: FocusedRow | null;
  /** Moves the focus, and scrolls to the row. */
  readonly moveTo: (control: RowControl) => void;
  /** The handler of `focusin` of the table. */
  readonly onFocusIn: () => void;
}

/** Returns the row with the focus now; null: the focus is elsewhere. */
export function focusedRow(region: Element | null): FocusedRow | null {
  const row = region?.querySelector<HTMLElement>('tbody tr:focus-within') ?? null;
  if (row === null) return null;
  return {
    id: row.dataset['lineId'] ?? '',
    line: lineOf(row),
    isCheckbox: document.activeElement?.matches('input[type=checkbox]') === true,
  };
}

/**
 * Keeps the focus of a table over its renderings.
 * @param ids `data-line-id` of all lines, in order.
 * @param onScroll called after `moveTo` has scrolled the table.
 */
export function useRowFocus(
  region: RefObject<HTMLElement | null>,
  { ids, places, onScroll }: { readonly ids: readonly string[]; readonly places: LinePlaces; onScroll: () => void },
): RowFocus {
  const focused = focusedRow(region.current);
  const pending = useRef<RowControl | null>(null);
  const latest = useRef('');
  const offer = (): void => offerRow(region.current, latest.current, places);
  useLayoutEffect(() => {
    const wanted = pending.current;
    pending.current = null;
    if (wanted !== null) focusControl(region.current, wanted);
    else if (focused !== null && document.activeElement === document.body) {
      // The row has moved, or it is gone. The focus follows a row that has moved. If the row is gone, the
      // row in its place gets the focus.
      const line = ids.indexOf(focused.id);
      const next = {
        line: line === -1 ? Math.min(focused.line, ids.length - 1) : line,
        isCheckbox: focused.isCheckbox,
      };
      if (!focusControl(region.current, next)) region.current?.focus({ preventScroll: true });
    }
    offer();
  });
  return {
    focused,
    moveTo(control) {
      if (region.current !== null) scrollToLine(region.current, control.line, places);
      if (!focusControl(region.current, control)) pending.current = control;
      onScroll();
    },
    onFocusIn() {
      const now = focusedRow(region.current);
      latest.current = now?.id ?? latest.current;
      // Tab can lead to a row outside of the window, which is in the page because it had the focus before. So the
      // table scrolls to it.
      if (now !== null && region.current?.querySelector('tbody tr:focus-within')?.matches('[data-kept]') === true) {
        scrollToLine(region.current, now.line, places);
        onScroll();
      }
      offer();
    },
  };
}

const lineOf = (row: Element): number => Number(row.getAttribute('aria-rowindex')) - 2;
const controlsOf = (row: Element): readonly HTMLElement[] => [...row.querySelectorAll<HTMLElement>('a, button, input')];

/** Focuses a control. @returns false: its row is not in the page, or has no controls. */
function focusControl(region: Element | null, { line, isCheckbox }: RowControl): boolean {
  const row = region?.querySelector(`tbody tr[aria-rowindex="${line + 2}"]`) ?? null;
  const controls = row === null ? [] : controlsOf(row);
  const control = controls.find((each) => each.matches('input[type=checkbox]') === isCheckbox) ?? controls[0];
  control?.focus({ preventScroll: true });
  return control !== undefined;
}

function scrollToLine(region: HTMLElement, line: number, places: LinePlaces): void {
  const head = region.querySelector('thead')?.getBoundingClientRect().height ?? 0;
  const top = places.topOf(line);
  const lowest = places.topOf(line + 1) + head - region.clientHeight;
  if (region.scrollTop > top) region.scrollTop = top;
  else if (region.scrollTop < lowest) region.scrollTop = lowest;
}

/** Lets Tab lead to one row: the row with the focus, the latest one, or the first one in the window. */
function offerRow(region: HTMLElement | null, latest: string, places: LinePlaces): void {
  if (region === null) return;
  const rows = [...region.querySelectorAll<HTMLElement>('tbody tr[data-line-id]')];
  const offered =
    rows.find((row) => row.contains(document.activeElement)) ??
    rows.find((row) => row.dataset['lineId'] === latest) ??
    rows.find((row) => places.topOf(lineOf(row)) >= region.scrollTop) ??
    rows.at(-1);
  for (const row of rows) {
    const tabIndex = row === offered ? 0 : -1;
    for (const control of controlsOf(row)) if (control.tabIndex !== tabIndex) control.tabIndex = tabIndex;
  }
}
