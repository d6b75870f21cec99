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

/** The feature `telemetry`. Without it, there are no metric reports and no subscriptions to them. */
export const telemetry: Feature<TelemetryServices> = {
  resources,
  resourcesOf: ({ statistics }) => (statistics === undefined ? [] : resources),
  async open({ stateDir, services, store, log }) {
    const { driver, serviceUuid, now } = services();
    const definitions =
      store === null ? undefined : (await import('./shared-definitions.js')).openSharedDefinitions(store);
    const opened = openTelemetry({ driver, stateDir, serviceUuid, now, definitions, log });
    return {
      services: { telemetry: opened },
      forMachine: (uuid) => ({ telemetry: telemetryOf(opened, uuid) }),
      stop: () => opened.close(),
    };
  },
};
