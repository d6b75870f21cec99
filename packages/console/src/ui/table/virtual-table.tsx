/** A table for thousands of rows. Only the visible rows are in the page. */
import type { RefObject, VNode } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Cells, Head, type Selection, type TableProps } from './columns.js';
import { GroupRow, tableLines, type Grouping, type Line } from './groups.js';
import { lineAfterKey, withRange } from './keys.js';
import { linePlaces, type LinePlaces } from './line-places.js';
import { focusedRow, useRowFocus } from './row-focus.js';
import { assignSlots } from './slots.js';

/** Properties of `VirtualTable`. */
interface VirtualTableProps<Row> extends TableProps<Row> {
  /**
   * Rows in the order of the table. Sorting thousands of rows costs time, so the caller sorts them when they
   * change.
   */
  readonly rows: readonly Row[];
  /** Height of a row in pixels; with `heightOf`, of the smallest row and of headings. May change. Cells do not wrap. */
  readonly rowHeight: number;
  /** Returns the height of a row. Default: `rowHeight`. Must be the same function in each rendering. */
  readonly heightOf?: (row: Row) => number;
  /** Puts the rows into groups. The sorting applies inside each group. */
  readonly grouping?: Grouping<Row> | undefined;
  /** Called with the rows in the window, and a few beside it, after they have changed. */
  readonly onVisible?: (rows: readonly Row[]) => void;
}

/** Lines above and below the window that are rendered while the user scrolls. */
const OVERSCAN = 5;

/** A line in the page, and its number in the table. */
interface ShownLine<Row> {
  readonly line: Line<Row>;
  readonly index: number;
  /** Whether the line is outside of the window. It is in the page because it has the focus. */
  readonly isKept: boolean;
}

/** Returns the rows among lines. */
const rowsOf = <Row,>(lines: readonly Line<Row>[]): readonly Row[] =>
  lines.flatMap((line) => (line.kind === 'row' ? [line.row] : []));

/** The identity of a line while the table changes. */
const idOf = ({ kind, key }: Line<unknown>): string => `${kind} ${key}`;

/**
 * The table. It fills the height of its parent, a flex column, and scrolls by itself. Tab leads to the controls of one
 * row. The arrow keys, PageUp, PageDown, Home and End lead to the same control in another row. With Shift, they select
 * all rows up to that row. Ctrl+A selects all rows.
 */
export function VirtualTable<Row>(props: VirtualTableProps<Row>) {
  const { label, columns, rows, keyOf, selection, rowHeight, grouping, onVisible } = props;
  const region = useRef<HTMLDivElement>(null);
  const [first, setFirst] = useState(0);
  const height = useHeight(region);
  const anchor = useRef<string | null>(null); // the latest row that the user selected: a range begins there
  const lines = useMemo(() => tableLines(rows, keyOf, grouping), [rows, grouping]);
  const places = usePlaces(lines, props);
  const findFirst = (): void => setFirst(places.lineAt(region.current?.scrollTop ?? 0));
  useLayoutEffect(findFirst, [places]);
  const ids = useMemo(() => lines.map(idOf), [lines]);

  const { start, count } = useWindow(lines.length, { first, inWindow: Math.ceil(height / rowHeight) + 1 });
  const { focused, moveTo, onFocusIn } = useRowFocus(region, { ids, places, onScroll: findFirst });
  const shown = linesToShow(lines, { start, count, kept: focused === null ? -1 : ids.indexOf(focused.id) });
  const slots = useSlots(region, shown);
  useEffect(() => onVisible?.(rowsOf(lines.slice(start, start + count))), [lines, start, count]);

  const select = (key: string): void => {
    if (selection === undefined) return;
    const keys = lines.flatMap((line) => (line.kind === 'row' ? [line.key] : []));
    selection.onSelect(withRange(selection.selected, keys, { from: anchor.current, to: key }));
  };
  const observed = selection && {
    ...selection,
    onSelect: (selected: ReadonlySet<string>) => {
      const added = [...selected].find((key) => !selection.selected.has(key));
      if (selected.size === selection.selected.size + 1 && added !== undefined) anchor.current = added;
      selection.onSelect(selected);
    },
  };
  const latest = useLatest(observed, select);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'a' && (event.ctrlKey || event.metaKey) && selection !== undefined) {
      event.preventDefault();
      selection.onSelect(new Set(rows.map(keyOf)));
      return;
    }
    const from = focusedRow(region.current);
    const place = { line: from?.line ?? 0, count: lines.length, page: Math.max(1, Math.floor(height / rowHeight) - 2) };
    const line = lineAfterKey(event, place);
    if (from === null || line === null) return;
    event.preventDefault();
    moveTo({ line, isCheckbox: from.isCheckbox });
    const target = lines[line];
    if (event.shiftKey && target?.kind === 'row') select(target.key);
  };

  const span = columns.length + (selection === undefined ? 0 : 1);
  return (
    <div
      ref={region}
      class="scroll virtual"
      role="region"
      aria-label={label}
      tabIndex={0}
      onScroll={findFirst}
      onKeyDown={onKeyDown}
      onFocusIn={onFocusIn}
    >
      <table aria-label={label} aria-rowcount={lines.length + 1}>
        <Head {...props} selection={observed} />
        <tbody>
          {withSpacers(shown, { count: lines.length, places, span }, ({ line, index, isKept }, position) => (
            <TableLine
              key={slots[position]}
              line={line}
              rowIndex={index + 2}
              isSelected={selection?.selected.has(line.key) === true}
              height={places.topOf(index + 1) - places.topOf(index)}
              {...{ isKept, columns, keyOf, grouping, span, onRange: latest.onRange }}
              selection={observed && latest.selection}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

/**
 * Returns the lines in the window, and a line outside of it that keeps the focus (`kept`; -1: none). Wherever the
 * window is, this line is the first one in the page, because browsers scroll to the row with the focus if it moves.
 */
function linesToShow<Row>(
  lines: readonly Line<Row>[],
  { start, count, kept }: { readonly start: number; readonly count: number; readonly kept: number },
): readonly ShownLine<Row>[] {
  const inWindow = lines
    .slice(start, start + count)
    .map((line, offset) => ({ line, index: start + offset, isKept: false }));
  const line = lines[kept];
  if (line === undefined || (kept >= start && kept < start + count)) return inWindow;
  return [{ line, index: kept, isKept: true }, ...inWindow];
}

/** Renders lines, and the place of the lines that are not in the page. */
function withSpacers<Row>(
  shown: readonly ShownLine<Row>[],
  { count, places, span }: { readonly count: number; readonly places: LinePlaces; readonly span: number },
  render: (shown: ShownLine<Row>, position: number) => VNode,
): readonly VNode[] {
  const spacer = (key: string, height: number): readonly VNode[] =>
    height === 0 ? [] : [<Spacer key={key} height={height} span={span} />];
  const rendered = shown.map(render);
  const kept = shown.filter(({ isKept }) => isKept).length;
  const above = shown[kept]?.index ?? 0;
  return [
    ...rendered.slice(0, kept),
    // The spacer has another key after a kept line. With the same key, Preact would move the row with the focus instead
    // of the spacer, and the table would scroll to its start.
    ...spacer(kept === 0 ? 'above' : 'above, after a kept line', places.topOf(above)),
    ...rendered.slice(kept),
    ...spacer('below', places.topOf(count) - places.topOf(above + shown.length - kept)),
  ];
}

/** Returns the places of the lines, the same object until they change. */
function usePlaces<Row>(lines: readonly Line<Row>[], { rowHeight, heightOf }: VirtualTableProps<Row>): LinePlaces {
  const unequal = heightOf === undefined ? null : lines;
  return useMemo(() => linePlaces(lines, rowHeight, heightOf), [unequal, rowHeight, heightOf]);
}

/** Returns the slots of the lines. A row with the focus, or under a pressed mouse button, shows no other line. */
function useSlots<Row>(region: RefObject<HTMLElement | null>, shown: readonly ShownLine<Row>[]): readonly number[] {
  const last = useRef<ReadonlyMap<string, number>>(new Map());
  const held = region.current?.querySelector('tbody :is(:focus, :active)') ?? null;
  last.current = assignSlots(
    last.current,
    shown.map(({ line }) => idOf(line)),
    { isHeld: held !== null },
  );
  return [...last.current.values()];
}

/**
 * Returns the lines to render: those in the window, and one line on both sides, for the arrow keys. After the user has
 * scrolled, `OVERSCAN` lines on both sides.
 * A key in a filter costs time for each row. So when the number of lines changes, one line on both sides is enough.
 */
function useWindow(
  lines: number,
  { first, inWindow }: { readonly first: number; readonly inWindow: number },
): { readonly start: number; readonly count: number } {
  const last = useRef({ lines, first, overscan: 1 });
  if (last.current.first !== first) last.current = { lines, first, overscan: OVERSCAN };
  else if (last.current.lines !== lines) last.current = { lines, first, overscan: 1 };
  const { overscan } = last.current;
  const count = inWindow + 2 * overscan;
  return { start: Math.max(0, Math.min(first - overscan, lines - count)), count };
}

/** Returns the height of an element in pixels, also after it has changed. */
function useHeight(ref: RefObject<HTMLElement | null>): number {
  const [height, setHeight] = useState(800);
  useEffect(() => {
    const element = ref.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return height;
}

/**
 * Returns a selection and a function that stay the same objects, and lead to those of the latest rendering. So rows
 * that have not changed need no new rendering.
 */
function useLatest<Row>(
  selection: TableProps<Row>['selection'],
  onRange: (key: string) => void,
): { readonly selection: Selection<Row>; readonly onRange: (key: string) => void } {
  const last = useRef({ selection, onRange });
  last.current = { selection, onRange };
  return useMemo(
    () => ({
      selection: {
        get selected() {
          return last.current.selection?.selected ?? new Set<string>();
        },
        onSelect: (selected) => last.current.selection?.onSelect(selected),
        nameOf: (row) => last.current.selection?.nameOf(row) ?? '',
      },
      onRange: (key) => last.current.onRange(key),
    }),
    [],
  );
}

/** A row, or the heading of a group. */
function TableLine<Row>({
  line,
  rowIndex,
  isSelected,
  isKept,
  columns,
  keyOf,
  selection,
  height,
  grouping,
  span,
  onRange,
}: Pick<VirtualTableProps<Row>, 'columns' | 'keyOf' | 'selection' | 'grouping'> & {
  readonly line: Line<Row>;
  readonly rowIndex: number;
  readonly isSelected: boolean;
  readonly isKept: boolean;
  /** In pixels. */
  readonly height: number;
  readonly span: number;
  readonly onRange: (key: string) => void;
}) {
  const attributes = {
    'aria-rowindex': rowIndex,
    'data-line-id': idOf(line),
    'data-kept': isKept ? '' : undefined,
    style: { height: `${height}px` },
  };
  const row = line.kind === 'row' ? line.row : null;
  // Preact skips an element that is the same object as before.
  const cells = useMemo(
    () =>
      row === null ? null : (
        <tr {...attributes} class={isSelected ? 'selected' : undefined}>
          <Cells
            row={row}
            columns={columns}
            keyOf={keyOf}
            selection={selection}
            onRange={(clicked) => onRange(keyOf(clicked))}
          />
        </tr>
      ),
    [row, rowIndex, isSelected, isKept, columns, selection, height],
  );
  if (line.kind === 'row') return cells;
  return <GroupRow {...{ line, attributes, keyOf, selection, grouping, span }} />;
}

/** The place of lines that are not in the page. */
function Spacer({ height, span }: { readonly height: number; readonly span: number }) {
  return (
    <tr aria-hidden="true" class="spacer">
      <td colSpan={span} style={{ height: `${height}px` }} />
    </tr>
  );
}
