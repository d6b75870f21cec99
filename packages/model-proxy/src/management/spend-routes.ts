/**
 * LiteLLM's reports of usage. The store has totals for each day, not single requests.
 * @see https://docs.litellm.ai/docs/proxy/cost_tracking
 */
import { invalidParameter } from '../errors/model.js';
import type { Store } from '../store/store.js';
import type { UsageRow } from '../store/usage.js';
import { filterIn, type ManagementRequest } from './request.js';
import { streamedList } from './streamed-answer.js';
import { addSums, emptySums, numbersOf, usageIn, valueAt, type Sums } from './usage-query.js';

/**
 * `GET /spend/logs`: sums of each day; if a date is missing, or with `summarize=false`, the rows of each day, key
 * and model.
 * @throws {ProxyError} 400: a date is invalid, or a filter is not implemented.
 */
export function spendLogs(request: ManagementRequest): object {
  const { query, store } = request;
  const isSummary = query.has('start_date') && query.has('end_date') && query.get('summarize') !== 'false';
  return streamedList(
    eachDay(usageIn(request), (day, rows) => {
      const ofKeys = rows.filter(isOfKey);
      if (!isSummary) return ofKeys.map((row) => logRow(row, store));
      return ofKeys.length === 0 ? [] : [daySummary(day, ofKeys)];
    }),
  );
}

const isOfKey = ({ subject }: UsageRow): boolean => subject === 'key';

/** Makes elements of a list from the rows of each day. */
async function* eachDay(
  days: AsyncIterable<readonly UsageRow[]>,
  elements: (day: string, rows: readonly UsageRow[]) => readonly object[],
): AsyncGenerator<readonly object[]> {
  for await (const rows of days) {
    const [first] = rows;
    if (first !== undefined) yield elements(first.day, rows);
  }
}

function daySummary(day: string, rows: readonly UsageRow[]): object {
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
 * @throws {ProxyError} 400: a date is missing or invalid, `group_by` is invalid, or a filter is not implemented.
 */
export function spendReport(request: ManagementRequest): object | Promise<object> {
  const { query, store } = request;
  if (!query.has('start_date') || !query.has('end_date'))
    throw invalidParameter('start_date', 'and end_date are required');
  const by = query.get('group_by') ?? (filterIn(query, 'api_key') === undefined ? 'team' : 'api_key');
  const days = usageIn(request);
  if (by === 'api_key') return totals(days, 'key', ({ name }) => name, by);
  if (by === 'model') return totals(days, 'key', ({ model }) => model, by);
  if (by === 'tag') return totals(days, 'tag', ({ name }) => name, by);
  if (by !== 'team') throw invalidParameter('group_by', 'must be team, api_key, model or tag');
  const teamOf = ({ name }: UsageRow) => store.keys.get(name)?.teamId ?? 'Unassigned Team';
  return streamedList(
    eachDay(days, (day, rows) => {
      const teams = [...groups(rows.filter(isOfKey), teamOf)];
      return teams.length === 0 ? [] : [{ group_by_day: `${day}T00:00:00+00:00`, teams: teams.map(teamSummary) }];
    }),
  );
}

function teamSummary([team, rows]: readonly [string, readonly UsageRow[]]): object {
  return {
    team_name: team,
    total_spend: spendOf(rows),
    metadata: rows.map(({ model, name, cost, totalTokens }) => ({
      model,
      api_key: name,
      spend: cost,
      total_tokens: totalTokens,
    })),
  };
}

async function totals(
  days: AsyncIterable<readonly UsageRow[]>,
  subject: UsageRow['subject'],
  nameOf: (row: UsageRow) => string,
  label: string,
): Promise<object[]> {
  const found = new Map<string, { readonly all: Sums; readonly models: Map<string, Sums> }>();
  for await (const rows of days)
    for (const row of rows) {
      if (row.subject !== subject) continue;
      const numbers = numbersOf(row);
      const { all, models } = valueAt(found, nameOf(row), () => ({
        all: emptySums(),
        models: new Map<string, Sums>(),
      }));
      addSums(all, numbers);
      addSums(valueAt(models, row.model, emptySums), numbers);
    }
  const shown = [...found].map(([name, { all, models }]) => ({
    [label]: name,
    ...totalsOf(all),
    model_details: Array.from(models, ([model, sums]) => ({ model, ...totalsOf(sums) })),
  }));
  return shown.sort((left, right) => right.total_cost - left.total_cost);
}

const totalsOf = (sums: Sums) => ({
  total_cost: sums.spend,
  total_input_tokens: sums.prompt_tokens,
  total_output_tokens: sums.completion_tokens,
});

/**
 * `GET /spend/tags`: totals for each tag. With a filter for keys (`api_key`, `team_id`, `user_id`), the list is
 * empty, because tags have no totals for each key.
 * @throws {ProxyError} 400: a date is invalid, or a filter is not implemented.
 */
export async function spendTags(request: ManagementRequest): Promise<object> {
  const found = new Map<string, Sums>();
  for await (const rows of usageIn(request))
    for (const row of rows) if (row.subject === 'tag') addSums(valueAt(found, row.name, emptySums), numbersOf(row));
  return Array.from(found, ([tag, { requests, spend }]) => ({
    individual_request_tag: tag,
    log_count: requests,
    total_spend: spend,
  }));
}

function groups(rows: readonly UsageRow[], nameOf: (row: UsageRow) => string): Map<string, UsageRow[]> {
  const found = new Map<string, UsageRow[]>();
  for (const row of rows) valueAt(found, nameOf(row), () => []).push(row);
  return found;
}

function spendBy(rows: readonly UsageRow[], nameOf: (row: UsageRow) => string): Record<string, number> {
  return Object.fromEntries(Array.from(groups(rows, nameOf), ([name, own]) => [name, spendOf(own)]));
}

const spendOf = (rows: readonly UsageRow[]) => rows.reduce((total, { cost }) => total + cost, 0);
