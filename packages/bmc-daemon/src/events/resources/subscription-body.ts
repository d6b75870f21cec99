/** The bodies of requests that create and change subscriptions (EventDestination). */
import { z } from 'zod';
import { maskUrl } from '@rackless/daemon/text/mask-url.js';
import { telemetryUri } from '../../offers/report-source.js';
import { RedfishError, redfishError } from '../../redfish/messages/errors.js';
import { withPointers, message, withDetail } from '../../redfish/messages/messages.js';
import { parseUrl } from '../../resources/parse-url.js';
import { eventFormats, eventTypes, type EventFormat } from '../event-filter.js';
import { eventRegistryPrefixes, prefixOf } from '../event-record.js';
import { isForbidden } from '../subscriptions/event-post.js';
import { deliveryRetryPolicies } from '../subscriptions/push-delivery.js';

/** Limits of a subscription: items of a list, and characters of a string. */
const MAX_ITEMS = 100;
const MAX_TEXT_LENGTH = 500;

const text = z.string().max(MAX_TEXT_LENGTH);
const texts = z.array(text).max(MAX_ITEMS);
const prefixes = z.array(z.enum(eventRegistryPrefixes)).max(MAX_ITEMS);
const messageIds = z
  .array(
    text.refine(
      (id) => eventRegistryPrefixes.includes(prefixOf(id)),
      'its prefix must be one of the RegistryPrefixes of EventService',
    ),
  )
  .max(MAX_ITEMS);

/**
 * Headers that a subscription cannot set: those that describe the request itself, and those of the
 * connection (RFC 9110 §7.6.1).
 */
const ownHeaders = new Set([
  'host',
  'content-length',
  'content-type',
  'content-encoding',
  'odata-version',
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'expect',
]);

/** `[{"X-Auth": "abc"}]`, DMTF's form. Some clients send one object with all headers, others one for each header. */
const httpHeaders = z
  .array(
    z.record(
      z
        .string()
        .max(100)
        .regex(/^[\w!#$%&'*+.^`|~-]+$/)
        .refine((name) => !ownHeaders.has(name.toLowerCase()), 'the service sets this header itself'),
      // RFC 9110 §5.5: a line break would add another header.
      z
        .string()
        .max(4_096)
        .regex(/^[\t\x20-\x7e\x80-\xff]*$/),
    ),
  )
  .max(20)
  .transform((headers): Readonly<Record<string, string>> => Object.assign({}, ...headers) as Record<string, string>);

const destination = z
  .string()
  .max(2_048)
  .superRefine((url, context) => {
    const parsed = parseUrl(url);
    const isUrl = parsed?.protocol === 'http:' || parsed?.protocol === 'https:';
    if (isUrl && !isForbidden(parsed)) return;
    const why = isUrl ? 'The service does not send events to this address.' : 'It must be an http or https URL.';
    const fault = message('PropertyValueFormatError', maskUrl(url), 'Destination');
    context.addIssue({ code: 'custom', params: { message: withDetail(fault, why) } });
  });

/** The properties that a PATCH can change. */
export const changeable = {
  Context: z.string().max(MAX_TEXT_LENGTH).nullable().optional(),
  DeliveryRetryPolicy: z.enum(deliveryRetryPolicies).optional(),
  HttpHeaders: httpHeaders.optional(),
  VerifyCertificate: z.boolean().optional(),
};

/** The body that creates a subscription. */
export const newSubscription = z.strictObject({
  ...changeable,
  Destination: destination,
  Protocol: z.literal('Redfish'),
  SubscriptionType: z.literal('RedfishEvent').optional(),
  EventFormatType: z.enum(eventFormats).optional(),
  MetricReportDefinitions: z
    .array(z.object({ '@odata.id': text.startsWith(`${telemetryUri}/MetricReportDefinitions/`) }))
    .max(MAX_ITEMS)
    .optional(),
  // Deprecated, but Ironic sends it. Scripts older than EventFormatType request reports with the type
  // MetricReport.
  EventTypes: z
    .array(z.enum([...eventTypes, 'MetricReport']))
    .max(MAX_ITEMS)
    .optional(),
  RegistryPrefixes: prefixes.optional(),
  MessageIds: messageIds.optional(),
  ExcludeRegistryPrefixes: prefixes.optional(),
  ExcludeMessageIds: messageIds.optional(),
  ResourceTypes: texts.optional(),
  OriginResources: z
    .array(z.object({ '@odata.id': text.startsWith('/redfish/v1') }))
    .max(MAX_ITEMS)
    .optional(),
  SubordinateResources: z.boolean().optional(),
  Severities: z
    .array(z.enum(['OK', 'Warning', 'Critical']))
    .max(MAX_ITEMS)
    .optional(),
  IncludeOriginOfCondition: z.literal(false).optional(),
});

/** The body that creates a subscription, after its check. */
type NewSubscriptionBody = z.infer<typeof newSubscription>;

/**
 * Filters for events. They would have no effect on metric reports, so a subscription to reports
 * rejects them. It accepts SubordinateResources, because this property "shall have no relevance"
 * without OriginResources (DSP2046, EventDestination).
 */
const eventFilters = [
  'RegistryPrefixes',
  'MessageIds',
  'ExcludeRegistryPrefixes',
  'ExcludeMessageIds',
  'ResourceTypes',
  'OriginResources',
  'Severities',
] as const;

/**
 * Returns the format of a new subscription.
 * @throws {RedfishError} 400 if a property contradicts the format, or if the format is MetricReport and there is no
 *   telemetry.
 */
export function formatOf(body: NewSubscriptionBody, { telemetry }: { readonly telemetry: object | null }): EventFormat {
  const types = body.EventTypes ?? [];
  const isOnlyReports = types.length > 0 && types.every((type) => type === 'MetricReport');
  const format = body.EventFormatType ?? (isOnlyReports ? 'MetricReport' : 'Event');
  if (format === 'MetricReport' && telemetry === null) {
    throw redfishError('PropertyValueNotInList', 'MetricReport', 'EventFormatType');
  }
  const excluded = format === 'Event' ? (['MetricReportDefinitions'] as const) : eventFilters;
  // A list with MetricReport and other types is valid for events: scripts without EventFormatType send all types.
  const isOtherFormat = format === 'Event' ? isOnlyReports : types.some((type) => type !== 'MetricReport');
  const faults = [
    ...excluded.filter((name) => (body[name] ?? []).length > 0),
    ...(isOtherFormat ? (['EventTypes'] as const) : []),
  ].map((name) => withPointers(message('PropertyValueConflict', name, 'EventFormatType'), `#/${name}`));
  if (faults.length > 0) throw new RedfishError(400, faults);
  return format;
}
