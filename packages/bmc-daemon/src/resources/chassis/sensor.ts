/**
 * The sensors that the profiles of Ironic and of the Open Compute Project (OCP) require. A virtual machine has no
 * sensors, so each sensor is `Absent` with a null reading. host-sensor.ts has the sensors of hosts.
 */
import { redfishError } from '../../redfish/messages/errors.js';
import type { JsonObject } from '../../redfish/resource.js';
import { renderCollection } from '../reference.js';
import { defineResource } from '../services.js';
import { absent } from '../status.js';
import { loadChassis, type ChassisEntity } from './chassis-place.js';
import { chassisId, loadAnyChassis } from './host-chassis.js';
import { hostSensorKinds, renderHostSensor, type HostSensor } from './host-sensor.js';
import { relatedItems } from './power.js';

/** A kind of sensor that every chassis has, except the chassis of a host. */
interface SensorKind {
  readonly id: string;
  readonly name: string;
  readonly type: 'Temperature' | 'Power';
  readonly units: 'Cel' | 'W';
  /** DMTF's PhysicalContext. */
  readonly context: 'CPU' | 'Intake' | 'SystemBoard' | 'Chassis';
}

/** Temperature sensors that OCP's profile requires. */
export const temperatures: readonly SensorKind[] = (['CPU', 'Intake', 'SystemBoard'] as const).map((context) => ({
  id: `${context}Temperature`,
  name: `${context} Temperature`,
  type: 'Temperature',
  units: 'Cel',
  context,
}));

const sensors: readonly SensorKind[] = [
  ...temperatures,
  { id: 'ChassisPower', name: 'Chassis Power', type: 'Power', units: 'W', context: 'Chassis' },
];

/** A sensor of the chassis of a machine, or of a configured chassis. */
interface MachineSensor {
  readonly chassis: ChassisEntity;
  readonly kind: SensorKind;
}

const isHostSensor = (sensor: MachineSensor | HostSensor): sensor is HostSensor => 'host' in sensor.chassis;

/** Returns the sensor of a chassis with an id. @throws {RedfishError} 404 for an unknown id. */
function sensorIn<Chassis, Kind extends { readonly id: string }>(kinds: readonly Kind[], chassis: Chassis, id: string) {
  const kind = kinds.find((each) => each.id === id);
  if (kind === undefined) throw redfishError('ResourceNotFound', 'Sensor', id);
  return { chassis, kind };
}

const sensorCollection = defineResource({
  entity: 'SensorCollection',
  odataType: '#SensorCollection.SensorCollection',
  uri: '/redfish/v1/Chassis/{chassisId}/Sensors',
  load: ({ params, services }) => loadAnyChassis(params.chassisId, services),
  canonicalParams: (chassis) => ({ chassisId: chassisId(chassis) }),
  render: (chassis, { self }) =>
    renderCollection(
      'Sensor Collection',
      ('host' in chassis ? hostSensorKinds : sensors).map(({ id }) => `${self}/${id}`),
    ),
});

const sensor = defineResource({
  entity: 'Sensor',
  odataType: '#Sensor.v1_12_0.Sensor',
  uri: '/redfish/v1/Chassis/{chassisId}/Sensors/{sensorId}',
  load: async ({ params, services }): Promise<MachineSensor | HostSensor> => {
    const chassis = await loadAnyChassis(params.chassisId, services);
    return 'host' in chassis
      ? sensorIn(hostSensorKinds, chassis, params.sensorId)
      : sensorIn(sensors, chassis, params.sensorId);
  },
  canonicalParams: ({ chassis }, params) => ({ ...params, chassisId: chassisId(chassis) }),
  render: (entity): JsonObject => (isHostSensor(entity) ? renderHostSensor(entity) : renderSensor(entity)),
});

function renderSensor({ chassis, kind }: MachineSensor): JsonObject {
  return {
    Id: kind.id,
    Name: kind.name,
    ReadingType: kind.type,
    ReadingUnits: kind.units,
    PhysicalContext: kind.context,
    Reading: null,
    RelatedItem: relatedItems(chassis),
    'RelatedItem@odata.count': chassis.machines.length,
    Status: absent,
  };
}

const environmentMetrics = defineResource({
  entity: 'EnvironmentMetrics',
  odataType: '#EnvironmentMetrics.v1_5_0.EnvironmentMetrics',
  uri: '/redfish/v1/Chassis/{chassisId}/EnvironmentMetrics',
  load: ({ params, services }) => loadChassis(params.chassisId, services),
  canonicalParams: ({ uuid }) => ({ chassisId: uuid }),
  render: ({ uuid }) => {
    const excerpt = (id: string) => ({ DataSourceUri: `/redfish/v1/Chassis/${uuid}/Sensors/${id}`, Reading: null });
    return {
      Id: 'EnvironmentMetrics',
      Name: 'Environment Metrics',
      PowerWatts: excerpt('ChassisPower'),
      TemperatureCelsius: excerpt('IntakeTemperature'),
    };
  },
});

/**
 * The sensors of a chassis, their collection, and EnvironmentMetrics.
 * @see DSP2046, Sensor, EnvironmentMetrics
 */
export const sensorResources = [sensorCollection, sensor, environmentMetrics];
