/** `$filter` of a stream of events (DSP0266, Server-Sent Events): the grammar of queries, on the properties of an event. */
import { parseFilter } from '../redfish/query/filter.js';
import type { JsonObject } from '../redfish/json.js';
import type { EventFilter } from './event-filter.js';
import { eventTypeOf, type FeedEvent } from './event-record.js';

/** The properties that a filter may name; what SSEFilterPropertiesSupported shows. */
export const streamFilterProperties = [
  'EventFormatType',
  'EventType',
  'MessageId',
  'OriginResource',
  'RegistryPrefix',
  'ResourceType',
  'SubordinateResources',
] as const;

/**
 * @param text `(RegistryPrefix eq 'ResourceEvent') and (OriginResource eq '/redfish/v1/Systems/1')`.
 * @throws {FilterSyntaxError} of the query's grammar.
 */
export function parseStreamFilter(text: string): EventFilter {
  const passes = parseFilter(text);
  const subordinates = /\bSubordinateResources\s+eq\s+true\b/.test(text);
  return (feedEvent) => faces(feedEvent, subordinates).some(passes);
}

/**
 * An event is known by several names at once: by its message with and without a version, and, where subordinates are wanted, by
 * every resource above its own.
 */
function faces(feedEvent: FeedEvent, subordinates: boolean): readonly JsonObject[] {
  const { event, versionlessId, registryPrefix, resourceType } = feedEvent;
  const origins = subordinates ? [event.origin, ...ancestors(event.origin)] : [event.origin];
  return [event.messageId, versionlessId].flatMap((messageId) =>
    origins.map((origin) => ({
      EventFormatType: 'Event',
      EventType: eventTypeOf(event),
      MessageId: messageId,
      OriginResource: origin,
      RegistryPrefix: registryPrefix,
      ResourceType: resourceType,
      SubordinateResources: subordinates,
    })),
  );
}

function ancestors(origin: string): readonly string[] {
  const parts = origin.split('/');
  return parts.slice(4).map((_part, index) => parts.slice(0, parts.length - 1 - index).join('/'));
}
