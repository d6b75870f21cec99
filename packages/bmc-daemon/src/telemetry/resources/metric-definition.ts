/** Metric definitions: unit, range and type of each metric. */
import { redfishError } from '../../redfish/messages/errors.js';
import { metrics } from '../metric-table.js';
import { telemetryUri } from '../../offers/report-source.js';
import { renderCollection } from '../../resources/reference.js';
import { defineResource } from './services.js';

const metricDefinitionCollection = defineResource({
  entity: 'MetricDefinitionCollection',
  odataType: '#MetricDefinitionCollection.MetricDefinitionCollection',
  uri: '/redfish/v1/TelemetryService/MetricDefinitions',
  load: () => metrics,
  render: (all) =>
    renderCollection(
      'Metric Definition Collection',
      all.map(({ id }) => `${telemetryUri}/MetricDefinitions/${id}`),
    ),
});

const metricDefinition = defineResource({
  entity: 'MetricDefinition',
  odataType: '#MetricDefinition.v1_3_5.MetricDefinition',
  uri: '/redfish/v1/TelemetryService/MetricDefinitions/{metricId}',
  load: ({ params }) => {
    const found = metrics.find(({ id }) => id === params.metricId);
    if (found === undefined) throw redfishError('ResourceNotFound', 'MetricDefinition', params.metricId);
    return found;
  },
  render: ({ id, name, description, type, dataType, units, min, max, summable }) => ({
    Id: id,
    Name: name,
    Description: description,
    MetricType: type,
    MetricDataType: dataType,
    Units: units,
    // The hypervisor reports the counters. The service computes most gauges from them.
    Implementation: type === 'Counter' ? 'DigitalMeter' : 'Synthesized',
    Calculable: summable ? 'Summable' : 'NonSummable',
    IsLinear: true,
    ...(min === undefined ? {} : { MinReadingRange: min }),
    ...(max === undefined ? {} : { MaxReadingRange: max }),
  }),
});

/** The collection of metric definitions and its members. */
export const metricDefinitionResources = [metricDefinitionCollection, metricDefinition];
