/** Prints a list of things. */
import { renderTable, type Column } from '../output/table.js';
import type { Call } from './command.js';

/**
 * Prints rows as a table that fits the terminal, or as JSON with `--json`.
 * @param none the message for people if there are no rows.
 */
export function printRows<Row extends object>(
  call: Call,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  none = 'There is nothing to show.',
): void {
  if (call.flag('json')) call.terminal.printJson(rows);
  else if (rows.length === 0) call.terminal.complain(none);
  else call.terminal.print(renderTable(rows, columns, call.terminal.columns));
}
