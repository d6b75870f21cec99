/** Groups of rows in a table: each has a heading that opens and closes it, and that selects its rows. */
import type { ComponentChildren, JSX } from 'preact';
import { compareNames, type Selection } from './columns.js';
import { uiTexts as texts } from '../../texts/index.js';

/** The groups of a table. */
export interface Grouping<Row> {
  /** Returns the key of a row's group. Rows with '' are the last group. */
  readonly groupOf: (row: Row) => string;
  readonly nameOf: (group: string) => string;
  /** Text after the name. */
  readonly detailOf: (rows: readonly Row[]) => ComponentChildren;
  readonly closed: ReadonlySet<string>;
  readonly onToggle: (group: string) => void;
}

/** A line of a table: a row, or the heading of a group with the rows of the group. */
export type Line<Row> =
  | { readonly kind: 'row'; readonly key: string; readonly row: Row }
  | { readonly kind: 'group'; readonly key: string; readonly rows: readonly Row[] };

/** Returns the lines of a table, without the rows of closed groups. Groups are in natural order. */
export function tableLines<Row>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
  grouping: Grouping<Row> | undefined,
): readonly Line<Row>[] {
  const line = (row: Row): Line<Row> => ({ kind: 'row', key: keyOf(row), row });
  if (grouping === undefined) return rows.map(line);
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const key = grouping.groupOf(row);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  }
  return [...groups]
    .sort(([a], [b]) => Number(a === '') - Number(b === '') || compareNames(a, b))
    .flatMap(([key, members]): readonly Line<Row>[] => [
      { kind: 'group', key, rows: members },
      ...(grouping.closed.has(key) ? [] : members.map(line)),
    ]);
}

/** The heading of a group. */
export function GroupRow<Row>({
  line,
  attributes,
  keyOf,
  selection,
  grouping,
  span,
}: {
  readonly line: Line<Row> & { readonly kind: 'group' };
  /** Attributes that all rows of the table have. */
  readonly attributes: JSX.IntrinsicElements['tr'];
  readonly keyOf: (row: Row) => string;
  readonly selection: Selection<Row> | undefined;
  readonly grouping: Grouping<Row> | undefined;
  readonly span: number;
}) {
  if (grouping === undefined) return null;
  const { key, rows } = line;
  const name = grouping.nameOf(key);
  const isOpen = !grouping.closed.has(key);
  return (
    <tr {...attributes} class="group">
      {selection === undefined ? null : (
        <td class="check">
          <input
            type="checkbox"
            aria-label={texts.selectRow(name)}
            checked={rows.every((row) => selection.selected.has(keyOf(row)))}
            onChange={(event) => {
              const selected = new Set(selection.selected);
              for (const row of rows) {
                if (event.currentTarget.checked) selected.add(keyOf(row));
                else selected.delete(keyOf(row));
              }
              selection.onSelect(selected);
            }}
          />
        </td>
      )}
      <th scope="rowgroup" colSpan={selection === undefined ? span : span - 1}>
        <button type="button" class="sort" aria-expanded={isOpen} onClick={() => grouping.onToggle(key)}>
          <span aria-hidden="true">{isOpen ? '▾ ' : '▸ '}</span>
          {name}
        </button>
        <small>{grouping.detailOf(rows)}</small>
      </th>
    </tr>
  );
}
