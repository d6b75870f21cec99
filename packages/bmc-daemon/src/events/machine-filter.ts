/**
 * Restricts a subscriber to one machine and the service itself, if the client subscribed at the name or
 * address of the machine's manager.
 */
import { definitionUri } from '../offers/report-source.js';
import { machineUuidOf } from '../redfish/machine-of.js';
import type { EventFilter } from './event-filter.js';
import type { ReportFilter } from './stream-filter.js';

/** Restricts an event filter to a machine. @param machine null: all machines. */
export function eventsOf(machine: string | null, wants: EventFilter): EventFilter {
  if (machine === null) return wants;
  return (feedEvent) => {
    const { origin, system } = feedEvent.event;
    // For the chassis of a host, `machineUuidOf` returns the name of the host. No machine has this name as its
    // UUID, so the subscriber does not get events of hosts.
    const owner = system ?? machineUuidOf(origin);
    return (owner === null || owner === machine) && wants(feedEvent);
  };
}

/** Restricts a report filter to a machine. @param machine null: all machines. */
export function reportsOf(machine: string | null, wants: ReportFilter): ReportFilter {
  if (machine === null) return wants;
  const own = definitionUri(machine);
  // A report without a definition is a test report, which every subscriber may get.
  return (definition) => (definition === null || definition === own) && wants(definition);
}
