/** What is measured of a machine: one report for each machine, under its UUID; `$expand` of the collection gives them all. */
import { DriverError } from '../drivers/driver.js';
import { metricReportType, renderReport, reportUri, type Report } from '../telemetry/report.js';
import { findMachine } from './metric-report-definition.js';
import { renderCollection } from './reference.js';
import { defineResource, type Services } from './services.js';
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

/**
 * The report of a machine, by UUID or name.
 * @param entity what there is none of, where there is no such machine.
 * @throws {RedfishError} 404. @throws {DriverError} where the host does not answer, and nothing was measured before.
 */
export async function loadReport(services: Services, id: string, entity: string): Promise<Report> {
  const telemetry = telemetryOf(services);
  try {
    return await telemetry.report(await findMachine(services, id, entity));
  } catch (error) {
    const kept = telemetry.kept(id.toLowerCase());
    // The host does not answer; what was measured before stays true, and its Timestamp says of when.
    if (kept !== undefined && error instanceof DriverError && error.kind === 'unavailable') return kept;
    throw error;
  }
}

const metricReport = defineResource({
  entity: 'MetricReport',
  odataType: metricReportType,
  uri: '/redfish/v1/TelemetryService/MetricReports/{reportId}',
  load: ({ params, services }) => loadReport(services, params.reportId, 'MetricReport'),
  canonicalParams: ({ machine }) => ({ reportId: machine.uuid }),
  render: renderReport,
});

/** The collection of metric reports and its members. */
export const metricReportResources = [metricReportCollection, metricReport];
