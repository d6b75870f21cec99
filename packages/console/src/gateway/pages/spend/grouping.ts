/** Adds up rows of usage by key, model or tag. */
import { MAX_SERIES, type BarSeries } from '../../../ui/charts/bar-chart.js';
import type { Measure, UsageRow } from '../../api/usage.js';
import { spendTexts as texts } from '../../../texts/index.js';

/** The subject of a report. */
export type Grouping = 'key' | 'model' | 'tag';

/** The totals of a key, a model or a tag. */
export interface Totals {
  readonly id: string;
  readonly name: string;
  readonly requests: number;
  readonly failed: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly spend: number;
}

/**
 * Returns the rows that count for a grouping. A request is in one row for its key, and in one row
 * for each of its tags.
 */
const rowsOf = (rows: readonly UsageRow[], grouping: Grouping): readonly UsageRow[] =>
  rows.filter(({ subject }) => subject === (grouping === 'tag' ? 'tag' : 'key'));

const idOf = ({ model, name }: UsageRow, grouping: Grouping): string => (grouping === 'model' ? model : name);

function nameOf(row: UsageRow, grouping: Grouping): string {
  if (grouping !== 'key') return idOf(row, grouping);
  return row.name === '' ? texts.masterKey : (row.key_alias ?? texts.unnamedKey(row.name));
}

/** Returns the totals of each key, model or tag. */
export function totalsOf(rows: readonly UsageRow[], grouping: Grouping): readonly Totals[] {
  const found = new Map<string, Totals>();
  for (const row of rowsOf(rows, grouping)) {
    const id = idOf(row, grouping);
    const before = found.get(id);
    found.set(id, {
      id,
      name: nameOf(row, grouping),
      requests: (before?.requests ?? 0) + row.requests,
      failed: (before?.failed ?? 0) + row.failed_requests,
      inputTokens: (before?.inputTokens ?? 0) + row.prompt_tokens,
      outputTokens: (before?.outputTokens ?? 0) + row.completion_tokens,
      spend: (before?.spend ?? 0) + row.spend,
    });
  }
  return [...found.values()];
}

/** Returns the series of a chart. If they are more than `MAX_SERIES`, the last one contains those with small sums. */
export function seriesOf(
  rows: readonly UsageRow[],
  days: readonly string[],
  grouping: Grouping,
  measure: Measure,
): readonly BarSeries[] {
  const place = new Map(days.map((day, index) => [day, index]));
  const found = new Map<string, { readonly name: string; readonly values: number[]; sum: number }>();
  for (const row of rowsOf(rows, grouping)) {
    const index = place.get(row.day);
    if (index === undefined) continue;
    const id = idOf(row, grouping);
    const series = found.get(id) ?? { name: nameOf(row, grouping), values: days.map(() => 0), sum: 0 };
    series.values[index] = (series.values[index] ?? 0) + row[measure];
    series.sum += row[measure];
    found.set(id, series);
  }
  const sorted = [...found.values()].sort((a, b) => b.sum - a.sum);
  if (sorted.length <= MAX_SERIES) return sorted;
  const rest = sorted.slice(MAX_SERIES - 1);
  const values = days.map((_, index) => rest.reduce((sum, one) => sum + (one.values[index] ?? 0), 0));
  return [...sorted.slice(0, MAX_SERIES - 1), { name: texts.other, values }];
}
