/** Which events a subscriber wants. */
import { eventTypeOf, prefixOf, withoutVersion, type EventType, type FeedEvent } from './event-record.js';
import type { Severity } from '../redfish/base-registry.js';

/** Whether an event is for a subscriber. */
export type EventFilter = (event: FeedEvent) => boolean;

/** DMTF's EventFormatType: what a subscriber is sent. */
export const eventFormats = ['Event', 'MetricReport'] as const;
export type EventFormat = (typeof eventFormats)[number];

/** What a subscription names. An empty list restricts nothing. */
export interface Wanted {
  /** An event passes if its registry is in the one list or its message in the other (EventDestination, MessageIds). */
  readonly registryPrefixes: readonly string[];
  /** Versions in them are ignored. */
  readonly messageIds: readonly string[];
  readonly excludeRegistryPrefixes: readonly string[];
  readonly excludeMessageIds: readonly string[];
  /** `ComputerSystem`. */
  readonly resourceTypes: readonly string[];
  /** URIs, canonical. */
  readonly originResources: readonly string[];
  /** Whether what is below {@link originResources} is wanted, too. */
  readonly subordinateResources: boolean;
  readonly severities: readonly Severity[];
  /** `Alert` stands for every event: it is what Ironic asks for by default, and what many controllers send alone. */
  readonly eventTypes: readonly string[];
}

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

/** The test that a subscription comes to, worked out once. */
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

/** Whether a resource is the one at a URI, or below it where that is asked for. */
export function isAt(origin: string, uri: string, subordinates: boolean): boolean {
  return origin === uri || (subordinates && origin.startsWith(`${uri}/`));
}

/** The types that a client may ask for, and a subscription shows. */
export const eventTypes = [
  'StatusChange',
  'ResourceUpdated',
  'ResourceAdded',
  'ResourceRemoved',
  'Alert',
] as const satisfies readonly EventType[];
