/** `$filter` of a stream of events (DSP0266, Server-Sent Events): the grammar of queries, on the properties of an event. */
import { parseFilter } from '../redfish/query/filter.js';
import type { JsonObject } from '../redfish/json.js';
import { createFilter, everything, isAt, type EventFilter, type EventFormat } from './event-filter.js';
import { eventTypeOf, withoutVersion, type FeedEvent } from './event-record.js';

/** The properties that a filter may name; what SSEFilterPropertiesSupported shows. */
export const streamFilterProperties = [
  'EventFormatType',
  'EventType',
  'MessageId',
  'MetricReportDefinition',
  'OriginResource',
  'RegistryPrefix',
  'ResourceType',
  'SubordinateResources',
] as const;

/** Whether metric reports of a definition are wanted, by its URI; null: those of tests. */
export type ReportFilter = (definition: string | null) => boolean;

/** What a stream brings. */
export interface StreamWants {
  /** What its subscription shows: MetricReport for a stream that was asked for nothing but those. */
  readonly format: EventFormat;
  readonly events: EventFilter;
  /** Null: none are wanted, whatever they are of. */
  readonly reports: ReportFilter | null;
}

/** Without a filter: every event. Metric reports come to who asks for them, as they come often (EventDestination, EventFormatType). */
export const everyEvent: StreamWants = { format: 'Event', events: createFilter(everything), reports: null };

/**
 * @param text `(RegistryPrefix eq 'ResourceEvent') and (OriginResource eq '/redfish/v1/Systems/1')`.
 * @throws {FilterSyntaxError} of the query's grammar, or of a property that is none of {@link streamFilterProperties}.
 */
export function parseStreamFilter(text: string): StreamWants {
  const subordinates = /\bSubordinateResources\s+eq\s+true\b/.test(text);
  // What is no plain equality becomes a property that says whether it holds: a resource may be wanted with all that is below it.
  const origins: string[] = [];
  const plain = text
    // DSP0266 writes the values of these two without quotes.
    .replace(/\b(EventFormatType|EventType)(\s+(?:eq|ne)\s+)([A-Za-z]+)\b/g, `$1$2'$3'`)
    .replace(
      /\bMessageId(\s+(?:eq|ne)\s+)'([^']*)'/g,
      (_, operator: string, id: string) => `MessageId${operator}'${withoutVersion(id)}'`,
    )
    .replace(
      /\bMetricReportDefinition(\s+(?:eq|ne)\s+)'([^']*)'/g,
      (_, operator: string, uri: string) => `MetricReportDefinition${operator}'${uri.replace(/\/+$/, '')}'`,
    )
    .replace(/\bOriginResource(\s+(?:eq|ne)\s+)'([^']*)'/g, (_, operator: string, uri: string) => {
      origins.push(uri.replace(/\/+$/, ''));
      return `Origin${origins.length - 1}${operator}true`;
    });
  const names = new Set<string>([...streamFilterProperties, ...origins.map((_, index) => `Origin${index}`)]);
  const passes = parseFilter(plain, names);
  // A filter that says nothing of them was made for events, whatever it leaves through.
  const speaksOfReports = /\bMetricReportDefinition\b|\bEventFormatType\b/.test(text);
  const reports: ReportFilter = (definition) =>
    passes({ EventFormatType: 'MetricReport', MetricReportDefinition: definition });
  const isForReports = /\bMetricReportDefinition\b|\bEventFormatType\s+eq\s+'?MetricReport\b/.test(text);
  const isForEvents =
    /\bEventFormatType\s+eq\s+'?Event\b|\b(?:MessageId|RegistryPrefix|ResourceType|OriginResource|EventType)\b/;
  return {
    format: isForReports && !isForEvents.test(text) ? 'MetricReport' : 'Event',
    events: (feedEvent) => passes(faceOf(feedEvent, origins, subordinates)),
    reports: speaksOfReports ? reports : null,
  };
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
