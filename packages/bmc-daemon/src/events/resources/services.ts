/** The services that the resources of events use, and `defineResource` for these services. */
import type { EventBus } from '../event-bus.js';
import type { EventLogs } from '../event-logs.js';
import type { Subscriptions } from '../subscriptions/subscriptions.js';
import { resourceDefiner } from '../../redfish/resource.js';
import type { ServicesWith } from '../../resources/services.js';

/** The services of events. */
export interface EventServices {
  /**
   * Events for logs and subscribers. `publishers/published-writes.ts` publishes the writes of clients, so resources
   * must not publish them.
   */
  readonly events: EventBus;
  readonly subscriptions: Subscriptions;
  readonly logs: EventLogs;
  /** Types of the served resources except collections, sorted. */
  readonly resourceTypes: readonly string[];
}

/** The services that all resources use, and those of events. */
export type Services = ServicesWith<EventServices>;

/** Defines a resource; TypeScript infers its types from its URI, `load` and bodies. */
export const defineResource = resourceDefiner<Services>();
