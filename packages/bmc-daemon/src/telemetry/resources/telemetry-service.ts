/** The telemetry service: metrics of the machines, and test reports. */
import { z } from 'zod';
import { MIN_INTERVAL_SECONDS } from '../report-definitions.js';
import { telemetryUri } from '../../offers/report-source.js';
import { payloadOf } from '../report.js';
import { redfishError } from '../../redfish/messages/errors.js';
import { encodeSegment } from '../../redfish/rendering.js';
import type { JsonObject } from '../../redfish/resource.js';
import { durationText } from './duration.js';
import { reference } from '../../resources/reference.js';
import { defineResource } from './services.js';
import { enabled } from '../../resources/status.js';

const text = z.string().max(500);

/** Members of GeneratedMetricReportValues. */
const testValue = z.strictObject({
  MetricDefinition: z.strictObject({ '@odata.id': text.startsWith('/redfish/v1') }).optional(),
  MetricId: text.nullable().optional(),
  MetricProperty: text.startsWith('/redfish/v1').nullable().optional(),
  MetricValue: text.nullable().optional(),
  Timestamp: z.iso.datetime({ offset: true }).nullable().optional(),
});

/** Parameters of SubmitTestMetricReport. */
const testReport = z.strictObject({
  MetricReportName: z.string().min(1).max(100),
  GeneratedMetricReportValues: z.array(testValue).max(1_000),
});

const telemetryService = defineResource({
  entity: 'TelemetryService',
  odataType: '#TelemetryService.v1_4_1.TelemetryService',
  uri: '/redfish/v1/TelemetryService',
  load: ({ services }) => ({ isEnabled: services.telemetry.enabled }),
  render: ({ isEnabled }, { self }): JsonObject => ({
    Id: 'TelemetryService',
    Name: 'Telemetry Service',
    Description: 'CPU, memory, disk and network metrics of the machines, as the hypervisor counts them.',
    ServiceEnabled: isEnabled,
    Status: isEnabled ? enabled : { State: 'Disabled' },
    MinCollectionInterval: durationText(MIN_INTERVAL_SECONDS),
    // Clients cannot request a CollectionFunction (Average, Maximum, …) over several values of a metric.
    SupportedCollectionFunctions: [],
    MetricDefinitions: reference(`${self}/MetricDefinitions`),
    MetricReportDefinitions: reference(`${self}/MetricReportDefinitions`),
    MetricReports: reference(`${self}/MetricReports`),
  }),
  patch: {
    body: z.strictObject({ ServiceEnabled: z.boolean().optional() }),
    loggedValues: ['ServiceEnabled'],
    apply: async (_entity, { ServiceEnabled: wanted }, { services }) => {
      if (wanted !== undefined) await services.telemetry.setEnabled(wanted);
      return undefined;
    },
  },
  actions: {
    '#TelemetryService.SubmitTestMetricReport': {
      body: testReport,
      summary: () => null,
      run: ({ isEnabled }, { MetricReportName: name, GeneratedMetricReportValues: values }, { services }) => {
        if (!isEnabled) throw redfishError('ServiceDisabled', telemetryUri);
        const now = services.now().toISOString();
        services.telemetry.sendTest(
          payloadOf(`${telemetryUri}/MetricReports/${encodeSegment(name)}`, {
            Id: name,
            Name: name,
            Timestamp: now,
            MetricValues: values,
          }),
        );
        return undefined;
      },
    },
  },
});

/** The telemetry service. */
export const telemetryServiceResources = [telemetryService];
