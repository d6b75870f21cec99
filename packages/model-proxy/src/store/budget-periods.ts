/**
 * Durations and periods of budgets in LiteLLM's notation: `30s`, `5m`, `24h`, `30d`, `2w`, `1mo`. All times are in
 * UTC.
 */

const DAY_MS = 86_400_000;
const UNITS_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: DAY_MS,
  w: 7 * DAY_MS,
  mo: 31 * DAY_MS,
};
const MAX_MS = 36_600 * DAY_MS;

interface Duration {
  readonly count: number;
  readonly unit: string;
}

function parseDuration(text: string): Duration | undefined {
  const [, count = '', unit = ''] = /^([1-9]\d{0,9})(s|m|h|d|w|mo)$/.exec(text) ?? [];
  return count === '' || Number(count) * (UNITS_MS[unit] ?? 0) > MAX_MS ? undefined : { count: Number(count), unit };
}

/**
 * Returns the end of a duration, such as the life of a key.
 * @param fromMs milliseconds since 1970.
 * @returns undefined: the text is not a duration between one second and 100 years.
 */
export function endOfDuration(text: string, fromMs: number): number | undefined {
  const duration = parseDuration(text);
  if (duration === undefined) return undefined;
  const { count, unit } = duration;
  return unit === 'mo' ? addMonths(fromMs, count) : fromMs + count * (UNITS_MS[unit] ?? 0);
}

/** Adds months. The day is the last day of the month if the month is too short. */
function addMonths(fromMs: number, months: number): number {
  const date = new Date(fromMs);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() + months);
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  date.setUTCDate(Math.min(day, lastDay));
  return date.getTime();
}

/**
 * Returns the end of the period of a budget. As in LiteLLM, periods end at regular times: `1h` at the
 * full hour, `1d` at midnight, `7d` on Monday, `30d` and `1mo` on the first day of a month. All proxies
 * have the same periods, because other lengths count from 1970 or, for months, from year 0.
 * @returns undefined as for {@link endOfDuration}.
 */
export function endOfPeriod(text: string, nowMs: number): number | undefined {
  const duration = parseDuration(text);
  if (duration === undefined) return undefined;
  const { count, unit } = duration;
  const days = unit === 'd' ? count : unit === 'w' ? 7 * count : 0;
  if (unit === 'mo') return firstOfMonth(nowMs, count);
  if (days === 30) return firstOfMonth(nowMs, 1);
  // The first Monday of 1970 was January 5.
  const startMs = days === 7 ? 4 * DAY_MS : 0;
  const lengthMs = count * (UNITS_MS[unit] ?? 0);
  return startMs + (Math.floor((nowMs - startMs) / lengthMs) + 1) * lengthMs;
}

function firstOfMonth(nowMs: number, count: number): number {
  const now = new Date(nowMs);
  const month = now.getUTCFullYear() * 12 + now.getUTCMonth();
  const end = (Math.floor(month / count) + 1) * count;
  return Date.UTC(Math.floor(end / 12), end % 12, 1);
}

/** Results of {@link endOfPeriod} by duration, with the times for which they are valid. */
const lastEnds = new Map<string, { readonly from: number; readonly until: number; readonly end: number | null }>();
const MAX_LAST_ENDS = 1000;

/** Returns the result of {@link endOfPeriod}; null for undefined. Caches it, because each request needs it often. */
function cachedEnd(text: string, nowMs: number): number | null {
  const last = lastEnds.get(text);
  if (last !== undefined && nowMs >= last.from && nowMs < last.until) return last.end;
  const end = endOfPeriod(text, nowMs) ?? null;
  const midnight = nowMs - (nowMs % DAY_MS) + DAY_MS;
  if (lastEnds.size >= MAX_LAST_ENDS) lastEnds.clear();
  // At midnight, the next call computes the end again. This also limits the life of a result without an end.
  lastEnds.set(text, { from: nowMs, until: Math.min(end ?? midnight, midnight), end });
  return end;
}

/** A period of a budget and what was spent in it. */
export interface Period {
  /** US dollars. */
  readonly spend: number;
  /** Its end in milliseconds since 1970; null: the budget has no periods. */
  readonly resetAt: number | null;
}

/** The period of a key that has spent nothing. */
export const UNSPENT: Period = { spend: 0, resetAt: null };

/**
 * Returns the period at a time. After the end of a period, the spend is 0. If the duration is now shorter, or
 * if the clock was far ahead when the period began, the period ends earlier, but the spend stays.
 */
export function periodAt(period: Period, duration: string | null, nowMs: number): Period {
  const { resetAt, spend } = period;
  if (duration === null) return resetAt === null ? period : { spend, resetAt: null };
  const end = cachedEnd(duration, nowMs);
  if (resetAt === null || end === null) return { spend, resetAt: end };
  if (nowMs >= resetAt) return { spend: 0, resetAt: end };
  return resetAt > end ? { spend, resetAt: end } : period;
}
