/** Temperatures and fans of a chassis: temperature sensors without readings, and no fans. */
import { defineResource } from '../services.js';
import { absent, enabled } from '../status.js';
import { loadChassis } from './chassis-place.js';
import { relatedItems } from './power.js';
import { temperatures } from './sensor.js';

const thermal = defineResource({
  entity: 'Thermal',
  odataType: '#Thermal.v1_7_3.Thermal',
  uri: '/redfish/v1/Chassis/{chassisId}/Thermal',
  load: ({ params, services }) => loadChassis(params.chassisId, services),
  canonicalParams: ({ uuid }) => ({ chassisId: uuid }),
  render: (chassis, { self }) => ({
    Id: 'Thermal',
    Name: 'Thermal',
    Temperatures: temperatures.map(({ name, context }, index) => ({
      '@odata.id': `${self}#/Temperatures/${index}`,
      MemberId: String(index),
      Name: name,
      SensorNumber: index,
      PhysicalContext: context,
      ReadingCelsius: null,
      RelatedItem: relatedItems(chassis),
      'RelatedItem@odata.count': chassis.machines.length,
      Status: absent,
    })),
    'Temperatures@odata.count': temperatures.length,
    Fans: [],
    'Fans@odata.count': 0,
    Status: enabled,
  }),
});

const thermalSubsystem = defineResource({
  entity: 'ThermalSubsystem',
  odataType: '#ThermalSubsystem.v1_5_0.ThermalSubsystem',
  uri: '/redfish/v1/Chassis/{chassisId}/ThermalSubsystem',
  load: ({ params, services }) => loadChassis(params.chassisId, services),
  canonicalParams: ({ uuid }) => ({ chassisId: uuid }),
  render: () => ({ Id: 'ThermalSubsystem', Name: 'Thermal Subsystem', Status: absent }),
});

/**
 * Thermal and ThermalSubsystem of a chassis. Thermal is deprecated, but Ironic and the profiles of the Open Compute
 * Project still use it.
 * @see DSP2046, Thermal, ThermalSubsystem
 */
export const thermalResources = [thermal, thermalSubsystem];
