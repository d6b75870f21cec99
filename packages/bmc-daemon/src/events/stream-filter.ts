/**
 * Parses `$filter` of an event stream (DSP0266, Server-Sent Events): the query grammar, applied to
 * the properties of events and metric reports.
 */
import { withoutTrailingSlashes } from '@rackless/daemon/text/trailing-slashes.js';
import { parseFilter } from '../redfish/query/filter.js';
import type { JsonObject } from '../redfish/json.js';
import { createFilter, everything, isAt, type EventFilter, type EventFormat } from './event-filter.js';
import { eventTypeOf, withoutVersion, type FeedEvent } from './event-record.js';

/** The properties that a filter may use, with the names of SSEFilterPropertiesSupported. */
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

/** Returns whether a metric report matches. `definition`: the URI of its definition; null for a test report. */
export type ReportFilter = (definition: string | null) => boolean;

/** The content of a stream. */
export interface StreamSelection {
  /**
   * The format that the subscription shows. MetricReport if the filter has MetricReportDefinition or
   * `EventFormatType eq MetricReport`, and no property or format of events; otherwise Event.
   */
  readonly format: EventFormat;
  readonly events: EventFilter;
  /** Null: no metric reports. */
  readonly reports: ReportFilter | null;
}

/**
 * The content without a filter: every event. Metric reports are frequent, so a client must select
 * them (EventDestination, EventFormatType).
 */
export const everyEvent: StreamSelection = { format: 'Event', events: createFilter(everything), reports: null };

/**
 * Parses a filter.
 * @param text `(RegistryPrefix eq 'ResourceEvent') and (OriginResource eq
 *   '/redfish/v1/Systems/1')`.
 * @throws {FilterSyntaxError} for invalid grammar, or a property that is not in {@link
 *   streamFilterProperties}.
 */
export function parseStreamFilter(text: string): StreamSelection {
  const subordinates = /\bSubordinateResources\s+eq\s+true\b/.test(text);
  // Replaces each comparison of OriginResource by a boolean property, because OriginResource may include
  // subordinate resources.
  const origins: string[] = [];
  const plain = text
    // DSP0266 writes the values of these two properties without quotes.
    .replace(/\b(EventFormatType|EventType)(\s+(?:eq|ne)\s+)([A-Za-z]+)\b/g, `$1$2'$3'`)
    .replace(
      /\bMessageId(\s+(?:eq|ne)\s+)'([^']*)'/g,
      (_, operator: string, id: string) => `MessageId${operator}'${withoutVersion(id)}'`,
    )
    .replace(
      /\bMetricReportDefinition(\s+(?:eq|ne)\s+)'([^']*)'/g,
      (_, operator: string, uri: string) => `MetricReportDefinition${operator}'${withoutTrailingSlashes(uri)}'`,
    )
    .replace(/\bOriginResource(\s+(?:eq|ne)\s+)'([^']*)'/g, (_, operator: string, uri: string) => {
      origins.push(withoutTrailingSlashes(uri));
      return `Origin${origins.length - 1}${operator}true`;
    });
  const names = new Set<string>([...streamFilterProperties, ...origins.map((_, index) => `Origin${index}`)]);
  const passes = parseFilter(plain, names);
  // A filter that names neither MetricReportDefinition nor EventFormatType selects only events.
  const mentionsReports = /\bMetricReportDefinition\b|\bEventFormatType\b/.test(text);
  const reports: ReportFilter = (definition) =>
    passes({ EventFormatType: 'MetricReport', MetricReportDefinition: definition });
  const isForReports = /\bMetricReportDefinition\b|\bEventFormatType\s+eq\s+'?MetricReport\b/.test(text);
  const isForEvents =
    /\bEventFormatType\s+eq\s+'?Event\b|\b(?:MessageId|RegistryPrefix|ResourceType|OriginResource|EventType)\b/;
  return {
    format: isForReports && !isForEvents.test(text) ? 'MetricReport' : 'Event',
    events: (feedEvent) => passes(filterableProperties(feedEvent, origins, subordinates)),
    reports: mentionsReports ? reports : null,
  };
}

function filterableProperties(
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
