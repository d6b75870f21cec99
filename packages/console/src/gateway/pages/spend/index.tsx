/** Usage and spend of each day. */
import { useSignal } from '@preact/signals';
import { useCallback, useEffect } from 'preact/hooks';
import { BarChart } from '../../../ui/charts/bar-chart.js';
import { Button } from '../../../ui/button.js';
import { compareNames, type Column, type Sorting } from '../../../ui/table/columns.js';
import { saveFile } from '../../../ui/download.js';
import { SelectField } from '../../../ui/field.js';
import { formatCompact, formatCount, formatUsd } from '../../../ui/format.js';
import { PageHeader } from '../../../ui/frame/page-header.js';
import { useAnswerOrder } from '../../../ui/answer-order.js';
import { EmptyState, ErrorState, Loading, messageOf } from '../../../ui/states.js';
import { Table } from '../../../ui/table/table.js';
import { showToast } from '../../../ui/frame/toast.js';
import { lastDays, readUsage, readUsageAsCsv, type Measure, type UsageRow } from '../../api/usage.js';
import { spendTexts as texts } from '../../../texts/index.js';
import { seriesOf, totalsOf, type Grouping, type Totals } from './grouping.js';

const REFRESH_MS = 5000;
const formats = { spend: formatUsd, total_tokens: formatCompact, requests: formatCompact } as const;

/** The page Spend. */
export default function SpendPage() {
  const count = useSignal('30');
  const grouping = useSignal<Grouping>('key');
  const measure = useSignal<Measure>('spend');
  const sorting = useSignal<Sorting>({ column: 'spend', isAscending: false });
  const { rows, days, error, read } = useUsage(Number(count.value));
  const saveCsv = (): void => {
    readUsageAsCsv(days).then(
      (file) => saveFile(`usage-${days.at(-1) ?? ''}.csv`, file),
      (thrown: unknown) => showToast('bad', messageOf(thrown)),
    );
  };
  return (
    <>
      <PageHeader
        title={texts.title}
        subtitle={texts.subtitle}
        actions={<Button onClick={saveCsv}>{texts.csv}</Button>}
      />
      <div class="row filters">
        <SelectField
          label={texts.period}
          value={count.value}
          onValue={(value) => {
            count.value = value;
          }}
          options={[7, 30, 90].map((each) => [String(each), texts.days(each)] as const)}
        />
        <SelectField
          label={texts.group}
          value={grouping.value}
          onValue={(value) => {
            grouping.value = value as Grouping; // the options are its values
          }}
          options={Object.entries(texts.groups)}
        />
        <SelectField
          label={texts.measure}
          value={measure.value}
          onValue={(value) => {
            measure.value = value as Measure; // the options are its values
          }}
          options={Object.entries(texts.measures)}
        />
      </div>
      {error === null ? null : <ErrorState title={texts.failed} message={error} onRetry={() => void read()} />}
      {rows === null ? (
        error === null ? (
          <Loading label={texts.loading} />
        ) : null
      ) : (
        <Report
          rows={rows}
          days={days}
          grouping={grouping.value}
          measure={measure.value}
          sorting={sorting.value}
          onSort={(next) => {
            sorting.value = next;
          }}
        />
      )}
    </>
  );
}

interface ReportProps {
  readonly rows: readonly UsageRow[];
  readonly days: readonly string[];
  readonly grouping: Grouping;
  readonly measure: Measure;
  readonly sorting: Sorting;
  readonly onSort: (sorting: Sorting) => void;
}

/** The chart and the totals. */
function Report({ rows, days, grouping, measure, sorting, onSort }: ReportProps) {
  const totals = totalsOf(rows, grouping);
  if (totals.length === 0) return <EmptyState title={texts.empty}>{texts.emptyHint}</EmptyState>;
  return (
    <div class="stack">
      <div class="card">
        <BarChart
          label={texts.chart[measure]}
          categoryTitle={texts.day}
          categories={days.map((name) => ({ name, short: name.slice('2026-'.length) }))}
          series={seriesOf(rows, days, grouping, measure)}
          format={formats[measure]}
        />
      </div>
      <Table
        label={texts.totals}
        columns={columnsOf(grouping)}
        rows={totals}
        keyOf={({ id }) => id}
        sorting={sorting}
        onSort={onSort}
      />
    </div>
  );
}

/** The usage that the page shows. */
interface Usage {
  /** null: not read yet. */
  readonly rows: readonly UsageRow[] | null;
  /** The days of the rows, oldest first. */
  readonly days: readonly string[];
  readonly error: string | null;
}

/** Reads the usage, and again every five seconds while the page is visible. */
function useUsage(count: number) {
  const state = useSignal<Usage>({ rows: null, days: lastDays(count), error: null });
  const order = useAnswerOrder();
  const read = useCallback(async () => {
    const accept = order.begin();
    const days = lastDays(count);
    const next = await readUsage(days).then(
      (rows) => ({ rows, days, error: null }),
      (thrown: unknown) => ({ ...state.peek(), error: messageOf(thrown) }),
    );
    if (accept()) state.value = next;
  }, [count]);
  useEffect(() => {
    // Answers for an earlier period do not count.
    order.forget();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isStopped = false;
    const poll = async (): Promise<void> => {
      if (!document.hidden) await read();
      if (!isStopped) timer = setTimeout(() => void poll(), REFRESH_MS);
    };
    void poll();
    return () => {
      isStopped = true;
      clearTimeout(timer);
    };
  }, [read]);
  return { ...state.value, read };
}

function columnsOf(grouping: Grouping): readonly Column<Totals>[] {
  const { columns: titles } = texts;
  const number = (
    id: string,
    title: string,
    valueOf: (row: Totals) => number,
    format: (value: number) => string,
    extra = '',
  ): Column<Totals> => ({
    id,
    title,
    class: `number ${extra}`.trim(),
    compare: (a, b) => valueOf(a) - valueOf(b),
    render: (row) => format(valueOf(row)),
  });
  return [
    {
      id: 'name',
      title: texts.groups[grouping],
      isRowHeader: true,
      compare: (a, b) => compareNames(a.name, b.name),
      render: ({ name }) => name,
    },
    number('requests', titles.requests, ({ requests }) => requests, formatCount),
    number('failed', titles.failed, ({ failed }) => failed, formatCount, 'wide'),
    number('input', titles.input, ({ inputTokens }) => inputTokens, formatCount, 'wide'),
    number('output', titles.output, ({ outputTokens }) => outputTokens, formatCount, 'wide'),
    number('spend', titles.spend, ({ spend }) => spend, formatUsd),
  ];
}
