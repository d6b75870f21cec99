/** Columns, sorting and selection of tables. `Table` and `VirtualTable` share them. */
import type { ComponentChildren } from 'preact';
import { uiTexts as texts } from '../../texts/index.js';

/** A column of a table. */
export interface Column<Row> {
  readonly id: string;
  readonly title: string;
  readonly render: (row: Row) => ComponentChildren;
  /** Compares two rows for an ascending order. Without it, the column cannot be sorted. */
  readonly compare?: (a: Row, b: Row) => number;
  /** A class of its cells: `number` aligns to the right; `wide` exists only on wide windows. */
  readonly class?: string;
  /** Whether its cells are the headers of their rows. */
  readonly isRowHeader?: boolean;
}

/** The column and direction that a table is sorted by. */
export interface Sorting {
  readonly column: string;
  readonly isAscending: boolean;
}

/** The selected rows, by key. */
export interface Selection<Row> {
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (selected: ReadonlySet<string>) => void;
  /** The name of a row, for screen readers. */
  readonly nameOf: (row: Row) => string;
}

/** The properties of both tables. */
export interface TableProps<Row> {
  /** The name of the table, for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  /** Rows in the order of the data. The table sorts a copy. */
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly sorting?: Sorting | undefined;
  readonly onSort?: (sorting: Sorting) => void;
  readonly selection?: Selection<Row> | undefined;
}

/** Compares texts in natural order: `node-2` comes before `node-10`. */
export const compareNames: (a: string, b: string) => number = new Intl.Collator('en', {
  numeric: true,
  sensitivity: 'base',
}).compare;

/**
 * Returns the rows in the order of the sorting. Rows that are equal keep their order, and all rows do if the column
 * cannot be sorted.
 */
export function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sorting: Sorting | undefined,
): readonly Row[] {
  const compare = columns.find(({ id }) => id === sorting?.column)?.compare;
  if (sorting === undefined || compare === undefined) return rows;
  const sign = sorting.isAscending ? 1 : -1;
  return [...rows].sort((a, b) => sign * compare(a, b));
}

/** The head of a table. */
export function Head<Row>({ columns, rows, keyOf, sorting, onSort, selection }: TableProps<Row>) {
  return (
    <thead>
      <tr aria-rowindex={1}>
        {selection === undefined ? null : (
          <th class="check" scope="col">
            <input
              type="checkbox"
              aria-label={texts.selectAll}
              checked={rows.length > 0 && rows.every((row) => selection.selected.has(keyOf(row)))}
              onChange={(event) => selection.onSelect(new Set(event.currentTarget.checked ? rows.map(keyOf) : []))}
            />
          </th>
        )}
        {columns.map(({ id, title, compare, class: extra }) => {
          const isSorted = sorting?.column === id;
          const isAscending = isSorted && sorting.isAscending;
          return (
            <th
              key={id}
              scope="col"
              class={extra}
              aria-sort={isSorted ? (isAscending ? 'ascending' : 'descending') : undefined}
            >
              {compare === undefined || onSort === undefined ? (
                title
              ) : (
                <button
                  type="button"
                  class="sort"
                  title={isSorted ? texts.sortedBy(title, isAscending) : undefined}
                  onClick={() => onSort({ column: id, isAscending: !isAscending })}
                >
                  {title}
                  {isSorted ? <span aria-hidden="true">{isAscending ? ' ▲' : ' ▼'}</span> : null}
                </button>
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

/** The cells of a row. */
export function Cells<Row>({
  row,
  columns,
  keyOf,
  selection,
  onRange,
}: Pick<TableProps<Row>, 'columns' | 'keyOf' | 'selection'> & {
  readonly row: Row;
  /** Called for a click with Shift on the checkbox, which then selects a range of rows. */
  readonly onRange?: (row: Row) => void;
}) {
  const key = keyOf(row);
  return (
    <>
      {selection === undefined ? null : (
        <td class="check">
          <input
            type="checkbox"
            aria-label={texts.selectRow(selection.nameOf(row))}
            checked={selection.selected.has(key)}
            onClick={(event) => {
              if (event.shiftKey) onRange?.(row);
            }}
            onChange={(event) => {
              const selected = new Set(selection.selected);
              if (event.currentTarget.checked) selected.add(key);
              else selected.delete(key);
              selection.onSelect(selected);
            }}
          />
        </td>
      )}
      {columns.map(({ id, render, class: extra, isRowHeader = false }) =>
        isRowHeader ? (
          <th key={id} scope="row" class={extra}>
            {render(row)}
          </th>
        ) : (
          <td key={id} class={extra}>
            {render(row)}
          </td>
        ),
      )}
    </>
  );
}
