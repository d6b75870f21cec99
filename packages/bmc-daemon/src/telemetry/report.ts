/** A report of one machine, how clients read it, and what a subscriber is sent. */
import type { SystemRef } from '../drivers/snapshot/system-snapshot.js';
import { definitionUri, telemetryUri, type ReportMessage } from '../offers/report-source.js';
import type { JsonObject } from '../redfish/json.js';
import type { Figure } from './figures.js';
import type { Measurement } from './sampler.js';

/** A value; a newer report is another object. */
export interface Report {
  readonly machine: SystemRef;
  /** What it was made from; null: nothing was measured yet. */
  readonly measurement: Measurement | null;
  readonly figures: readonly Figure[];
}

/** `@odata.type` of a report. */
export const metricReportType = '#MetricReport.v1_5_2.MetricReport';
/** Of a machine's report. @param uuid canonical. */
export const reportUri = (uuid: string): string => `${telemetryUri}/MetricReports/${uuid}`;
/** Of a system's figures beside its summary of processors. @param uuid canonical. */
const processorMetricsUri = (uuid: string): string => `/redfish/v1/Systems/${uuid}/ProcessorSummary/ProcessorMetrics`;
/** Of those beside its summary of memory. @param uuid canonical. */
const memoryMetricsUri = (uuid: string): string => `/redfish/v1/Systems/${uuid}/MemorySummary/MemoryMetrics`;

/** Metrics that are a property of a resource, too. */
const properties: Readonly<Record<string, (uuid: string) => string>> = {
  CPUUtilization: (uuid) => `${processorMetricsUri(uuid)}#/BandwidthPercent`,
  MemoryUtilization: (uuid) => `${memoryMetricsUri(uuid)}#/CapacityUtilizationPercent`,
};

/** Everything but the annotations of the resource. */
export function renderReport({ machine, measurement, figures }: Report): JsonObject {
  return {
    Id: machine.uuid,
    Name: `Metric Report of ${machine.name}`,
    MetricReportDefinition: { '@odata.id': definitionUri(machine.uuid) },
    // Without one, nothing was measured; the schema has no other way to say so.
    ...(measurement === null ? {} : { Timestamp: measurement.at.toISOString() }),
    MetricValues: figures.map(({ metricId, value, at }) => ({
      MetricId: metricId,
      // A string, whatever it is (MetricReport, MetricValue).
      MetricValue: String(value),
      ...propertyOf(metricId, machine.uuid),
      Timestamp: at.toISOString(),
    })),
  };
}

function propertyOf(metricId: string, uuid: string): JsonObject {
  const uri = properties[metricId];
  return uri === undefined ? {} : { MetricProperty: uri(uuid) };
}

/** The report as it is sent. */
export function reportMessage(report: Report): ReportMessage {
  const { uuid } = report.machine;
  return { key: uuid, body: payloadOf(reportUri(uuid), renderReport(report)) };
}

/** The body of a MetricReport that is sent and not read: the resource, with its annotations. */
export function payloadOf(uri: string, body: JsonObject): JsonObject {
  return { '@odata.id': uri, '@odata.type': metricReportType, ...body };
}
