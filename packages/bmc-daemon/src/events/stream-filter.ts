/** `$filter` of a stream of events (DSP0266, Server-Sent Events): the grammar of queries, on the properties of an event. */
import { parseFilter } from '../redfish/query/filter.js';
import type { JsonObject } from '../redfish/json.js';
import { isAt, type EventFilter } from './event-filter.js';
import { eventTypeOf, withoutVersion, type FeedEvent } from './event-record.js';

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
  const subordinates = /\bSubordinateResources\s+eq\s+true\b/.test(text);
  // What is no plain equality becomes a property that says whether it holds: a resource may be wanted with all that is below it.
  const origins: string[] = [];
  const plain = text
    .replace(
      /\bMessageId(\s+(?:eq|ne)\s+)'([^']*)'/g,
      (_, operator: string, id: string) => `MessageId${operator}'${withoutVersion(id)}'`,
    )
    .replace(/\bOriginResource(\s+(?:eq|ne)\s+)'([^']*)'/g, (_, operator: string, uri: string) => {
      origins.push(uri.replace(/\/+$/, ''));
      return `Origin${origins.length - 1}${operator}true`;
    });
  const passes = parseFilter(plain);
  return (feedEvent) => passes(faceOf(feedEvent, origins, subordinates));
}

function faceOf(
  { event, versionlessId, registryPrefix, resourceType }: FeedEvent,
  origins: readonly string[],
  subordinates: boolean,
): JsonObject {
  return {
    EventFormatType: 'Event',
    EventType: eventTypeOf(event),
    MessageId: versionlessId,
    RegistryPrefix: registryPrefix,
    ResourceType: resourceType,
    SubordinateResources: subordinates,
    ...Object.fromEntries(origins.map((uri, index) => [`Origin${index}`, isAt(event.origin, uri, subordinates)])),
  };
}
