/** The list of all deployments, live. */
import { useSignal } from '@preact/signals';
import { compareNames, type Column, type Sorting } from '../../../ui/table/columns.js';
import { formatCount, formatMs } from '../../../ui/format.js';
import { hrefOf } from '../../../ui/frame/router.js';
import { PageHeader } from '../../../ui/frame/page-header.js';
import { Sparkline } from '../../../ui/charts/sparkline.js';
import { Badge, EmptyState, ErrorState, Loading } from '../../../ui/states.js';
import { Stats, type Stat } from '../../../ui/charts/stats.js';
import { Table } from '../../../ui/table/table.js';
import {
  deployments,
  failuresOf,
  latencies,
  modelsError,
  readModels,
  requestRates,
  type Deployment,
} from '../../api/models.js';
import { modelsTexts as texts } from '../../../texts/index.js';

const { columns: titles } = texts;

/** The page Models. */
export default function ModelsPage() {
  const sorting = useSignal<Sorting | undefined>(undefined);
  const all = deployments.value;
  if (all === null)
    return modelsError.value === null ? (
      <Loading />
    ) : (
      <ErrorState title={texts.failed} message={modelsError.value} onRetry={() => void readModels()} />
    );
  return (
    <>
      <PageHeader title={texts.title} subtitle={texts.subtitle} />
      {modelsError.value === null ? null : <ErrorState title={texts.failed} message={modelsError.value} />}
      {all.length === 0 ? (
        <EmptyState title={texts.empty}>{texts.emptyHint}</EmptyState>
      ) : (
        <>
          <Stats stats={statsOf(all)} />
          <Table
            label={texts.table}
            columns={columns}
            rows={all}
            keyOf={({ model_id: id }) => id}
            sorting={sorting.value}
            onSort={(next) => {
              sorting.value = next;
            }}
          />
        </>
      )}
    </>
  );
}

function statsOf(all: readonly Deployment[]): readonly Stat[] {
  const working = all.filter((one) => isWorking(one)).length;
  const failed = all.reduce((sum, one) => sum + failuresOf(one), 0);
  const rates = requestRates();
  const rate = rates.reduce((sum, one) => sum + Math.max(one, 0), 0) / Math.max(rates.length, 1);
  const requests = all.reduce((sum, one) => sum + one.requests, 0);
  return [
    { label: texts.working, value: texts.of(working, all.length) },
    { label: texts.rate, value: rate.toFixed(rate < 10 ? 1 : 0), hint: texts.lastMinutes },
    { label: titles.requests, value: formatCount(requests) },
    {
      label: texts.failures,
      value: formatCount(failed),
      hint: texts.perRequests(perHundred(failed, requests)),
    },
    { label: texts.inFlight, value: formatCount(all.reduce((sum, one) => sum + one.in_flight_requests, 0)) },
  ];
}

function isWorking({ state, health_check: check }: Deployment): boolean {
  return (state === 'healthy' || state === 'unknown') && check?.is_healthy !== false;
}

/**
 * Returns the failed attempts per 100 requests. There may be more than 100, because a request that is retried elsewhere
 * fails several times.
 */
function perHundred(failed: number, requests: number): string {
  if (failed === 0) return '0';
  if (requests === 0) return texts.noValue;
  const rate = (100 * failed) / requests;
  return rate.toFixed(rate < 10 ? 1 : 0);
}

/** A badge with the state of a deployment, and the reason below it. */
function StateBadge({ deployment }: { readonly deployment: Deployment }) {
  const { state, cooldown_seconds: seconds, health_check: check } = deployment;
  const isCheckBad = check?.is_healthy === false && state !== 'cooling_down';
  const kind = ({ healthy: 'good', failing: 'bad', cooling_down: 'bad', unknown: 'neutral' } as const)[state];
  return (
    <>
      <Badge kind={isCheckBad ? 'bad' : kind}>{isCheckBad ? texts.checkFailed : texts.state[state]}</Badge>
      {seconds > 0 ? <small class="detail">{texts.coolingFor(seconds)}</small> : null}
      {check?.error === undefined ? null : <small class="detail reason">{check.error}</small>}
    </>
  );
}

const msOf = (value: number | undefined): string => (value === undefined ? texts.noValue : formatMs(value));

const columns: readonly Column<Deployment>[] = [
  {
    id: 'model',
    title: titles.model,
    isRowHeader: true,
    compare: (a, b) => compareNames(a.model_name, b.model_name),
    render: ({ model_name: name, model }) => (
      <>
        <a href={hrefOf(`playground?model=${encodeURIComponent(name)}`)} title={texts.tryIt}>
          {name}
        </a>
        <small class="detail">{model}</small>
      </>
    ),
  },
  {
    id: 'state',
    title: titles.state,
    compare: (a, b) => compareNames(a.state, b.state),
    render: (deployment) => <StateBadge deployment={deployment} />,
  },
  {
    id: 'requests',
    title: titles.requests,
    class: 'number',
    compare: (a, b) => a.requests - b.requests,
    render: ({ requests }) => formatCount(requests),
  },
  {
    id: 'failed',
    title: titles.failed,
    class: 'number',
    compare: (a, b) => failuresOf(a) - failuresOf(b),
    render: (deployment) => (
      <>
        {formatCount(failuresOf(deployment))}
        {deployment.failures.map(({ status, kind, count }) => (
          <small key={`${status} ${kind}`} class="detail">
            {texts.failure(status, kind, count)}
          </small>
        ))}
      </>
    ),
  },
  {
    id: 'median',
    title: titles.median,
    class: 'number',
    compare: (a, b) => (a.latency_ms?.p50 ?? 0) - (b.latency_ms?.p50 ?? 0),
    render: ({ latency_ms: times }) => msOf(times?.p50),
  },
  {
    id: 'p95',
    title: titles.p95,
    class: 'number wide',
    compare: (a, b) => (a.latency_ms?.p95 ?? 0) - (b.latency_ms?.p95 ?? 0),
    render: ({ latency_ms: times }) => msOf(times?.p95),
  },
  {
    id: 'first-token',
    title: titles.firstToken,
    class: 'number wide',
    compare: (a, b) => (a.first_token_ms?.p50 ?? 0) - (b.first_token_ms?.p50 ?? 0),
    render: ({ first_token_ms: times }) => msOf(times?.p50),
  },
  {
    id: 'course',
    title: titles.course,
    class: 'wide',
    render: ({ model_id: id, model_name: name }) => <Sparkline label={texts.courseOf(name)} values={latencies(id)} />,
  },
  {
    id: 'in-flight',
    title: titles.inFlight,
    class: 'number wide',
    compare: (a, b) => a.in_flight_requests - b.in_flight_requests,
    render: ({ in_flight_requests: count }) => formatCount(count),
  },
];
