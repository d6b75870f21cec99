/**
 * LiteLLM's reports of usage. The store has totals for each day, not single requests.
 * @see https://docs.litellm.ai/docs/proxy/cost_tracking
 */
import { invalidParameter } from '../errors/model.js';
import { requestFault } from '../errors/proxy-error.js';
import type { Store } from '../store/store.js';
import { dayOf, type UsageRow } from '../store/usage.js';
import { digestOfGiven } from './key-routes.js';
import type { ManagementRequest } from './request.js';

/** Days of a report without dates. */
const DEFAULT_DAYS = 30;
const DAY_MS = 86_400_000;
const DATE = /^\d{4}-\d\d-\d\d$/;

/**
 * `GET /spend/logs`: sums of each day; if a date is missing, or with `summarize=false`, the rows of each day, key
 * and model.
 * @throws {ProxyError} 400: a date is invalid.
 */
export async function spendLogs(request: ManagementRequest): Promise<object> {
  const { query, store } = request;
  const rows = (await usageIn(request)).filter(({ subject }) => subject === 'key');
  const isSummary = query.has('start_date') && query.has('end_date') && query.get('summarize') !== 'false';
  return isSummary ? [...groups(rows, ({ day }) => day)].map(daySummary) : rows.map((row) => logRow(row, store));
}

function daySummary([day, rows]: readonly [string, readonly UsageRow[]]): object {
  return {
    ...spendBy(rows, ({ name }) => name),
    startTime: day,
    spend: spendOf(rows),
    users: {},
    models: spendBy(rows, ({ model }) => model),
  };
}

function logRow(row: UsageRow, { keys }: Pick<Store, 'keys'>): object {
  return {
    startTime: `${row.day}T00:00:00.000Z`,
    endTime: `${row.day}T23:59:59.999Z`,
    api_key: row.name,
    key_alias: keys.get(row.name)?.alias ?? null,
    model: row.model,
    model_group: row.model,
    ...numbersOf(row),
  };
}

/**
 * `GET /global/spend/report`: totals for each key, model or tag, or for each day and team (`group_by`). The default is
 * each day and team; with `api_key` in the query, it is each key.
 * @throws {ProxyError} 400: a date is missing or invalid, or `group_by` is invalid.
 */
export async function spendReport(request: ManagementRequest): Promise<object> {
  const { query, store } = request;
  if (!query.has('start_date') || !query.has('end_date'))
    throw invalidParameter('start_date', 'and end_date are required');
  const by = query.get('group_by') ?? (query.has('api_key') ? 'api_key' : 'team');
  const rows = await usageIn(request);
  const ofKeys = rows.filter(({ subject }) => subject === 'key');
  if (by === 'api_key') return totals(ofKeys, ({ name }) => name, 'api_key');
  if (by === 'model') return totals(ofKeys, ({ model }) => model, 'model');
  if (by === 'tag')
    return totals(
      rows.filter(({ subject }) => subject === 'tag'),
      ({ name }) => name,
      'tag',
    );
  if (by !== 'team') throw invalidParameter('group_by', 'must be team, api_key, model or tag');
  const teamOf = ({ name }: UsageRow) => store.keys.get(name)?.teamId ?? 'Unassigned Team';
  return [...groups(ofKeys, ({ day }) => day)].map(([day, ofDay]) => ({
    group_by_day: `${day}T00:00:00+00:00`,
    teams: [...groups(ofDay, teamOf)].map(([team, ofTeam]) => ({
      team_name: team,
      total_spend: spendOf(ofTeam),
      metadata: ofTeam.map(({ model, name, cost, totalTokens }) => ({
        model,
        api_key: name,
        spend: cost,
        total_tokens: totalTokens,
      })),
    })),
  }));
}

function totals(rows: readonly UsageRow[], nameOf: (row: UsageRow) => string, label: string): object[] {
  const found = [...groups(rows, nameOf)].map(([name, own]) => ({
    [label]: name,
    total_cost: spendOf(own),
    total_input_tokens: sum(own, ({ inputTokens }) => inputTokens),
    total_output_tokens: sum(own, ({ outputTokens }) => outputTokens),
    model_details: [...groups(own, ({ model }) => model)].map(([model, ofModel]) => ({
      model,
      total_cost: spendOf(ofModel),
      total_input_tokens: sum(ofModel, ({ inputTokens }) => inputTokens),
      total_output_tokens: sum(ofModel, ({ outputTokens }) => outputTokens),
    })),
  }));
  return found.sort((left, right) => right.total_cost - left.total_cost);
}

/**
 * `GET /spend/tags`: totals for each tag. With `api_key`, the list is empty, because tags have no
 * totals for each key.
 * @throws {ProxyError} 400: a date is invalid.
 */
export async function spendTags(request: ManagementRequest): Promise<object> {
  const rows = (await usageIn(request)).filter(({ subject }) => subject === 'tag');
  return [...groups(rows, ({ name }) => name)].map(([tag, own]) => ({
    individual_request_tag: tag,
    log_count: sum(own, ({ requests }) => requests),
    total_spend: spendOf(own),
  }));
}

/**
 * `GET /usage/export`: all rows between the dates, of keys and tags. As JSON, or with `format=csv` as a table.
 * @throws {ProxyError} 400: a date or the format is invalid.
 */
export async function exportUsage(request: ManagementRequest): Promise<object | string> {
  const rows = await usageIn(request);
  const { keys } = request.store;
  const shown = rows.map((row) => ({
    day: row.day,
    subject: row.subject,
    name: row.name,
    key_alias: row.subject === 'key' ? (keys.get(row.name)?.alias ?? null) : null,
    model: row.model,
    ...numbersOf(row),
  }));
  const format = request.query.get('format') ?? 'json';
  if (format === 'json') return shown;
  if (format !== 'csv') throw invalidParameter('format', 'must be json or csv');
  return [columns, ...shown.map((row) => columns.map((column) => row[column]))]
    .map((cells) => `${cells.map(csvCell).join(',')}\r\n`)
    .join('');
}

const columns = [
  ...(['day', 'subject', 'name', 'key_alias', 'model', 'requests', 'failed_requests'] as const),
  ...(['prompt_tokens', 'completion_tokens', 'total_tokens', 'spend'] as const),
] as const;

/** Beginnings of texts that spreadsheets run as formulas. Some languages of Excel also run the full-width forms. */
const formula = /^[=+\-@\uFF1D\uFF0B\uFF0D\uFF20\t\r\n]/;

/** Writes a cell (RFC 4180). Adds `'` to a text that a spreadsheet would run as a formula. */
function csvCell(value: string | number | null): string {
  if (typeof value === 'number') return String(value);
  const text = formula.test(value ?? '') ? `'${value ?? ''}` : (value ?? '');
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function numbersOf(row: UsageRow) {
  return {
    requests: row.requests,
    failed_requests: row.failed,
    prompt_tokens: row.inputTokens,
    completion_tokens: row.outputTokens,
    total_tokens: row.totalTokens,
    spend: row.cost,
  };
}

/**
 * Reads the rows between the dates of a query, by default of the last {@link DEFAULT_DAYS} days until today. Each date
 * has its own default. If the query selects keys, returns only the rows of these keys, without tags.
 * @throws {ProxyError} 400: a date is invalid, or a filter is not implemented.
 */
async function usageIn({ query, store, now }: ManagementRequest): Promise<readonly UsageRow[]> {
  const to = dateIn(query, 'end_date') ?? dayOf(now);
  const from = dateIn(query, 'start_date') ?? dayOf(now - (DEFAULT_DAYS - 1) * DAY_MS);
  for (const name of unsupportedFilters)
    if (query.has(name)) throw requestFault(`'${name}' is not implemented here.`, { param: name });
  const isSelected = keyFilter(query, store);
  const rows = await store.readUsage(from, to);
  return isSelected === undefined ? rows : rows.filter(({ subject, name }) => subject === 'key' && isSelected(name));
}

/** LiteLLM's filters for which the totals of the store have no data. Without an error, the report would be too large. */
const unsupportedFilters = ['request_id', 'customer_id'];

/** Returns the test of the keys that a query selects, by their digests; undefined: the query selects no keys. */
function keyFilter(query: URLSearchParams, { keys }: Pick<Store, 'keys'>): ((digest: string) => boolean) | undefined {
  const [given, team] = [query.get('api_key'), query.get('team_id')];
  const user = query.get('user_id') ?? query.get('internal_user_id');
  if (given === null && team === null && user === null) return undefined;
  const selected = given === null ? null : digestOfGiven(given);
  return (digest) =>
    (selected === null || digest === selected) &&
    (team === null || keys.get(digest)?.teamId === team) &&
    (user === null || keys.get(digest)?.userId === user);
}

function dateIn(query: URLSearchParams, name: string): string | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!DATE.test(text) || Number.isNaN(Date.parse(text)))
    throw invalidParameter(name, 'must be a date such as 2026-11-30');
  return text;
}

function groups(rows: readonly UsageRow[], nameOf: (row: UsageRow) => string): Map<string, UsageRow[]> {
  const found = new Map<string, UsageRow[]>();
  for (const row of rows) {
    const group = found.get(nameOf(row));
    if (group === undefined) found.set(nameOf(row), [row]);
    else group.push(row);
  }
  return found;
}

function spendBy(rows: readonly UsageRow[], nameOf: (row: UsageRow) => string): Record<string, number> {
  return Object.fromEntries([...groups(rows, nameOf)].map(([name, own]) => [name, spendOf(own)]));
}

const spendOf = (rows: readonly UsageRow[]) => sum(rows, ({ cost }) => cost);
const sum = (rows: readonly UsageRow[], valueOf: (row: UsageRow) => number) =>
  rows.reduce((total, row) => total + valueOf(row), 0);
