/** Renders subscriptions as EventDestination. */
import { maskUrl } from '@rackless/daemon/text/mask-url.js';
import type { JsonObject } from '../../redfish/resource.js';
import { reference } from '../../resources/reference.js';
import type { PushSubscription, StreamSubscription } from '../subscriptions/subscription.js';

/** Caches masked subscriptions, so that an unchanged subscription gives the same object. */
const maskedSubscriptions = new WeakMap<PushSubscription, PushSubscription>();

/**
 * Masks the Destination for accounts that cannot change the subscription, because the query of the
 * URL can contain a token.
 */
export function withMaskedDestination(found: PushSubscription): PushSubscription {
  const known = maskedSubscriptions.get(found);
  if (known !== undefined) return known;
  const { record } = found;
  const hidden = { ...found, record: { ...record, destination: maskUrl(record.destination) } };
  maskedSubscriptions.set(found, hidden);
  return hidden;
}

/** Renders a subscription to which the service sends events. */
export function renderPush({ record, failing }: PushSubscription): JsonObject {
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

/** Renders an open stream. */
export function renderStream({ id, destination, format }: StreamSubscription): JsonObject {
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
