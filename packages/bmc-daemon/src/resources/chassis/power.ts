/**
 * Power of a chassis. The service cannot measure the power of a virtual machine. It shows a power
 * control without readings (`Absent`, null) and no power supplies, instead of invented values.
 */
import type { JsonObject } from '../../redfish/resource.js';
import { reference } from '../reference.js';
import { defineResource } from '../services.js';
import { absent } from '../status.js';
import { loadChassis, type ChassisEntity } from './chassis-place.js';

const power = defineResource({
  entity: 'Power',
  odataType: '#Power.v1_7_3.Power',
  uri: '/redfish/v1/Chassis/{chassisId}/Power',
  load: ({ params, services }) => loadChassis(params.chassisId, services),
  canonicalParams: ({ uuid }) => ({ chassisId: uuid }),
  render: (chassis, { self }) => ({
    Id: 'Power',
    Name: 'Power',
    PowerControl: [
      {
        '@odata.id': `${self}#/PowerControl/0`,
        MemberId: '0',
        Name: 'Power of the chassis',
        PhysicalContext: 'Chassis',
        PowerConsumedWatts: null,
        PowerCapacityWatts: null,
        PowerLimit: { LimitInWatts: null, LimitException: null },
        RelatedItem: relatedItems(chassis),
        'RelatedItem@odata.count': chassis.machines.length,
        Status: absent,
      },
    ],
    'PowerControl@odata.count': 1,
    PowerSupplies: [],
    'PowerSupplies@odata.count': 0,
    Voltages: [],
    'Voltages@odata.count': 0,
  }),
});

const powerSubsystem = defineResource({
  entity: 'PowerSubsystem',
  odataType: '#PowerSubsystem.v1_1_3.PowerSubsystem',
  uri: '/redfish/v1/Chassis/{chassisId}/PowerSubsystem',
  load: ({ params, services }) => loadChassis(params.chassisId, services),
  canonicalParams: ({ uuid }) => ({ chassisId: uuid }),
  render: () => ({
    Id: 'PowerSubsystem',
    Name: 'Power Subsystem',
    CapacityWatts: null,
    Status: absent,
  }),
});

/**
 * Returns links to the machines of a chassis, for RelatedItem of its power, temperatures and
 * sensors.
 */
export function relatedItems({ machines }: ChassisEntity): readonly JsonObject[] {
  return machines.map(({ uuid }) => reference(`/redfish/v1/Systems/${uuid}`));
}

/**
 * Power and PowerSubsystem of a chassis. Power is deprecated, but Ironic and the profiles of the Open Compute Project
 * still use it.
 * @see DSP2046, Power, PowerSubsystem
 */
export const powerResources = [power, powerSubsystem];
