/** Reads the usage that a query selects, and makes sums of it. */
import { invalidParameter } from '../errors/model.js';
import { requestFault } from '../errors/proxy-error.js';
import type { Store } from '../store/store.js';
import { DAY_MS, dayOf, type UsageRow } from '../store/usage.js';
import { digestOfGiven } from './key-routes.js';
import { filterIn, type ManagementRequest } from './request.js';

/** Days of a report without dates. */
const DEFAULT_DAYS = 30;
const DATE = /^\d{4}-\d\d-\d\d$/;

/** The first and the last day of a report. */
export interface ReportDates {
  readonly from: string;
  readonly to: string;
}

/**
 * Returns the dates of a query, by default the last {@link DEFAULT_DAYS} days until today. Each date has its own
 * default.
 * @throws {ProxyError} 400: a date is invalid.
 */
export function datesOf({ query, now }: Pick<ManagementRequest, 'query' | 'now'>): ReportDates {
  const to = dateIn(query, 'end_date') ?? dayOf(now);
  const from = dateIn(query, 'start_date') ?? dayOf(now - (DEFAULT_DAYS - 1) * DAY_MS);
  return { from, to };
}

/**
 * Reads the rows between the dates of a query, one day after the other. If the query selects keys, returns only the
 * rows of these keys, without tags.
 * @throws {ProxyError} 400: a date is invalid, or a filter is not implemented. The call throws it, not the iteration.
 */
export function usageIn(request: ManagementRequest): AsyncIterable<readonly UsageRow[]> {
  const { query, store } = request;
  const { from, to } = datesOf(request);
  for (const name of unsupportedFilters)
    if (filterIn(query, name) !== undefined) throw requestFault(`'${name}' is not implemented here.`, { param: name });
  const isSelected = keyFilter(query, store);
  const days = store.usageByDay(from, to);
  return isSelected === undefined ? days : rowsOfKeys(days, isSelected);
}

/**
 * LiteLLM's filters for which the totals of the store have no data. Without an error, the report would
 * include usage that the filter excludes.
 */
const unsupportedFilters = ['request_id', 'customer_id'];

/** Returns the test of the keys that a query selects, by their digests; undefined: the query selects no keys. */
function keyFilter(query: URLSearchParams, { keys }: Pick<Store, 'keys'>): ((digest: string) => boolean) | undefined {
  const [given, team] = [filterIn(query, 'api_key'), filterIn(query, 'team_id')];
  const user = filterIn(query, 'user_id') ?? filterIn(query, 'internal_user_id');
  if (given === undefined && team === undefined && user === undefined) return undefined;
  const selected = given === undefined ? undefined : digestOfGiven(given);
  return (digest) =>
    (selected === undefined || digest === selected) &&
    (team === undefined || keys.get(digest)?.teamId === team) &&
    (user === undefined || keys.get(digest)?.userId === user);
}

async function* rowsOfKeys(
  days: AsyncIterable<readonly UsageRow[]>,
  isSelected: (digest: string) => boolean,
): AsyncGenerator<readonly UsageRow[]> {
  for await (const rows of days) yield rows.filter(({ subject, name }) => subject === 'key' && isSelected(name));
}

function dateIn(query: URLSearchParams, name: string): string | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!DATE.test(text) || Number.isNaN(Date.parse(text)))
    throw invalidParameter(name, 'must be a date such as 2026-11-30');
  return text;
}

/** Returns the numbers of a row with LiteLLM's names. */
export function numbersOf(row: UsageRow) {
  return {
    requests: row.requests,
    failed_requests: row.failed,
    prompt_tokens: row.inputTokens,
    completion_tokens: row.outputTokens,
    total_tokens: row.totalTokens,
    spend: row.cost,
  };
}

/** Sums of some rows, with the names of {@link numbersOf}. */
export type Sums = ReturnType<typeof numbersOf>;

/** Returns sums that count no row yet. */
export const emptySums = (): Sums => ({
  requests: 0,
  failed_requests: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  total_tokens: 0,
  spend: 0,
});

/** Adds to sums. @param added other sums, or the numbers of a row ({@link numbersOf}). */
export function addSums(sums: Sums, added: Readonly<Sums>): void {
  sums.requests += added.requests;
  sums.failed_requests += added.failed_requests;
  sums.prompt_tokens += added.prompt_tokens;
  sums.completion_tokens += added.completion_tokens;
  sums.total_tokens += added.total_tokens;
  sums.spend += added.spend;
}

/** Returns the value of a map, and adds it first if it is missing. */
export function valueAt<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
