/** Our own reports of usage: all rows as a file, and the largest keys, models or tags with their values of each day. */
import { invalidParameter } from '../errors/model.js';
import type { UsageRow } from '../store/usage.js';
import { integerIn, type ManagementRequest } from './request.js';
import { StreamedAnswer, streamedList } from './streamed-answer.js';
import { addSums, emptySums, numbersOf, periodOf, usageIn, valueAt, type Period, type Sums } from './usage-query.js';

/**
 * `GET /usage/export`: all rows between the dates, of keys and tags. As JSON, or with `format=csv` as a table.
 * @throws {ProxyError} 400: a date or the format is invalid.
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
type Measure = (typeof measures)[number];
const MAX_GROUPS = 100;
const MAX_DAYS = 366;
const DAY_MS = 86_400_000;

/** A key, a model or a tag. */
interface Group {
  readonly sums: Sums;
  /** The measure of each day with usage: its position in the period, and the value. */
  readonly daily: [position: number, value: number][];
}

/**
 * `GET /usage/daily`: the keys, models or tags (`group_by`) with the largest `measure` between the dates, and the sum
 * of all others. `daily` is the measure of each day of `days`.
 * @throws {ProxyError} 400: a member of the query is invalid, or the period is longer than {@link MAX_DAYS}.
 */
export async function dailyUsage(request: ManagementRequest): Promise<object> {
  const { query, store } = request;
  const by = query.get('group_by') ?? 'key';
  if (by !== 'key' && by !== 'model' && by !== 'tag') throw invalidParameter('group_by', 'must be key, model or tag');
  const measure = measures.find((name) => name === (query.get('measure') ?? 'spend'));
  if (measure === undefined) throw invalidParameter('measure', `must be ${measures.join(', ')}`);
  const size = integerIn(query, 'size', { default: MAX_GROUPS, max: MAX_GROUPS });
  const days = daysOf(periodOf(request));
  const positions = new Map(days.map((day, position) => [day, position]));
  const found = new Map<string, Group>();
  for await (const rows of usageIn(request))
    for (const row of rows) {
      const position = positions.get(row.day);
      if (position === undefined || row.subject !== (by === 'tag' ? 'tag' : 'key')) continue;
      const name = by === 'model' ? row.model : row.name;
      add(
        valueAt(found, name, () => ({ sums: emptySums(), daily: [] })),
        row,
        { position, measure },
      );
    }
  const sorted = [...found].sort(
    ([, { sums: left }], [, { sums: right }]) => right[measure] - left[measure] || right.requests - left.requests,
  );
  const shown = sorted.slice(0, size).map(([name, { sums, daily }]) => ({
    name,
    key_alias: by === 'key' ? (store.keys.get(name)?.alias ?? null) : null,
    ...sums,
    daily: valuesOf(daily, days.length),
  }));
  return { days, groups: shown, others: othersOf(sorted.slice(size), days.length) };
}

function add(
  { sums, daily }: Group,
  row: UsageRow,
  { position, measure }: { position: number; measure: Measure },
): void {
  const before = sums[measure];
  addSums(sums, numbersOf(row));
  const added = sums[measure] - before;
  const last = daily.at(-1);
  // The rows of a day follow each other.
  if (last?.[0] === position) last[1] += added;
  else daily.push([position, added]);
}

function valuesOf(daily: Group['daily'], length: number): number[] {
  const values = Array.from({ length }, () => 0);
  for (const [position, value] of daily) values[position] = (values[position] ?? 0) + value;
  return values;
}

function othersOf(groups: readonly (readonly [name: string, group: Group])[], length: number): object {
  const sums = emptySums();
  const daily: Group['daily'] = [];
  for (const [, group] of groups) {
    addSums(sums, group.sums);
    for (const day of group.daily) daily.push(day);
  }
  return { count: groups.length, ...sums, daily: valuesOf(daily, length) };
}

function daysOf({ from, to }: Period): readonly string[] {
  const first = Date.parse(from);
  const count = Math.round((Date.parse(to) - first) / DAY_MS) + 1;
  if (count < 1 || count > MAX_DAYS)
    throw invalidParameter('start_date', `and end_date must be a period of 1 to ${MAX_DAYS} days`);
  return Array.from({ length: count }, (_, index) => new Date(first + index * DAY_MS).toISOString().slice(0, 10));
}
