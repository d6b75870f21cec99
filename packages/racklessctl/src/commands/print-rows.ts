/** Prints rows for people or as JSON. */
import { renderTable, type Column } from '../output/table.js';
import type { Call } from './command.js';

/** Options of {@link printRows}. */
interface PrintOptions {
  /** The message for people if there are no rows. */
  readonly none?: string;
  /** Whether the table must fit the terminal: then cuts long texts, and omits the last columns if necessary. */
  readonly isCut?: boolean;
  /** The options that show the omitted columns, for the message about them. */
  readonly allColumns?: string;
}

/**
 * Prints rows as a table, or as JSON with `--json`. Without `--json`, prints a message if there are no rows, or
 * if columns do not fit the terminal.
 */
export function printRows<Row extends object>(
  call: Call,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { none = 'There is nothing to show.', isCut = true, allColumns = '--json' }: PrintOptions = {},
): void {
  const { terminal } = call;
  if (call.flag('json')) {
    terminal.printJson(rows);
    return;
  }
  if (rows.length === 0) {
    terminal.complain(none);
    return;
  }
  const { text, omitted } = renderTable(rows, columns, isCut ? terminal.columns : undefined);
  terminal.print(text);
  if (omitted.length === 0) return;
  terminal.complain(`The terminal is too narrow for ${omitted.join(', ')}: use ${allColumns} or a wider terminal.`);
}
