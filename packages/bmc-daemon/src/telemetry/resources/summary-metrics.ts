/**
 * CPU and memory utilization from the metric report of a machine, under its ProcessorSummary and
 * MemorySummary.
 */
import type { Report } from '../report.js';
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

/** Returns a metric of a report; null if unknown. */
function valueOf({ values }: Report, id: string): number | null {
  return values.find(({ metricId }) => metricId === id)?.value ?? null;
}

/** ProcessorMetrics and MemoryMetrics of a system. */
export const summaryMetricsResources = [processorMetrics, memoryMetrics];
