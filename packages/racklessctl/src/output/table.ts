/** Tables for people. */
import { cutLine, plainLine, widthOf } from '@rackless/daemon/text/plain-text.js';

/** A column of a table. */
export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row, index: number) => string | number | null | undefined;
  /** The column may become narrower than its texts. */
  readonly canShrink?: boolean;
}

const GAP = '  ';
/** Minimum width of a column that is cut, in characters. */
const MIN_WIDTH = 8;

/**
 * Renders rows as lines, with a line of titles. Escapes control characters in values, because the
 * values come from a service.
 * @param maxWidth the width of the terminal in characters. Undefined: no column is cut.
 */
export function renderTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[], maxWidth?: number): string {
  const cells = rows.map((row, index) => columns.map(({ value }) => shown(value(row, index))));
  const titles = columns.map(({ title }) => title);
  // Math.max cannot take the texts of 100,000 machines as its arguments.
  const widths = titles.map((title, index) =>
    cells.reduce((widest, line) => Math.max(widest, widthOf(line[index] ?? '')), widthOf(title)),
  );
  const fitted = maxWidth === undefined ? widths : fit(widths, columns, maxWidth);
  return [titles, ...cells].map((line) => renderLine(line, fitted)).join('\n');
}

const shown = (value: string | number | null | undefined): string =>
  value === undefined || value === null || value === '' ? '-' : plainLine(String(value));

function renderLine(cells: readonly string[], widths: readonly number[]): string {
  return cells
    .map((cell, index) => {
      const width = widths[index] ?? 0;
      const text = cutLine(cell, width);
      return text + ' '.repeat(width - widthOf(text));
    })
    .join(GAP)
    .trimEnd();
}

/**
 * Repeatedly takes one character from the widest column that may shrink, until the table fits or no
 * column can shrink.
 */
function fit(widths: readonly number[], columns: readonly Column<never>[], maxWidth: number): readonly number[] {
  const fitted = [...widths];
  let excess = fitted.reduce((sum, width) => sum + width, 0) + GAP.length * (fitted.length - 1) - maxWidth;
  while (excess > 0) {
    let widest = -1;
    for (const [index, width] of fitted.entries())
      if (columns[index]?.canShrink === true && width > MIN_WIDTH && width > (fitted[widest] ?? 0)) widest = index;
    if (widest === -1) break;
    fitted[widest] = (fitted[widest] ?? 0) - 1;
    excess -= 1;
  }
  return fitted;
}
