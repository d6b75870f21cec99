/** Usage and spend of each day. The requests throw as {@link get} and {@link getFile}. */
import { get, getFile } from './client.js';

/** Sums over a period. */
interface Sums {
  readonly requests: number;
  readonly failed_requests: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly spend: number;
  /** The value of the requested measure for each of the {@link DailyUsage.days}. */
  readonly daily: readonly number[];
}

/** The usage of a key, a model or a tag. */
export interface UsageGroup extends Sums {
  /** The digest of a key, a model, or a tag; empty: requests without a virtual key. */
  readonly name: string;
  readonly key_alias: string | null;
}

/** The largest keys, models or tags of a period. */
export interface DailyUsage {
  /** The days in UTC, such as `2026-11-30`, oldest first. */
  readonly days: readonly string[];
  /** The groups with the largest sums of the measure, the largest first. */
  readonly groups: readonly UsageGroup[];
  readonly others: Sums & { readonly count: number };
}

/** A numeric column of a group. */
export type Measure = 'spend' | 'total_tokens' | 'requests';

/** The subject of a report. */
export type Grouping = 'key' | 'model' | 'tag';

const DAY_MS = 86_400_000;

/** Returns the first and the last date of the last days in UTC, including today. */
function lastDays(count: number): Record<'start_date' | 'end_date', string> {
  const [start_date, end_date] = [count - 1, 0].map((ago) =>
    new Date(Date.now() - ago * DAY_MS).toISOString().slice(0, 10),
  );
  return { start_date: start_date ?? '', end_date: end_date ?? '' };
}

/** Reads the usage of the last days. */
export function readUsage(days: number, grouping: Grouping, measure: Measure): Promise<DailyUsage> {
  return get(`/usage/daily?${new URLSearchParams({ ...lastDays(days), group_by: grouping, measure }).toString()}`);
}

/** Reads all usage of the last days as a table for a spreadsheet. */
export function readUsageAsCsv(days: number): Promise<Blob> {
  return getFile(`/usage/export?${new URLSearchParams({ ...lastDays(days), format: 'csv' }).toString()}`);
}
