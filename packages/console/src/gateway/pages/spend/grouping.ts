/** Names and series of keys, models or tags. */
import { MAX_SERIES, type BarSeries } from '../../../ui/charts/bar-chart.js';
import type { DailyUsage, Grouping, UsageGroup } from '../../api/usage.js';
import { spendTexts as texts } from '../../../texts/index.js';

/** Returns the name under which the page shows a group. */
export function nameOf({ name, key_alias: alias }: UsageGroup, grouping: Grouping): string {
  if (grouping !== 'key') return name;
  return name === '' ? texts.masterKey : (alias ?? texts.unnamedKey(name));
}

/**
 * Returns the series of a chart. If there are more than `MAX_SERIES` groups, or groups that are only in `others`, the
 * last series is the sum of the smaller groups.
 */
export function seriesOf({ groups, others }: DailyUsage, grouping: Grouping): readonly BarSeries[] {
  const series = groups.map((group) => ({ name: nameOf(group, grouping), values: group.daily }));
  if (series.length <= MAX_SERIES && others.count === 0) return series;
  const rest = [...series.slice(MAX_SERIES - 1).map(({ values }) => values), others.daily];
  const values = others.daily.map((_, day) => rest.reduce((sum, one) => sum + (one[day] ?? 0), 0));
  return [...series.slice(0, MAX_SERIES - 1), { name: texts.other, values }];
}
