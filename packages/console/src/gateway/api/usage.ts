/** Usage and spend of each day. The requests throw as {@link get} and {@link getFile}. */
import { get, getFile } from './client.js';

/** The usage of a key or a tag with one model on one day. */
export interface UsageRow {
  /** The day in UTC, such as `2026-11-30`. */
  readonly day: string;
  readonly subject: 'key' | 'tag';
  /** The digest of a key, or a tag; empty: requests without a virtual key. */
  readonly name: string;
  readonly key_alias: string | null;
  readonly model: string;
  readonly requests: number;
  readonly failed_requests: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly spend: number;
}

/** A numeric column of a row. */
export type Measure = 'spend' | 'total_tokens' | 'requests';

const DAY_MS = 86_400_000;

/** Returns the last days in UTC, oldest first. */
export function lastDays(count: number, now: number = Date.now()): readonly string[] {
  return Array.from({ length: count }, (_, index) =>
    new Date(now - (count - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  );
}

const exportPath = (days: readonly string[]): string => {
  const query = new URLSearchParams({ start_date: days[0] ?? '', end_date: days.at(-1) ?? '' });
  return `/usage/export?${query.toString()}`;
};

/** Reads the usage of some days. */
export function readUsage(days: readonly string[]): Promise<readonly UsageRow[]> {
  return get(exportPath(days));
}

/** Reads the same rows as a table for a spreadsheet. */
export function readUsageAsCsv(days: readonly string[]): Promise<Blob> {
  return getFile(`${exportPath(days)}&format=csv`);
}
