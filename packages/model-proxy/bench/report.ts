/** Compares and formats figures. */

/** A figure and its requirement. */
export interface Figure {
  readonly what: string;
  readonly value: number;
  readonly unit: '' | 'ms' | 'MB' | '%';
  readonly must: number;
  /** The desired value; null: none beyond `must`. */
  readonly aim: number | null;
  readonly better: 'higher' | 'lower';
}

export const isReached = ({ value, must, better }: Figure): boolean =>
  better === 'higher' ? value >= must : value <= must;

/** Returns the median; for an even number of values, the higher of the middle two. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

/**
 * Returns the median of the ratios within each round. A slow phase of the host affects both values
 * of a round, and so hardly their ratio.
 */
export function medianRatio(values: readonly number[], others: readonly number[]): number {
  return median(values.map((value, round) => value / (others[round] ?? NaN)));
}

/** Returns the quartiles of the ratios within each round, which show how much a busy host disturbs them. */
export function quartilesOfRatios(values: readonly number[], others: readonly number[]): string {
  const ratios = values.map((value, round) => value / (others[round] ?? NaN)).toSorted((a, b) => a - b);
  return [0.25, 0.75].map((share) => short(ratios[Math.floor(ratios.length * share)] ?? NaN)).join(' to ');
}

/** Formats three significant digits; from 100 on, the whole number; `–` for NaN and Infinity. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 100) return value.toFixed(0);
  return value.toPrecision(3);
}

/** Formats a table as Markdown. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`;
  const rule = `| ${widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

/** Formats the table of all figures and their requirements. */
export function figuresTable(figures: readonly Figure[]): string {
  const shown = (value: number | null, unit: string) => (value === null ? '' : `${short(value)}${unit && ` ${unit}`}`);
  return table(
    ['figure', 'result', 'must', 'aim', ''],
    figures.map((figure) => {
      const { what, value, unit, must, aim, better } = figure;
      const reachesAim = aim !== null && isReached({ ...figure, must: aim });
      const verdict = isReached(figure) ? (reachesAim || aim === null ? 'aim' : 'must') : 'MISSED';
      const sign = better === 'higher' ? '≥' : '≤';
      const asked = (bound: number | null) => (bound === null ? '' : `${sign} ${shown(bound, unit)}`);
      return [what, shown(value, unit), asked(must), asked(aim), verdict];
    }),
  );
}
