/** How busy the processors and the memory of a machine are: two figures of its metric report, where clients of one machine look. */
import { processorMetricsUri, memoryMetricsUri, type Report } from '../telemetry/report.js';
import { loadReport } from './metric-report.js';
import { defineResource } from './services.js';

const processorMetrics = defineResource({
  entity: 'ProcessorMetrics',
  odataType: '#ProcessorMetrics.v1_7_0.ProcessorMetrics',
  uri: '/redfish/v1/Systems/{systemId}/ProcessorSummary/ProcessorMetrics',
  load: ({ params, services }) => loadReport(services, params.systemId, 'ComputerSystem'),
  canonicalParams: ({ machine }) => ({ systemId: machine.uuid }),
  render: (report) => ({
    Id: 'ProcessorMetrics',
    Name: 'Processor Metrics',
    BandwidthPercent: valueOf(report, 'CPUUtilization'),
  }),
});

const memoryMetrics = defineResource({
  entity: 'MemoryMetrics',
  odataType: '#MemoryMetrics.v1_8_0.MemoryMetrics',
  uri: '/redfish/v1/Systems/{systemId}/MemorySummary/MemoryMetrics',
  load: ({ params, services }) => loadReport(services, params.systemId, 'ComputerSystem'),
  canonicalParams: ({ machine }) => ({ systemId: machine.uuid }),
  render: (report) => ({
    Id: 'MemoryMetrics',
    Name: 'Memory Metrics',
    CapacityUtilizationPercent: valueOf(report, 'MemoryUtilization'),
  }),
});

/** Null: it is not known. */
function valueOf({ figures }: Report, id: string): number | null {
  return figures.find(({ metricId }) => metricId === id)?.value ?? null;
}

/** `Metrics` of a system's two summaries, where they are served. */
export function summaryMetrics(uuid: string, isServed: (path: string) => boolean) {
  const link = (uri: string) => (isServed(uri) ? { Metrics: { '@odata.id': uri } } : {});
  return { processors: link(processorMetricsUri(uuid)), memory: link(memoryMetricsUri(uuid)) };
}

/** Metrics of the summaries of a system. */
export const summaryMetricsResources = [processorMetrics, memoryMetrics];
