/** Stacked bars over categories such as days, with the same numbers as a table. */
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Table } from '../table/table.js';
import { uiTexts as texts } from '../../texts/index.js';

/** One part of each bar. */
export interface BarSeries {
  readonly name: string;
  /** A value for each category. */
  readonly values: readonly number[];
}

/** A place on the horizontal axis. */
interface Category {
  /** The name in the table, such as `2026-11-30`. */
  readonly name: string;
  /** The name under the bar, such as `11-30`. */
  readonly short: string;
}

/** Properties of `BarChart`. */
interface BarChartProps {
  /** The title of the chart, such as `Spend by day`. */
  readonly label: string;
  readonly categories: readonly Category[];
  /** The heading of the categories in the table, such as `Day`. */
  readonly categoryTitle: string;
  /** From the bottom to the top. There are colors for {@link MAX_SERIES} of them. */
  readonly series: readonly BarSeries[];
  readonly format: (value: number) => string;
}

/** Number of series that have their own color. */
export const MAX_SERIES = 6;

/** Pixels. The width is that of the page. */
const HEIGHT = 260;
const LEFT = 60;
const BOTTOM = 24;
const TOP = 10;
const PLOT = HEIGHT - TOP - BOTTOM;
const LABEL_WIDTH = 64;

/** A chart with a bar for each category, and a table of all values. */
export function BarChart({ label, categories, categoryTitle, series, format }: BarChartProps) {
  const id = useId();
  const totals = categories.map((_, index) => series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0));
  const top = roundUp(Math.max(...totals, 0));
  if (top === 0) return <p class="quiet chart-empty">{texts.noData}</p>;
  return (
    <figure class="chart" aria-labelledby={id}>
      <figcaption id={id}>{label}</figcaption>
      <div class="legend" aria-hidden="true">
        {series.map(({ name }, index) => (
          <span key={name} class={`key series-${index + 1}`}>
            {name}
          </span>
        ))}
      </div>
      <Bars categories={categories} series={series} totals={totals} top={top} format={format} />
      <details>
        <summary>{texts.chartTable}</summary>
        <Table
          label={label}
          rows={categories.map(({ name }, index) => ({ name, index }))}
          keyOf={({ name }) => name}
          columns={[
            { id: 'category', title: categoryTitle, isRowHeader: true, render: ({ name }) => name },
            ...series.map(({ name, values }, index) => ({
              id: String(index),
              title: name,
              class: 'number',
              render: (row: { readonly index: number }) => format(values[row.index] ?? 0),
            })),
          ]}
        />
      </details>
    </figure>
  );
}

type BarsProps = Pick<BarChartProps, 'categories' | 'series' | 'format'> & {
  readonly totals: readonly number[];
  readonly top: number;
};

/** The drawing. Screen readers use the table instead. */
function Bars({ categories, series, totals, top, format }: BarsProps) {
  const box = useRef<HTMLDivElement>(null);
  const [fullWidth, setFullWidth] = useState(800);
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setFullWidth(Math.max(element.clientWidth, 2 * LEFT)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const slot = (fullWidth - LEFT) / categories.length;
  const width = Math.min(slot * 0.72, 44);
  const labelStep = Math.ceil((LABEL_WIDTH * categories.length) / (fullWidth - LEFT));
  const y = (value: number): number => TOP + PLOT * (1 - value / top);
  return (
    <div ref={box}>
      <svg height={HEIGHT} aria-hidden="true" focusable="false">
        {[0, 0.5, 1].map((share) => (
          <g key={share}>
            <line class="grid" x1={LEFT} x2={fullWidth} y1={y(share * top)} y2={y(share * top)} />
            <text x={LEFT - 8} y={y(share * top) + 4} text-anchor="end">
              {format(share * top)}
            </text>
          </g>
        ))}
        {categories.map(({ name, short }, index) => {
          const x = LEFT + slot * (index + 0.5);
          let below = 0;
          return (
            <g key={name}>
              <title>{barTitle(name, index, { series, totals, format })}</title>
              <rect class="hit" x={x - slot / 2} y={TOP} width={slot} height={PLOT} />
              {series.map(({ name: part, values }, position) => {
                const value = values[index] ?? 0;
                if (value <= 0) return null;
                below += value;
                return (
                  <rect
                    key={part}
                    class={`series-${position + 1}`}
                    x={x - width / 2}
                    y={y(below)}
                    width={width}
                    height={Math.max((value / top) * PLOT, 0.5)}
                  />
                );
              })}
              {index % labelStep === 0 ? (
                <text x={x} y={HEIGHT - 6} text-anchor="middle">
                  {short}
                </text>
              ) : null}
            </g>
          );
        })}
      </svg>
    </div>
  );
}

/** Returns the text that appears while the pointer is over a bar. */
function barTitle(
  name: string,
  index: number,
  { series, totals, format }: Pick<BarsProps, 'series' | 'totals' | 'format'>,
): string {
  const parts = series
    .filter(({ values }) => (values[index] ?? 0) > 0)
    .map(({ name: part, values }) => `${part}: ${format(values[index] ?? 0)}`);
  return [`${name}: ${format(totals[index] ?? 0)}`, ...parts].join('\n');
}

/**
 * Returns the first of …, 1, 2, 5, 10, 20, … that is not smaller than a value, for the end of an
 * axis; 0 if the value is not positive.
 */
function roundUp(value: number): number {
  if (value <= 0) return 0;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((factor) => factor * power >= value) ?? 10) * power;
}
