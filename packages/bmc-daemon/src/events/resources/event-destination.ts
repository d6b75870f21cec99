/** Event subscriptions: destinations of clients, and open event streams. */
import { z } from 'zod';
import { maskUrl } from '@rackless/daemon/mask-url.js';
import { isForbidden } from '../subscriptions/event-post.js';
import { eventFormats, eventTypes, type EventFormat } from '../event-filter.js';
import { eventRegistryPrefixes, prefixOf } from '../event-record.js';
import { deliveryRetryPolicies } from '../subscriptions/push-delivery.js';
import {
  subscriptionUri,
  type PushSubscription,
  type StreamSubscription,
  type Subscription,
} from '../subscriptions/subscription.js';
import { RedfishError, refuse } from '../../redfish/messages/errors.js';
import { about, message, withDetail } from '../../redfish/messages/messages.js';
import type { JsonObject, ResourceRequest } from '../../redfish/resource.js';
import { telemetryUri } from '../../offers/report-source.js';
import { canonicalDefinitions } from './subscribed-reports.js';
import { parseUrl } from '../../resources/parse-url.js';
import { reference, renderCollection } from '../../resources/reference.js';
import { defineResource, type Services } from './services.js';

/** Limits of a subscription: items of a list, and characters of a string. */
const MAX_ITEMS = 100;
const MAX_TEXT_LENGTH = 500;

const text = z.string().max(MAX_TEXT_LENGTH);
const texts = z.array(text).max(MAX_ITEMS);
const prefixes = z.array(z.enum(eventRegistryPrefixes)).max(MAX_ITEMS);
const messageIds = z
  .array(text.refine((id) => eventRegistryPrefixes.includes(prefixOf(id)), 'a message of one of RegistryPrefixes'))
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

/** `[{"X-Auth": "abc"}]`, DMTF's form. Some clients send one object, others several. */
const httpHeaders = z
  .array(
    z.record(
      z
        .string()
        .max(100)
        .regex(/^[\w!#$%&'*+.^`|~-]+$/)
        .refine((name) => !ownHeaders.has(name.toLowerCase()), 'a header of the client'),
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

const changeable = {
  Context: z.string().max(MAX_TEXT_LENGTH).nullable().optional(),
  DeliveryRetryPolicy: z.enum(deliveryRetryPolicies).optional(),
  HttpHeaders: httpHeaders.optional(),
  VerifyCertificate: z.boolean().optional(),
};

const newSubscription = z.strictObject({
  ...changeable,
  Destination: destination,
  Protocol: z.literal('Redfish'),
  SubscriptionType: z.literal('RedfishEvent').optional(),
  EventFormatType: z.enum(eventFormats).optional(),
  MetricReportDefinitions: z
    .array(z.object({ '@odata.id': text.startsWith(`${telemetryUri}/MetricReportDefinitions/`) }))
    .max(MAX_ITEMS)
    .optional(),
  // Deprecated, but Ironic sends it. Scripts older than EventFormatType ask for reports by MetricReport.
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

type NewSubscription = z.infer<typeof newSubscription>;

/** Filters for events. They would have no effect on metric reports, so a subscription to reports rejects them. */
const eventFilters = [
  'RegistryPrefixes',
  'MessageIds',
  'ExcludeRegistryPrefixes',
  'ExcludeMessageIds',
  'ResourceTypes',
  'OriginResources',
  'Severities',
] as const;

/** Returns the format of a new subscription. @throws {RedfishError} 400 if its filters contradict it. */
function formatOf(body: NewSubscription, { telemetry }: Services): EventFormat {
  const isByType = body.EventTypes?.length === 1 && body.EventTypes[0] === 'MetricReport';
  const format = body.EventFormatType ?? (isByType ? 'MetricReport' : 'Event');
  if (format === 'MetricReport' && telemetry === null) {
    throw refuse('PropertyValueNotInList', 'MetricReport', 'EventFormatType');
  }
  const contradicting = format === 'Event' ? (['MetricReportDefinitions'] as const) : eventFilters;
  const faults = contradicting
    .filter((name) => (body[name] ?? []).length > 0)
    .map((name) => about(message('PropertyValueConflict', name, 'EventFormatType'), `#/${name}`));
  if (faults.length > 0) throw new RedfishError(400, faults);
  return format;
}

const canonical = (link: { readonly '@odata.id': string }): string => link['@odata.id'].replace(/\/+$/, '');

function find(services: Services, id: string): Subscription {
  const found = services.subscriptions.find(id);
  if (found === undefined) throw refuse('ResourceNotFound', 'EventDestination', id);
  return found;
}

const subscriptions = defineResource({
  entity: 'EventDestinationCollection',
  odataType: '#EventDestinationCollection.EventDestinationCollection',
  uri: '/redfish/v1/EventService/Subscriptions',
  load: ({ services }) => services.subscriptions.list(),
  render: (list) =>
    renderCollection(
      'Event Destination Collection',
      list.map((subscription) => subscriptionUri(idOf(subscription))),
    ),
  post: {
    body: newSubscription,
    // Does not contact the destination: a listener can start after its subscription.
    run: async (_list, body, { services, requester }) => {
      const format = formatOf(body, services);
      const named = (body.MetricReportDefinitions ?? []).map((link) => link['@odata.id']);
      const reportDefinitions = await canonicalDefinitions(services, named);
      const asked = {
        context: body.Context ?? null,
        destination: body.Destination,
        httpHeaders: body.HttpHeaders ?? {},
        verifyCertificate: body.VerifyCertificate ?? false,
        policy: body.DeliveryRetryPolicy ?? 'RetryForever',
        owner: requester.user,
        format,
        reportDefinitions,
        wanted: {
          registryPrefixes: body.RegistryPrefixes ?? [],
          messageIds: body.MessageIds ?? [],
          excludeRegistryPrefixes: body.ExcludeRegistryPrefixes ?? [],
          excludeMessageIds: body.ExcludeMessageIds ?? [],
          resourceTypes: body.ResourceTypes ?? [],
          originResources: (body.OriginResources ?? []).map(canonical),
          subordinateResources: body.SubordinateResources ?? false,
          severities: body.Severities ?? [],
          eventTypes: body.EventTypes ?? [],
        },
      } as const;
      const isAdministrator = requester.privileges.has('ConfigureManager');
      const { record } = services.subscriptions.create(asked, { isAdministrator });
      return { created: { location: subscriptionUri(record.id) } };
    },
  },
});

function isOwn({
  params,
  services,
  requester,
}: ResourceRequest<Services, { readonly subscriptionId: string }>): boolean {
  const found = services.subscriptions.find(params.subscriptionId);
  const owner = found?.kind === 'push' ? found.record.owner : (found?.owner ?? null);
  return owner !== null && owner === requester.user;
}

/** Caches masked subscriptions, so that an unchanged subscription gives the same object. */
const maskedSubscriptions = new WeakMap<PushSubscription, PushSubscription>();

/**
 * Masks the Destination for accounts that cannot change the subscription, because the query of the URL
 * can contain a token.
 */
function masked(found: PushSubscription): PushSubscription {
  const known = maskedSubscriptions.get(found);
  if (known !== undefined) return known;
  const { record } = found;
  const hidden = { ...found, record: { ...record, destination: maskUrl(record.destination) } };
  maskedSubscriptions.set(found, hidden);
  return hidden;
}

const subscription = defineResource({
  entity: 'EventDestination',
  odataType: '#EventDestination.v1_16_0.EventDestination',
  uri: '/redfish/v1/EventService/Subscriptions/{subscriptionId}',
  isOwn,
  load: (request) => {
    const found = find(request.services, request.params.subscriptionId);
    const isConfigurable = request.requester.privileges.has('ConfigureManager') || isOwn(request);
    return found.kind === 'push' && !isConfigurable ? masked(found) : found;
  },
  render: (entity) => (entity.kind === 'push' ? renderPush(entity) : renderStream(entity)),
  patch: {
    body: z.strictObject(changeable),
    apply: (entity, body, { services }) => {
      // A stream has no changeable properties and ends with its client.
      if (entity.kind === 'stream') throw refuse('ResourceInUse');
      services.subscriptions.change(entity.record.id, {
        ...(body.Context === undefined ? {} : { context: body.Context }),
        ...(body.DeliveryRetryPolicy === undefined ? {} : { policy: body.DeliveryRetryPolicy }),
        ...(body.HttpHeaders === undefined ? {} : { httpHeaders: body.HttpHeaders }),
        ...(body.VerifyCertificate === undefined ? {} : { verifyCertificate: body.VerifyCertificate }),
      });
      return undefined;
    },
  },
  delete: (entity, { services }) => {
    services.subscriptions.remove(idOf(entity));
    return undefined;
  },
  actions: {
    '#EventDestination.SuspendSubscription': {
      body: z.strictObject({}),
      bodyOptional: true,
      available: ({ kind }) => kind === 'push',
      run: (entity, _body, { services }) => {
        services.subscriptions.suspend(idOf(entity));
        return undefined;
      },
    },
    '#EventDestination.ResumeSubscription': {
      body: z.strictObject({}),
      bodyOptional: true,
      available: ({ kind }) => kind === 'push',
      run: (entity, _body, { services }) => {
        services.subscriptions.resume(idOf(entity));
        return undefined;
      },
    },
  },
});

function idOf(entity: Subscription): string {
  return entity.kind === 'push' ? entity.record.id : entity.id;
}

function renderPush({ record, failing }: PushSubscription): JsonObject {
  const { id, wanted } = record;
  const list = (name: string, values: readonly string[]): JsonObject => (values.length === 0 ? {} : { [name]: values });
  return {
    Id: id,
    Name: `Event Subscription ${id}`,
    Context: record.context,
    Destination: withoutCredentials(record.destination),
    Protocol: 'Redfish',
    SubscriptionType: 'RedfishEvent',
    EventFormatType: record.format,
    ...(record.reportDefinitions.length === 0
      ? {}
      : {
          MetricReportDefinitions: record.reportDefinitions.map(reference),
          'MetricReportDefinitions@odata.count': record.reportDefinitions.length,
        }),
    ...list('EventTypes', wanted.eventTypes),
    ...list('RegistryPrefixes', wanted.registryPrefixes),
    ...list('MessageIds', wanted.messageIds),
    ...list('ExcludeRegistryPrefixes', wanted.excludeRegistryPrefixes),
    ...list('ExcludeMessageIds', wanted.excludeMessageIds),
    ...list('ResourceTypes', wanted.resourceTypes),
    ...list('Severities', wanted.severities),
    ...(wanted.originResources.length === 0
      ? {}
      : {
          OriginResources: wanted.originResources.map(reference),
          'OriginResources@odata.count': wanted.originResources.length,
          SubordinateResources: wanted.subordinateResources,
        }),
    // The EventDestination schema requires an empty list, because headers can contain a token.
    HttpHeaders: [],
    VerifyCertificate: record.verifyCertificate,
    DeliveryRetryPolicy: record.policy,
    Status: record.suspended ? { State: 'Disabled' } : { State: 'Enabled', Health: failing ? 'Warning' : 'OK' },
  };
}

function renderStream({ id, destination, format }: StreamSubscription): JsonObject {
  return {
    Id: id,
    Name: `Event Stream ${id}`,
    Context: '',
    Destination: destination,
    Protocol: 'Redfish',
    SubscriptionType: 'SSE',
    EventFormatType: format,
    Status: { State: 'Enabled', Health: 'OK' },
  };
}

function withoutCredentials(url: string): string {
  const { username, password } = new URL(url);
  if (username === '' && password === '') return url;
  const shown = new URL(url);
  shown.username = '';
  shown.password = '';
  return shown.href;
}

/** The collection of subscriptions and its members. */
export const eventDestinationResources = [subscriptions, subscription];
