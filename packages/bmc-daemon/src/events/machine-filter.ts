/** What a subscriber is told that subscribed at the controller of one machine: of that machine, and of the service itself. */
import { definitionUri } from '../telemetry/report.js';
import type { EventFilter } from './event-filter.js';
import type { ReportFilter } from './stream-filter.js';

/** @param machine null: of all machines. */
export function eventsOf(machine: string | null, wants: EventFilter): EventFilter {
  if (machine === null) return wants;
  return (feedEvent) => {
    const { system } = feedEvent.event;
    return (system === null || system === machine) && wants(feedEvent);
  };
}

/** @param machine null: of all machines. */
export function reportsOf(machine: string | null, wants: ReportFilter): ReportFilter {
  if (machine === null) return wants;
  const own = definitionUri(machine);
  // Without a definition it is that of a test, which is nobody's.
  return (definition) => (definition === null || definition === own) && wants(definition);
}
