/** How figures are compared and shown. */

/** A figure and what is asked of it. */
export interface Figure {
  readonly what: string;
  readonly value: number;
  readonly unit: '' | 'ms' | 'MB' | '%';
  readonly must: number;
  /** null: there is nothing better than what must be. */
  readonly aim: number | null;
  readonly better: 'higher' | 'lower';
}

export const isReached = ({ value, must, better }: Figure): boolean =>
  better === 'higher' ? value >= must : value <= must;

/** The middle one; of an even number, the higher of the two. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

/** Ratios within each round, so that what slows the machine for a while slows both; the middle one counts. */
export function medianRatio(values: readonly number[], others: readonly number[]): number {
  return median(values.map((value, round) => value / (others[round] ?? NaN)));
}

/** Three figures that count. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return '–';
  if (Math.abs(value) >= 100) return value.toFixed(0);
  return value.toPrecision(3);
}

/** A table as Markdown. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`;
  const rule = `| ${widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

/** The table of all figures against what is asked. */
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
