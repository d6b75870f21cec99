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
/** Minimum width of a column that may shrink, in characters. */
const MIN_WIDTH = 8;

/** A rendered table. */
interface Table {
  /** The lines, without a line feed at the end. */
  readonly text: string;
  /** Titles of the columns that do not fit: always the last ones. Empty if all columns fit. */
  readonly omitted: readonly string[];
}

/**
 * Renders rows as lines, with a line of titles. Escapes control characters in values, because the
 * values come from a service. Shows a missing or empty value as `-`.
 * @param maxWidth the width of the terminal in characters. Undefined: no column is cut or omitted.
 */
export function renderTable<Row>(rows: readonly Row[], columns: readonly Column<Row>[], maxWidth = Infinity): Table {
  const cells = rows.map((row, index) => columns.map(({ value }) => shown(value(row, index))));
  const titles = columns.map(({ title }) => title);
  // Math.max cannot take the widths of 100,000 machines as its arguments.
  const widths = titles.map((title, index) =>
    cells.reduce((widest, line) => Math.max(widest, widthOf(line[index] ?? '')), widthOf(title)),
  );
  const fitted = fit(widths, columns, maxWidth);
  const text = [titles, ...cells].map((line) => renderLine(line, fitted)).join('\n');
  return { text, omitted: titles.slice(fitted.length) };
}

const shown = (value: string | number | null | undefined): string =>
  value === undefined || value === null || value === '' ? '-' : plainLine(String(value));

function renderLine(cells: readonly string[], widths: readonly number[]): string {
  return widths
    .map((width, index) => {
      const text = cutLine(cells[index] ?? '', width);
      return text + ' '.repeat(width - widthOf(text));
    })
    .join(GAP)
    .trimEnd();
}

/**
 * Returns the widths of the first columns: of as many columns as fit. The first column is always one of them, and is
 * cut if it is wider than the terminal.
 */
function fit(widths: readonly number[], columns: readonly Column<never>[], maxWidth: number): readonly number[] {
  for (let count = widths.length; count > 1; count -= 1) {
    const fitted = shrink(widths.slice(0, count), columns, maxWidth);
    if (excessOf(fitted, maxWidth) <= 0) return fitted;
  }
  return widths.slice(0, 1).map((width) => Math.min(width, maxWidth));
}

/** Returns by how many characters a table is wider than the terminal. */
const excessOf = (widths: readonly number[], maxWidth: number): number =>
  widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1) - maxWidth;

/**
 * Repeatedly takes one character from the widest column that may shrink, until the table fits or no
 * column can shrink.
 */
function shrink(widths: readonly number[], columns: readonly Column<never>[], maxWidth: number): readonly number[] {
  const fitted = [...widths];
  let excess = excessOf(fitted, maxWidth);
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
