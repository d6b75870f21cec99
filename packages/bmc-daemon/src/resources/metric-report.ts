/** What is measured of a machine: one report for each machine, under its UUID; `$expand` of the collection gives them all. */
import { DriverError } from '../drivers/driver.js';
import { metricReportType, renderReport, reportUri, type Report } from '../telemetry/report.js';
import { findMachine } from './metric-report-definition.js';
import { renderCollection } from './reference.js';
import { defineResource } from './services.js';
import { telemetryOf } from './telemetry-service.js';

const metricReportCollection = defineResource({
  entity: 'MetricReportCollection',
  odataType: '#MetricReportCollection.MetricReportCollection',
  uri: '/redfish/v1/TelemetryService/MetricReports',
  load: ({ services }) => {
    telemetryOf(services);
    return services.driver.listSystems();
  },
  render: (all) =>
    renderCollection(
      'Metric Report Collection',
      all.map(({ uuid }) => reportUri(uuid)),
    ),
});

const metricReport = defineResource({
  entity: 'MetricReport',
  odataType: metricReportType,
  uri: '/redfish/v1/TelemetryService/MetricReports/{reportId}',
  load: async ({ params, services }): Promise<Report> => {
    const telemetry = telemetryOf(services);
    try {
      return await telemetry.report(await findMachine(services, params.reportId, 'MetricReport'));
    } catch (error) {
      const kept = telemetry.kept(params.reportId.toLowerCase());
      // The host does not answer; what was measured before stays true, and its Timestamp says of when.
      if (kept !== undefined && error instanceof DriverError && error.kind === 'unavailable') return kept;
      throw error;
    }
  },
  canonicalParams: ({ machine }) => ({ reportId: machine.uuid }),
  render: renderReport,
});

/** The collection of metric reports and its members. */
export const metricReportResources = [metricReportCollection, metricReport];
