/**
 * Metric report definitions: when the service creates the report of a machine. Their ids are UUIDs.
 */
import { z } from 'zod';
import { matching } from '../../drivers/by-machine.js';
import type { SystemRef } from '../../drivers/snapshot/system-snapshot.js';
import { redfishError } from '../../redfish/messages/errors.js';
import { message, withDetail } from '../../redfish/messages/messages.js';
import { metrics } from '../metric-table.js';
import {
  MAX_INTERVAL_SECONDS,
  MIN_INTERVAL_SECONDS,
  type DefinitionChange,
  type ReportDefinition,
} from '../report-definitions.js';
import { definitionUri } from '../../offers/report-source.js';
import { reportUri } from '../report.js';
import { durationSeconds, durationText } from './duration.js';
import { reference, renderCollection } from '../../resources/reference.js';
import { defineResource, type Services } from './services.js';
import { enabled } from '../../resources/status.js';

/**
 * Finds a machine by UUID or unique name. Does not read the machine's XML, because reports do not need it.
 * @throws {RedfishError} 404 if no machine, or more than one, has this UUID or name.
 * @throws {DriverError} unavailable.
 */
export async function findMachine({ driver }: Services, id: string, entity: string): Promise<SystemRef> {
  const [found, ...others] = matching(await driver.listSystems(), id);
  if (found === undefined || others.length > 0) throw redfishError('ResourceNotFound', entity, id);
  return found;
}

const interval = z.string().superRefine((value, context) => {
  const seconds = durationSeconds(value);
  const fault =
    seconds === undefined
      ? message('PropertyValueFormatError', value, 'Schedule/RecurrenceInterval')
      : message('PropertyValueOutOfRange', value, 'Schedule/RecurrenceInterval');
  const isUsable = seconds !== undefined && seconds >= MIN_INTERVAL_SECONDS && seconds <= MAX_INTERVAL_SECONDS;
  if (isUsable) return;
  const range = `From ${durationText(MIN_INTERVAL_SECONDS)} to ${durationText(MAX_INTERVAL_SECONDS)}.`;
  context.addIssue({ code: 'custom', params: { message: withDetail(fault, range) } });
});

const types = { Periodic: 'periodic', OnRequest: 'onRequest' } as const;

const metricReportDefinitionCollection = defineResource({
  entity: 'MetricReportDefinitionCollection',
  odataType: '#MetricReportDefinitionCollection.MetricReportDefinitionCollection',
  uri: '/redfish/v1/TelemetryService/MetricReportDefinitions',
  load: ({ services }) => services.driver.listSystems(),
  render: (all) =>
    renderCollection(
      'Metric Report Definition Collection',
      all.map(({ uuid }) => definitionUri(uuid)),
    ),
});

interface DefinitionEntity {
  readonly machine: SystemRef;
  readonly definition: ReportDefinition;
  readonly isServiceEnabled: boolean;
}

const metricReportDefinition = defineResource({
  entity: 'MetricReportDefinition',
  odataType: '#MetricReportDefinition.v1_4_7.MetricReportDefinition',
  uri: '/redfish/v1/TelemetryService/MetricReportDefinitions/{definitionId}',
  load: async ({ params, services }): Promise<DefinitionEntity> => {
    const { telemetry } = services;
    const machine = await findMachine(services, params.definitionId, 'MetricReportDefinition');
    return { machine, definition: telemetry.definition(machine.uuid), isServiceEnabled: telemetry.enabled };
  },
  canonicalParams: ({ machine }) => ({ definitionId: machine.uuid }),
  render: ({ machine: { uuid, name }, definition, isServiceEnabled }) => ({
    Id: uuid,
    Name: `Metric Report Definition of ${name}`,
    MetricReportDefinitionEnabled: definition.enabled,
    MetricReportDefinitionType: definition.type === 'periodic' ? 'Periodic' : 'OnRequest',
    Schedule: { RecurrenceInterval: durationText(definition.intervalSeconds) },
    ReportActions: ['LogToMetricReportsCollection', 'RedfishEvent'],
    ReportUpdates: 'Overwrite',
    SuppressRepeatedMetricValue: false,
    Metrics: metrics.map(({ id }) => ({ MetricId: id })),
    MetricReport: reference(reportUri(uuid)),
    Status: definition.enabled && isServiceEnabled ? enabled : { State: 'Disabled' },
  }),
  patch: {
    body: z.strictObject({
      MetricReportDefinitionEnabled: z.boolean().optional(),
      MetricReportDefinitionType: z.enum(['Periodic', 'OnRequest']).optional(),
      Schedule: z.strictObject({ RecurrenceInterval: interval.optional() }).optional(),
    }),
    loggedValues: ['MetricReportDefinitionEnabled', 'MetricReportDefinitionType', 'Schedule.RecurrenceInterval'],
    apply: async ({ machine }, body, { services }) => {
      const { MetricReportDefinitionEnabled: isEnabled, MetricReportDefinitionType: type, Schedule: schedule } = body;
      const seconds = durationSeconds(schedule?.RecurrenceInterval ?? '');
      const change: DefinitionChange = {
        ...(isEnabled === undefined ? {} : { enabled: isEnabled }),
        ...(type === undefined ? {} : { type: types[type] }),
        ...(seconds === undefined ? {} : { intervalSeconds: seconds }),
      };
      if (Object.keys(change).length > 0) await services.telemetry.change(machine.uuid, change);
      return undefined;
    },
  },
});

/** The collection of metric report definitions and its members. */
export const metricReportDefinitionResources = [metricReportDefinitionCollection, metricReportDefinition];
