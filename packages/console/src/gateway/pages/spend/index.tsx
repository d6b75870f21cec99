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
import {
  readUsage,
  readUsageAsCsv,
  type DailyUsage,
  type Grouping,
  type Measure,
  type UsageGroup,
} from '../../api/usage.js';
import { spendTexts as texts } from '../../../texts/index.js';
import { nameOf, seriesOf } from './grouping.js';
import { pauseAfter } from './pause.js';

const formats = { spend: formatUsd, total_tokens: formatCompact, requests: formatCompact } as const;

/** The page Spend. */
export default function SpendPage() {
  const count = useSignal('30');
  const grouping = useSignal<Grouping>('key');
  const measure = useSignal<Measure>('spend');
  const sorting = useSignal<Sorting>({ column: 'spend', isAscending: false });
  const { report, error, read } = useUsage(Number(count.value), grouping.value, measure.value);
  const saveCsv = (): void => {
    readUsageAsCsv(Number(count.value)).then(
      (file) => saveFile(`usage-${new Date().toISOString().slice(0, 10)}.csv`, file),
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
            grouping.value = value as Grouping; // the options are the values of Grouping
          }}
          options={Object.entries(texts.groups)}
        />
        <SelectField
          label={texts.measure}
          value={measure.value}
          onValue={(value) => {
            measure.value = value as Measure; // the options are the values of Measure
          }}
          options={Object.entries(texts.measures)}
        />
      </div>
      {error === null ? null : <ErrorState title={texts.failed} message={error} onRetry={() => void read()} />}
      {report === null ? (
        error === null ? (
          <Loading label={texts.loading} />
        ) : null
      ) : (
        <ReportView
          report={report}
          sorting={sorting.value}
          onSort={(next) => {
            sorting.value = next;
          }}
        />
      )}
    </>
  );
}

/** The usage, with the grouping and the measure that the user had chosen when the page read it. */
interface Report {
  readonly usage: DailyUsage;
  readonly grouping: Grouping;
  readonly measure: Measure;
}

/** The usage that the page shows. */
interface Usage {
  /** null: not read yet. */
  readonly report: Report | null;
  readonly error: string | null;
}

interface ReportProps {
  readonly report: Report;
  readonly sorting: Sorting;
  readonly onSort: (sorting: Sorting) => void;
}

/** The chart and the totals. */
function ReportView({ report: { usage, grouping, measure }, sorting, onSort }: ReportProps) {
  const { groups, others, days } = usage;
  if (groups.length === 0) return <EmptyState title={texts.empty}>{texts.emptyHint}</EmptyState>;
  return (
    <div class="stack">
      <div class="card">
        <BarChart
          label={texts.chart[measure]}
          categoryTitle={texts.day}
          categories={days.map((name) => ({ name, short: name.slice('2026-'.length) }))}
          series={seriesOf(usage, grouping)}
          format={formats[measure]}
        />
      </div>
      <Table
        label={texts.totals}
        columns={columnsOf(grouping)}
        rows={groups}
        keyOf={({ name }) => name}
        sorting={sorting}
        onSort={onSort}
      />
      {others.count === 0 ? null : (
        <p>{texts.largest(formatCount(groups.length), formatCount(groups.length + others.count))}</p>
      )}
    </div>
  );
}

/** Reads the usage, and reads it again while the page is visible. */
function useUsage(days: number, grouping: Grouping, measure: Measure) {
  const state = useSignal<Usage>({ report: null, error: null });
  const order = useAnswerOrder();
  /** Reads the usage once. Returns whether this succeeded. */
  const read = useCallback(async (): Promise<boolean> => {
    const accept = order.begin();
    const next = await readUsage(days, grouping, measure).then(
      (usage) => ({ report: { usage, grouping, measure }, error: null }),
      (thrown: unknown) => ({ ...state.peek(), error: messageOf(thrown) }),
    );
    if (accept()) state.value = next;
    return next.error === null;
  }, [days, grouping, measure]);
  useEffect(() => {
    // The user may have chosen other values: ignores answers for the earlier ones.
    order.forget();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isStopped = false;
    const poll = async (): Promise<void> => {
      const begin = performance.now();
      const hasSucceeded = document.hidden || (await read());
      const pauseMs = pauseAfter(performance.now() - begin, hasSucceeded);
      if (!isStopped) timer = setTimeout(() => void poll(), pauseMs);
    };
    void poll();
    return () => {
      isStopped = true;
      clearTimeout(timer);
    };
  }, [read]);
  return { ...state.value, read };
}

function columnsOf(grouping: Grouping): readonly Column<UsageGroup>[] {
  const { columns: titles } = texts;
  const number = (
    id: string,
    title: string,
    valueOf: (row: UsageGroup) => number,
    format: (value: number) => string,
    extra = '',
  ): Column<UsageGroup> => ({
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
      class: 'names',
      isRowHeader: true,
      compare: (a, b) => compareNames(nameOf(a, grouping), nameOf(b, grouping)),
      render: (group) => nameOf(group, grouping),
    },
    number('requests', titles.requests, ({ requests }) => requests, formatCount),
    number('failed', titles.failed, ({ failed_requests: failed }) => failed, formatCount, 'wide'),
    number('input', titles.input, ({ prompt_tokens: input }) => input, formatCount, 'wide'),
    number('output', titles.output, ({ completion_tokens: output }) => output, formatCount, 'wide'),
    number('spend', titles.spend, ({ spend }) => spend, formatUsd),
  ];
}
