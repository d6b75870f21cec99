/** The report of a machine, how clients read it, and the messages for subscribers. */
import type { SystemRef } from '../drivers/snapshot/system-snapshot.js';
import { definitionUri, telemetryUri, type ReportMessage } from '../offers/report-source.js';
import type { JsonObject } from '../redfish/json.js';
import type { MetricValue } from './metric-values.js';
import type { Measurement } from './sampler.js';

/** A report. A newer report is another object. */
export interface Report {
  readonly machine: SystemRef;
  /** The measurement of the report; null if nothing was measured yet. */
  readonly measurement: Measurement | null;
  readonly values: readonly MetricValue[];
}

/** `@odata.type` of a report. */
export const metricReportType = '#MetricReport.v1_5_2.MetricReport';
/**
 * Returns the URI of a machine's report.
 * @param uuid canonical.
 */
export const reportUri = (uuid: string): string => `${telemetryUri}/MetricReports/${uuid}`;
/**
 * Returns the URI of a system's ProcessorMetrics.
 * @param uuid canonical.
 */
const processorMetricsUri = (uuid: string): string => `/redfish/v1/Systems/${uuid}/ProcessorSummary/ProcessorMetrics`;
/**
 * Returns the URI of a system's MemoryMetrics.
 * @param uuid canonical.
 */
const memoryMetricsUri = (uuid: string): string => `/redfish/v1/Systems/${uuid}/MemorySummary/MemoryMetrics`;

/** Metrics that are also properties of a resource. */
const properties: Readonly<Record<string, (uuid: string) => string>> = {
  CPUUtilization: (uuid) => `${processorMetricsUri(uuid)}#/BandwidthPercent`,
  MemoryUtilization: (uuid) => `${memoryMetricsUri(uuid)}#/CapacityUtilizationPercent`,
};

/** Renders a report without `@odata.id` and `@odata.type`, which the resource adds. */
export function renderReport({ machine, measurement, values }: Report): JsonObject {
  return {
    Id: machine.uuid,
    Name: `Metric Report of ${machine.name}`,
    MetricReportDefinition: { '@odata.id': definitionUri(machine.uuid) },
    // Without a measurement, there is no Timestamp: the schema has no other way to say that nothing was measured.
    ...(measurement === null ? {} : { Timestamp: measurement.at.toISOString() }),
    MetricValues: values.map(({ metricId, value, at }) => ({
      MetricId: metricId,
      // MetricValue is a string for every type of metric.
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

/** Makes the message of a report. */
export function reportMessage(report: Report): ReportMessage {
  const { uuid } = report.machine;
  return { key: uuid, body: payloadOf(reportUri(uuid), renderReport(report)) };
}

/** Makes the body of a sent MetricReport, with `@odata.id` and `@odata.type`. */
export function payloadOf(uri: string, body: JsonObject): JsonObject {
  return { '@odata.id': uri, '@odata.type': metricReportType, ...body };
}
