/** Renders an event as a member of an Event's `Events`, once for all subscribers. */
import { baseRegistry, messageTable } from '../redfish/messages/base-registry.js';
import { stringify } from '../redfish/answer.js';
import { resourceEventRegistry, resourceEventTable } from '../redfish/messages/resource-event-registry.js';
import { taskEventRegistry, taskEventTable } from '../redfish/messages/task-event-registry.js';
import type { ServiceEvent } from './event-bus.js';
import { urlHost } from '../host/ip-network.js';

/** An event with its sequence number. */
export interface FeedEvent {
  /**
   * Grows with each event. It may have gaps if several replicas share the events. Exception: the
   * number of a report of lost events is one less than that of the next event.
   */
  readonly sequence: number;
  /** Unique, even across restarts. It is the `id` in a stream, and `EventId` unless a test event has its own. */
  readonly id: string;
  readonly event: ServiceEvent;
  /** The registry without its version, such as `ResourceEvent`. */
  readonly registryPrefix: string;
  /** The message id without its version, such as `ResourceEvent.ResourceChanged`. Subscriptions match it. */
  readonly versionlessId: string;
  /** The type of the event's resource, such as `ComputerSystem`; empty if unknown. */
  readonly resourceType: string;
}

/** `EventType` of the schema: deprecated but required. */
export type EventType = 'StatusChange' | 'ResourceUpdated' | 'ResourceAdded' | 'ResourceRemoved' | 'Alert';

interface Text {
  readonly text: string;
  readonly resolution: string;
}

/** The messages by the prefix of their registry. */
const tables: ReadonlyMap<string, Readonly<Record<string, Text>>> = new Map<string, Readonly<Record<string, Text>>>([
  [prefixOf(resourceEventRegistry), resourceEventTable],
  [prefixOf(taskEventRegistry), taskEventTable],
  [prefixOf(baseRegistry), messageTable],
]);

/** Prefixes of the registries whose messages the service sends as events. */
export const eventRegistryPrefixes: readonly string[] = [...tables.keys()];

/** Returns `ResourceEvent` for `ResourceEvent.1.4.ResourceChanged`. */
export function prefixOf(messageId: string): string {
  return messageId.split('.', 1)[0] ?? '';
}

/** Returns the id without its version, such as `ResourceEvent.ResourceChanged`. */
export function withoutVersion(messageId: string): string {
  return messageId.replace(/(?:\.\d+)+(?=\.)/, '');
}

/** Returns whether the service has the text of a message. */
export function hasText(messageId: string): boolean {
  return textOf(messageId) !== undefined;
}

/** Returns the text of a message in the service's version of the registry, whatever version the id names. */
function textOf(messageId: string): Text | undefined {
  const table = tables.get(prefixOf(messageId)) ?? {};
  const key = messageId.slice(messageId.lastIndexOf('.') + 1);
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** Returns the message with its arguments, and the resolution. */
export function eventText({ messageId, messageArgs, message }: ServiceEvent): {
  readonly message: string;
  readonly resolution: string;
} {
  const found = textOf(messageId);
  const text = (found?.text ?? '').replace(/%(\d)/g, (_, index) => messageArgs[Number(index) - 1] ?? '');
  return { message: message ?? text, resolution: found?.resolution ?? 'None.' };
}

const typeOfKey: Readonly<Record<string, EventType>> = {
  ResourceCreated: 'ResourceAdded',
  ResourceRemoved: 'ResourceRemoved',
  ResourceChanged: 'ResourceUpdated',
  ResourcePoweredOn: 'StatusChange',
  ResourcePoweredOff: 'StatusChange',
  ResourcePoweringOff: 'StatusChange',
  ResourcePaused: 'StatusChange',
  ResourceStateChanged: 'StatusChange',
};

/** Returns the event type, for clients older than the message registries. */
export function eventTypeOf({ messageId }: ServiceEvent): EventType {
  return typeOfKey[messageId.slice(messageId.lastIndexOf('.') + 1)] ?? 'Alert';
}

/**
 * Cached records as JSON without the opening `{"MemberId":"0"`, because the member id depends on
 * the payload. All subscribers receive the same text.
 */
const cachedRecords = new WeakMap<FeedEvent, string>();

function recordTail(feedEvent: FeedEvent): string {
  const known = cachedRecords.get(feedEvent);
  if (known !== undefined) return known;
  const { event, id } = feedEvent;
  const { message, resolution } = eventText(event);
  const { actor } = event;
  const text = stringify({
    EventType: eventTypeOf(event),
    EventId: event.testId ?? id,
    EventTimestamp: event.time.toISOString(),
    Message: event.detail === undefined ? message : `${message} ${event.detail}`,
    MessageId: event.messageId,
    MessageArgs: event.messageArgs,
    MessageSeverity: event.severity,
    Resolution: resolution,
    ...(event.origin === '' ? {} : { OriginOfCondition: { '@odata.id': event.origin } }),
    ...(actor === null
      ? {}
      : { OriginAddress: originAddress(actor.address), ...(actor.user === null ? {} : { Username: actor.user }) }),
  }).slice(1);
  cachedRecords.set(feedEvent, text);
  return text;
}

/**
 * Returns an IP address as a URI, which DMTF's schemas require. It has no port, because nothing
 * listens at the port of a client.
 */
export function originAddress(address: string): string {
  return `http://${urlHost(address)}`;
}

/**
 * Renders the payload for the given events.
 * @param context the subscriber's context.
 */
export function renderEvents(events: readonly FeedEvent[], context: string | null): string {
  const records = events.map((event, index) => `{"MemberId":"${index}",${recordTail(event)}`);
  const head = stringify({
    '@odata.type': '#Event.v1_13_0.Event',
    Id: events.at(-1)?.id ?? '0',
    Name: 'Event',
    ...(context === null ? {} : { Context: context }),
    'Events@odata.count': events.length,
  });
  return `${head.slice(0, -1)},"Events":[${records.join(',')}]}`;
}
