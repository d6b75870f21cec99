/**
 * Our own reports of usage: all rows as a file, and the keys, models or tags with the highest spend, tokens or
 * requests, with their values of each day.
 */
import { invalidParameter } from '../errors/model.js';
import { daysBetween, DAY_MS, type UsageRow } from '../store/usage.js';
import { integerIn, type ManagementRequest } from './request.js';
import { StreamedAnswer, streamedList } from './streamed-answer.js';
import { addSums, emptySums, numbersOf, datesOf, usageIn, valueAt, type ReportDates } from './usage-query.js';

/**
 * `GET /usage/export`: all rows of keys and tags between the dates; with a filter for keys, only the rows of these
 * keys. As JSON, or with `format=csv` as a table.
 * @throws {ProxyError} 400: a date or the format is invalid, or a filter is not implemented.
 */
export function exportUsage(request: ManagementRequest): object {
  const format = request.query.get('format') ?? 'json';
  if (format !== 'json' && format !== 'csv') throw invalidParameter('format', 'must be json or csv');
  const days = exportedRows(request, usageIn(request));
  return format === 'json' ? streamedList(days) : new StreamedAnswer(CSV, csvOf(days), download);
}

async function* exportedRows({ store }: ManagementRequest, days: AsyncIterable<readonly UsageRow[]>) {
  for await (const rows of days)
    yield rows.map((row) => ({
      day: row.day,
      subject: row.subject,
      name: row.name,
      key_alias: row.subject === 'key' ? (store.keys.get(row.name)?.alias ?? null) : null,
      model: row.model,
      ...numbersOf(row),
    }));
}

const CSV = 'text/csv; charset=utf-8';
const download = ['content-disposition', 'attachment; filename="usage.csv"'];
const columns = [
  ...(['day', 'subject', 'name', 'key_alias', 'model', 'requests', 'failed_requests'] as const),
  ...(['prompt_tokens', 'completion_tokens', 'total_tokens', 'spend'] as const),
] as const;

async function* csvOf(days: ReturnType<typeof exportedRows>): AsyncGenerator<string> {
  let titles = lineOf(columns);
  // The titles come with the first day: if the store does not answer, nothing has been sent.
  for await (const rows of days) {
    yield titles + rows.map((row) => lineOf(columns.map((column) => row[column]))).join('');
    titles = '';
  }
  if (titles !== '') yield titles;
}

const lineOf = (cells: readonly (string | number | null)[]): string => `${cells.map(csvCell).join(',')}\r\n`;

/** Beginnings of texts that spreadsheets run as formulas. Some languages of Excel also run the full-width forms. */
const formula = /^[=+\-@\uFF1D\uFF0B\uFF0D\uFF20\t\r\n]/;

/** Writes a cell (RFC 4180). Adds `'` to a text that a spreadsheet would run as a formula. */
function csvCell(value: string | number | null): string {
  if (typeof value === 'number') return String(value);
  const text = formula.test(value ?? '') ? `'${value ?? ''}` : (value ?? '');
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const measures = ['spend', 'total_tokens', 'requests'] as const;
const MAX_GROUPS = 100;
const MAX_DAYS = 366;

/**
 * `GET /usage/daily`: the keys, models or tags (`group_by`) with the highest `measure` between the dates, and the sum
 * of all others. `daily` is the measure of each day of `days`.
 * @throws {ProxyError} 400: a parameter is invalid, a filter is not implemented, or the period is longer than
 *   {@link MAX_DAYS}.
 */
export async function dailyUsage(request: ManagementRequest): Promise<object> {
  const { query, store } = request;
  const by = query.get('group_by') ?? 'key';
  if (by !== 'key' && by !== 'model' && by !== 'tag') throw invalidParameter('group_by', 'must be key, model or tag');
  const measure = measures.find((name) => name === (query.get('measure') ?? 'spend'));
  if (measure === undefined) throw invalidParameter('measure', `must be ${measures.join(', ')}`);
  const count = integerIn(query, 'size', { default: MAX_GROUPS, max: MAX_GROUPS });
  const days = daysOf(datesOf(request));
  // The first read finds the largest groups. Values of each day for all groups would need too much memory.
  const sizes = new Map<string, Size>();
  await readGroups(request, by, (name, row) => {
    const size = valueAt(sizes, name, () => ({ measure: 0, requests: 0 }));
    size.measure += numbersOf(row)[measure];
    size.requests += row.requests;
  });
  const emptyGroup = () => ({ sums: emptySums(), daily: new Map<string, number>() });
  const shown = new Map(largest(sizes, count).map((name) => [name, emptyGroup()]));
  const others = emptyGroup();
  await readGroups(request, by, (name, row) => {
    const { sums, daily } = shown.get(name) ?? others;
    const numbers = numbersOf(row);
    addSums(sums, numbers);
    daily.set(row.day, (daily.get(row.day) ?? 0) + numbers[measure]);
  });
  const numbersOfGroup = ({ sums, daily }: typeof others) => ({
    ...sums,
    daily: days.map((day) => daily.get(day) ?? 0),
  });
  return {
    days,
    groups: Array.from(shown, ([name, group]) => ({
      name,
      key_alias: by === 'key' ? (store.keys.get(name)?.alias ?? null) : null,
      ...numbersOfGroup(group),
    })),
    others: { count: sizes.size - shown.size, ...numbersOfGroup(others) },
  };
}

/** Calls a function for each row of a query, with the name of its group. */
async function readGroups(
  request: ManagementRequest,
  by: 'key' | 'model' | 'tag',
  use: (name: string, row: UsageRow) => void,
): Promise<void> {
  const subject = by === 'tag' ? 'tag' : 'key';
  for await (const rows of usageIn(request))
    for (const row of rows) if (row.subject === subject) use(by === 'model' ? row.model : row.name, row);
}

/** Decides the order of groups: by the measure, then by the requests. */
interface Size {
  measure: number;
  requests: number;
}

/** Returns the names of the largest groups, the largest first. */
function largest(sizes: ReadonlyMap<string, Size>, count: number): string[] {
  return [...sizes]
    .sort(([, left], [, right]) => right.measure - left.measure || right.requests - left.requests)
    .slice(0, count)
    .map(([name]) => name);
}

function daysOf({ from, to }: ReportDates): readonly string[] {
  const [first, last] = [Date.parse(from), Date.parse(to)];
  if (last < first || last - first >= MAX_DAYS * DAY_MS)
    throw invalidParameter('start_date', `and end_date must be a period of 1 to ${MAX_DAYS} days`);
  return daysBetween(first, last);
}
