/** Prints a list of things. */
import { renderTable, type Column } from '../output/table.js';
import type { Call } from './command.js';

/** Options of {@link printRows}. */
interface PrintOptions {
  /** The message for people if there are no rows. */
  readonly none?: string;
  /** Whether long texts are cut to fit the terminal. */
  readonly isCut?: boolean;
}

/** Prints rows as a table, or as JSON with `--json`. */
export function printRows<Row extends object>(
  call: Call,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { none = 'There is nothing to show.', isCut = true }: PrintOptions = {},
): void {
  if (call.flag('json')) call.terminal.printJson(rows);
  else if (rows.length === 0) call.terminal.complain(none);
  else call.terminal.print(renderTable(rows, columns, isCut ? call.terminal.columns : undefined));
}
