/** Metric reports of the machines. */
import type { Feature } from '../feature.js';
import { telemetryOf } from './machine-view.js';
import { metricDefinitionResources } from './resources/metric-definition.js';
import { metricReportDefinitionResources } from './resources/metric-report-definition.js';
import { metricReportResources } from './resources/metric-report.js';
import type { TelemetryServices } from './resources/services.js';
import { summaryMetricsResources } from './resources/summary-metrics.js';
import { telemetryServiceResources } from './resources/telemetry-service.js';
import { openTelemetry } from './telemetry.js';

const resources = [
  ...telemetryServiceResources,
  ...metricDefinitionResources,
  ...metricReportDefinitionResources,
  ...metricReportResources,
  ...summaryMetricsResources,
];

/** The feature telemetry. Without it, there are no metric reports and no subscriptions to them. */
export const telemetry: Feature<TelemetryServices> = {
  resources,
  resourcesOf: ({ statistics }) => (statistics === undefined ? [] : resources),
  open({ stateDir, services, log }) {
    const { driver, serviceUuid, now } = services();
    const opened = openTelemetry({ driver, stateDir, serviceUuid, now, log });
    return {
      services: { telemetry: opened },
      forMachine: (uuid) => ({ telemetry: telemetryOf(opened, uuid) }),
      stop: () => opened.close(),
    };
  },
};
