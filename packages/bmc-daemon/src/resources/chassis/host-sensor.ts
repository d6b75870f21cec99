/** The load of a host as sensors. */
import type { HostFacts } from '../../drivers/hosts-control.js';
import type { JsonObject } from '../../redfish/resource.js';
import { absent, enabled, unavailable } from '../status.js';
import type { HostChassis } from './host-chassis.js';

/** A kind of sensor: it shows which share of a capacity of the host is in use. */
interface HostSensorKind {
  readonly id: string;
  readonly name: string;
  /** DMTF's PhysicalContext. */
  readonly context: 'CPU' | 'Memory';
  /** Returns the share, from 0 to 1; null if the hypervisor does not count it. */
  readonly read: (facts: HostFacts) => number | null;
}

/** A sensor of a host. */
export interface HostSensor {
  readonly chassis: HostChassis;
  readonly kind: HostSensorKind;
}

/** The kinds of sensors that each host has. */
export const hostSensorKinds: readonly HostSensorKind[] = [
  { id: 'ProcessorUtilization', name: 'Processor Utilization', context: 'CPU', read: ({ cpuLoad }) => cpuLoad },
  {
    id: 'MemoryUtilization',
    name: 'Memory Utilization',
    context: 'Memory',
    read: ({ memoryBytes, freeMemoryBytes: free }) => (free === null ? null : 1 - free / memoryBytes),
  },
];

/** Renders a sensor in percent. Without a share, or while the host does not answer, it has no reading. */
export function renderHostSensor({ chassis: { host }, kind }: HostSensor): JsonObject {
  const share = host.reachable && host.facts !== null ? kind.read(host.facts) : null;
  return {
    Id: kind.id,
    Name: kind.name,
    Implementation: 'Reported',
    ReadingType: 'Percent',
    ReadingUnits: '%',
    ReadingRangeMin: 0,
    ReadingRangeMax: 100,
    PhysicalContext: kind.context,
    Reading: share === null ? null : Math.round(share * 1000) / 10,
    Status: !host.reachable ? unavailable : share === null ? absent : enabled,
  };
}
