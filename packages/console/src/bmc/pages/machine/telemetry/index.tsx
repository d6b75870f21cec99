/** Charts of a machine's processors, memory, disks and network. */
import { signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { LineChart, type LineSeries } from '../../../../ui/charts/line-chart.js';
import { Select } from '../../../../ui/field.js';
import { formatBytes } from '../../../../ui/format.js';
import { EmptyState, ErrorState, Loading, messageOf } from '../../../../ui/states.js';
import { get } from '../../../redfish/client.js';
import { pollAttended } from '../../../redfish/poll.js';
import { RedfishFailure } from '../../../redfish/wire.js';
import { telemetryTexts as texts } from '../../../../texts/index.js';
import type { TabProps } from '../tab.js';
import { extend, type MetricReport, type Sample } from './history.js';
import { Interval } from './interval.js';

const POLL_MS = 5000;
/** The samples of machines whose telemetry was open. A return to the tab continues the chart. */
const histories = signal<ReadonlyMap<string, readonly Sample[]>>(new Map());
/** Maximum number of machines in `histories`. */
const MAX_HISTORIES = 20;

/** The tab Telemetry. It reads the metric report every five seconds, while the user attends to the page. */
export default function TelemetryTab({ machine }: TabProps) {
  const error = useSignal<unknown>(null);
  const range = useSignal(texts.ranges[0]?.[0] ?? '');
  useEffect(() => {
    const abort = new AbortController();
    const read = async (): Promise<void> => {
      try {
        const uri = `/redfish/v1/TelemetryService/MetricReports/${encodeURIComponent(machine.Id)}`;
        remember(machine.Id, await get<MetricReport>(uri, abort.signal));
        error.value = null;
      } catch (failure) {
        if (!abort.signal.aborted) error.value = failure;
      }
    };
    void read();
    const stop = pollAttended(read, POLL_MS);
    return () => {
      stop();
      abort.abort();
    };
  }, [machine.Id]);
  const samples = histories.value.get(machine.Id);
  if (error.value instanceof RedfishFailure && error.value.status === 404) return <EmptyState title={texts.absent} />;
  if (samples === undefined)
    return error.value === null ? <Loading /> : <ErrorState message={messageOf(error.value)} />;
  return (
    <>
      <div class="row tools" role="group" aria-label={texts.tab}>
        <Select
          aria-label={texts.range}
          value={range.value}
          onValue={(value) => (range.value = value)}
          options={texts.ranges}
        />
        <Interval machine={machine.Id} />
        <small class="quiet">{texts.hint}</small>
      </div>
      {error.value === null ? null : <ErrorState message={messageOf(error.value)} />}
      <div class="tab-grid even">
        <Charts samples={samples} rangeMs={Number(range.value)} />
      </div>
    </>
  );
}

function remember(id: string, report: MetricReport): void {
  const others = [...histories.peek()].filter(([each]) => each !== id).slice(1 - MAX_HISTORIES);
  const samples = extend(histories.peek().get(id) ?? [], report);
  histories.value = new Map([...others, [id, samples]]);
}

const bytesPerSecond = (value: number): string => texts.perSecond(formatBytes(value));

function Charts({ samples, rangeMs }: { readonly samples: readonly Sample[]; readonly rangeMs: number }) {
  const times = samples.map(({ time }) => time);
  const line = (name: string, valueOf: (sample: Sample) => number | null): LineSeries => ({
    name,
    values: samples.map(valueOf),
  });
  const common = { times, end: times.at(-1) ?? 0, rangeMs };
  const { charts } = texts;
  return (
    <>
      <LineChart
        {...common}
        label={charts.processor}
        series={[line(texts.used, ({ processor }) => processor)]}
        max={100}
        format={texts.percent}
      />
      <LineChart
        {...common}
        label={charts.memory}
        series={[line(texts.used, ({ memory }) => memory)]}
        max={100}
        format={texts.percent}
      />
      <LineChart
        {...common}
        label={charts.disk}
        series={[line(texts.read, ({ diskRead }) => diskRead), line(texts.written, ({ diskWritten }) => diskWritten)]}
        format={bytesPerSecond}
      />
      <LineChart
        {...common}
        label={charts.network}
        series={[line(texts.received, ({ received }) => received), line(texts.sent, ({ sent }) => sent)]}
        format={bytesPerSecond}
      />
    </>
  );
}
