/**
 * Metric reports: one for each machine, under its UUID. `$expand` of the collection returns all
 * reports.
 */
import { isDriverError } from '../../drivers/driver-error.js';
import { metricReportType, renderReport, reportUri, type Report } from '../report.js';
import { findMachine } from './metric-report-definition.js';
import { renderCollection } from '../../resources/reference.js';
import { defineResource, type Services } from './services.js';

const metricReportCollection = defineResource({
  entity: 'MetricReportCollection',
  odataType: '#MetricReportCollection.MetricReportCollection',
  uri: '/redfish/v1/TelemetryService/MetricReports',
  load: ({ services }) => services.driver.listSystems(),
  render: (all) =>
    renderCollection(
      'Metric Report Collection',
      all.map(({ uuid }) => reportUri(uuid)),
    ),
});

/**
 * Loads the report of a machine, by UUID or name.
 * @param entity name of the resource type for the 404 message.
 * @throws {RedfishError} 404 as `findMachine`.
 * @throws {DriverError} unavailable, if no earlier report exists.
 */
export async function loadReport(services: Services, id: string, entity: string): Promise<Report> {
  const { telemetry } = services;
  try {
    return await telemetry.report(await findMachine(services, id, entity));
  } catch (error) {
    const stored = telemetry.storedReport(id.toLowerCase());
    // If the host does not answer, clients see the latest report. Its Timestamp shows its age.
    if (stored !== undefined && isDriverError(error, 'unavailable')) return stored;
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
