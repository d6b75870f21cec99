/** A table with all its rows in the page, for up to a few hundred rows. */
import { Cells, Head, sortRows, type TableProps } from './columns.js';

/** A table. It scrolls sideways on narrow windows. */
export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows, keyOf, sorting, selection } = props;
  return (
    <div class="scroll" role="region" aria-label={label} tabIndex={0}>
      <table aria-label={label}>
        <Head {...props} />
        <tbody>
          {sortRows(rows, columns, sorting).map((row) => {
            const key = keyOf(row);
            return (
              <tr key={key} class={selection?.selected.has(key) === true ? 'selected' : undefined}>
                <Cells row={row} columns={columns} keyOf={keyOf} selection={selection} />
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
