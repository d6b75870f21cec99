/** Filters events for a subscriber. */
import { eventTypeOf, prefixOf, withoutVersion, type EventType, type FeedEvent } from './event-record.js';
import type { Severity } from '../redfish/messages/base-registry.js';

/** Returns whether a subscriber wants an event. */
export type EventFilter = (event: FeedEvent) => boolean;

/** DMTF's EventFormatType: the format that a subscriber receives. */
export const eventFormats = ['Event', 'MetricReport'] as const;
/** Format of a delivery (DSP2046, EventDestination, EventFormatType). */
export type EventFormat = (typeof eventFormats)[number];

/** The filter of a subscription. An empty list restricts nothing. */
interface Wanted {
  /**
   * An event matches if its registry is in this list or its message is in `messageIds`
   * (EventDestination, MessageIds).
   */
  readonly registryPrefixes: readonly string[];
  /** Ids are compared without their versions. */
  readonly messageIds: readonly string[];
  readonly excludeRegistryPrefixes: readonly string[];
  readonly excludeMessageIds: readonly string[];
  /** Types of resources, such as `ComputerSystem`. */
  readonly resourceTypes: readonly string[];
  /** Canonical URIs. */
  readonly originResources: readonly string[];
  /** Whether resources below {@link originResources} also match. */
  readonly subordinateResources: boolean;
  readonly severities: readonly Severity[];
  /**
   * `Alert` matches every event, because it is Ironic's default: many BMCs send events of no other type.
   */
  readonly eventTypes: readonly string[];
}

/** The filter of a subscription to all events. */
export const everything: Wanted = {
  registryPrefixes: [],
  messageIds: [],
  excludeRegistryPrefixes: [],
  excludeMessageIds: [],
  resourceTypes: [],
  originResources: [],
  subordinateResources: false,
  severities: [],
  eventTypes: [],
};

/** Compiles the filter of a subscription. */
export function createFilter(wanted: Wanted): EventFilter {
  const prefixes = new Set(wanted.registryPrefixes);
  const messages = new Set(wanted.messageIds.map(withoutVersion));
  const noPrefixes = new Set(wanted.excludeRegistryPrefixes.map(prefixOf));
  const noMessages = new Set(wanted.excludeMessageIds.map(withoutVersion));
  const types = new Set(wanted.resourceTypes);
  const severities = new Set<Severity>(wanted.severities);
  const eventTypes = new Set(wanted.eventTypes);
  const origins = wanted.originResources;
  const anyMessage = prefixes.size === 0 && messages.size === 0;
  const anyEventType = eventTypes.size === 0 || eventTypes.has('Alert');
  return (feedEvent) => {
    const { event, registryPrefix, versionlessId, resourceType } = feedEvent;
    if (!anyMessage && !prefixes.has(registryPrefix) && !messages.has(versionlessId)) return false;
    if (noPrefixes.has(registryPrefix) || noMessages.has(versionlessId)) return false;
    if (types.size > 0 && !types.has(resourceType)) return false;
    if (severities.size > 0 && !severities.has(event.severity)) return false;
    if (!anyEventType && !eventTypes.has(eventTypeOf(event))) return false;
    return origins.length === 0 || origins.some((uri) => isAt(event.origin, uri, wanted.subordinateResources));
  };
}

/** Returns whether a resource has the given URI, or is below it if `subordinates` is set. */
export function isAt(origin: string, uri: string, subordinates: boolean): boolean {
  return origin === uri || (subordinates && origin.startsWith(`${uri}/`));
}

/** The event types that a client may select and a subscription shows. */
export const eventTypes = [
  'StatusChange',
  'ResourceUpdated',
  'ResourceAdded',
  'ResourceRemoved',
  'Alert',
] as const satisfies readonly EventType[];
