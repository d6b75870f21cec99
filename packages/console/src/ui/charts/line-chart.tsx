/** Lines over time, with the latest values as a table. */
import { useId } from 'preact/hooks';
import { formatClock } from '../format.js';
import { Table } from '../table/table.js';
import { uiTexts as texts } from '../../texts/index.js';

/** One line. */
export interface LineSeries {
  readonly name: string;
  /** A value for each time; null: none, which interrupts the line. */
  readonly values: readonly (number | null)[];
}

/** Properties of `LineChart`. */
interface LineChartProps {
  /** The title of the chart, such as `Processor`. */
  readonly label: string;
  /** Times in milliseconds since 1970, ascending. */
  readonly times: readonly number[];
  /** The time at the right end of the axis. */
  readonly end: number;
  /** Length of the axis in milliseconds. */
  readonly rangeMs: number;
  /** There are colors for six lines. */
  readonly series: readonly LineSeries[];
  /** The top of the axis. Default: a round number that is not below the largest value. */
  readonly max?: number;
  readonly format: (value: number) => string;
}

/** Units of the drawing, which is as wide as the page. */
const WIDTH = 600;
const HEIGHT = 140;
const GRID = [0, 0.5, 1];
/** Rows of the table. */
const TABLE_ROWS = 20;

/** A chart with a line for each series, and a table of the latest values. */
export function LineChart({ label, times, end, rangeMs, series, max, format }: LineChartProps) {
  const id = useId();
  const from = end - rangeMs;
  const first = times.findIndex((time) => time >= from);
  const values =
    first === -1 ? [] : series.flatMap((each) => each.values.slice(first)).filter((value) => value !== null);
  const top = max ?? roundUp(Math.max(...values, 0));
  const rows = times.map((time, index) => ({ time, index })).slice(first === -1 ? times.length : first);
  return (
    <figure class="chart card" aria-labelledby={id}>
      <figcaption id={id}>{label}</figcaption>
      <div class="legend">
        {series.map(({ name, values: all }, index) => (
          <span key={name} class={`key series-${index + 1}`}>
            {name} <strong>{textOf(all.at(-1), format)}</strong>
          </span>
        ))}
      </div>
      {values.length === 0 ? (
        <p class="quiet chart-empty">{texts.noData}</p>
      ) : (
        <div class="plot">
          <span class="top">{format(top)}</span>
          <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
            {GRID.map((share) => (
              <line key={share} class="grid" x1={0} x2={WIDTH} y1={share * HEIGHT} y2={share * HEIGHT} />
            ))}
            {series.map(({ name, values: all }, index) => (
              <path
                key={name}
                class={`line series-${index + 1}`}
                d={pathOf(
                  rows.map((row) => [(row.time - from) / rangeMs, all[row.index] ?? null]),
                  top,
                )}
              />
            ))}
          </svg>
          <span class="axis">
            <span>{formatClock(from)}</span>
            <span>{formatClock(end)}</span>
          </span>
        </div>
      )}
      <details>
        <summary>{texts.chartTable}</summary>
        <Table
          label={label}
          rows={rows.slice(-TABLE_ROWS).reverse()}
          keyOf={({ time }) => String(time)}
          columns={[
            { id: 'time', title: texts.time, isRowHeader: true, render: ({ time }) => formatClock(time) },
            ...series.map(({ name, values: all }, index) => ({
              id: String(index),
              title: name,
              class: 'number',
              render: (row: { readonly index: number }) => textOf(all[row.index], format),
            })),
          ]}
        />
      </details>
    </figure>
  );
}

const textOf = (value: number | null | undefined, format: (value: number) => string): string =>
  value === null || value === undefined ? '–' : format(value);

/** Returns the path of a line. @param points x from 0 to 1, and the value. */
function pathOf(points: readonly (readonly [number, number | null])[], top: number): string {
  let isDown = false;
  return points
    .map(([x, value]) => {
      if (value === null) {
        isDown = false;
        return '';
      }
      const command = isDown ? 'L' : 'M';
      isDown = true;
      return `${command}${(x * WIDTH).toFixed(1)} ${(HEIGHT * (1 - Math.min(value / top, 1))).toFixed(1)}`;
    })
    .join('');
}

/** Returns the smallest round number (1, 2 or 5 times a power of ten) that is not below a value; 1 for 0 or less. */
function roundUp(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= value) ?? value;
}
