/** An event as clients read it: the member of an Event's `Events`, made once for all who get it. */
import { isIPv6 } from 'node:net';
import { baseRegistry, messageTable } from '../redfish/base-registry.js';
import { stringify } from '../redfish/answer.js';
import { resourceEventRegistry, resourceEventTable } from '../redfish/resource-event-registry.js';
import { taskEventRegistry, taskEventTable } from '../redfish/task-event-registry.js';
import type { ServiceEvent } from './event-bus.js';

/** An event in its place in the sequence. */
export interface FeedEvent {
  /** From 1 on, without a gap, since the service has started. */
  readonly sequence: number;
  /** Unique over restarts, too: `EventId`, and the `id` of a stream. */
  readonly id: string;
  readonly event: ServiceEvent;
  /** `ResourceEvent`. */
  readonly registryPrefix: string;
  /** `ResourceEvent.ResourceChanged`: without the version, as subscriptions are to be matched. */
  readonly versionlessId: string;
  /** Of the resource that it is about: `ComputerSystem`; empty for one that is not known. */
  readonly resourceType: string;
}

/** `EventType` of the schema, which is deprecated and required all the same. */
export type EventType = 'StatusChange' | 'ResourceUpdated' | 'ResourceAdded' | 'ResourceRemoved' | 'Alert';

interface Text {
  readonly text: string;
  readonly resolution: string;
}

const registries: Readonly<Record<string, Readonly<Record<string, Text>>>> = {
  [resourceEventRegistry]: resourceEventTable,
  [taskEventRegistry]: taskEventTable,
  [baseRegistry]: messageTable,
};

/** Prefixes of the registries whose messages are sent as events. */
export const eventRegistryPrefixes = [resourceEventRegistry, taskEventRegistry, baseRegistry].map(prefixOf);

/** `ResourceEvent` of `ResourceEvent.1.4.ResourceChanged`. */
export function prefixOf(messageId: string): string {
  return messageId.split('.', 1)[0] ?? '';
}

/** `ResourceEvent.ResourceChanged`, whatever version stands in between. */
export function withoutVersion(messageId: string): string {
  return messageId.replace(/(?:\.\d+)+(?=\.)/, '');
}

/** What the message says, its arguments in place, and what is to be done. */
export function eventText({ messageId, messageArgs, message }: ServiceEvent): {
  readonly message: string;
  readonly resolution: string;
} {
  const end = messageId.lastIndexOf('.');
  const table = registries[messageId.slice(0, Math.max(0, end))] ?? {};
  const found = Object.hasOwn(table, messageId.slice(end + 1)) ? table[messageId.slice(end + 1)] : undefined;
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

/** The kind of event that clients of before the message registries know it by. */
export function eventTypeOf({ messageId }: ServiceEvent): EventType {
  return typeOfKey[messageId.slice(messageId.lastIndexOf('.') + 1)] ?? 'Alert';
}

/**
 * The record as JSON, but for its opening `{"MemberId":"0"`: the place of a record is that of the payload that it is in.
 * Kept for as long as the event, as every subscriber gets the same.
 */
const kept = new WeakMap<FeedEvent, string>();

function recordTail(feedEvent: FeedEvent): string {
  const known = kept.get(feedEvent);
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
  kept.set(feedEvent, text);
  return text;
}

/** An IP address as DMTF's schemas want it, with a scheme: whichever, for the port is not the client's to be called at. */
export function originAddress(address: string): string {
  return `http://${isIPv6(address) ? `[${address}]` : address}`;
}

/**
 * The payload that carries these events.
 * @param context the subscriber's own.
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
