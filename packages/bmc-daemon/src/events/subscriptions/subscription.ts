/** The subscriptions of events: listeners, as they are stored, and open streams. */
import { z } from 'zod';
import { RedfishError } from '../../redfish/messages/errors.js';
import { message, withDetail } from '../../redfish/messages/messages.js';
import { eventFormats, type EventFormat } from '../event-filter.js';
import { deliveryRetryPolicies } from './push-delivery.js';

const strings = z.array(z.string());

/** The filter of a stored listener. */
const wanted = z.object({
  registryPrefixes: strings,
  messageIds: strings,
  excludeRegistryPrefixes: strings,
  excludeMessageIds: strings,
  resourceTypes: strings,
  originResources: strings,
  subordinateResources: z.boolean(),
  severities: z.array(z.enum(['OK', 'Warning', 'Critical'])),
  eventTypes: strings,
});

/** A stored listener. */
const pushRecord = z.object({
  id: z.string(),
  context: z.string().nullable(),
  /** The URL that the client sent. Answers never show a password in it. */
  destination: z.string(),
  httpHeaders: z.record(z.string(), z.string()),
  verifyCertificate: z.boolean(),
  policy: z.enum(deliveryRetryPolicies),
  suspended: z.boolean(),
  /** The user who created the listener; null without accounts. */
  owner: z.string().nullable(),
  /** State files of versions without metric reports lack this property and the next one. */
  format: z.enum(eventFormats).default('Event'),
  /** Canonical URIs; empty: reports of all definitions. */
  reportDefinitions: strings.default([]),
  /**
   * UUID of a machine: the listener receives only its events and reports, and those of the service. Null: all. Old
   * files lack this property.
   */
  machine: z.string().nullable().default(null),
  /** The id of the last event before the subscription. Absent if the listeners are not shared by replicas. */
  after: z.string().exactOptional(),
  wanted,
});
/** A listener as the state file or the shared store has it. */
export type PushRecord = z.infer<typeof pushRecord>;

const stateForm = z.object({
  retryAttempts: z.number().int(),
  retryIntervalSeconds: z.number().int(),
  subscriptions: z.array(pushRecord),
});
/** The retry settings and the listeners, as the state file or the shared store has them. */
export type SubscriptionsState = z.infer<typeof stateForm>;
/** The schema of {@link SubscriptionsState}. It keeps members that a newer version of the daemon has added. */
export const subscriptionsState: z.ZodType<SubscriptionsState> = stateForm
  .extend({ subscriptions: z.array(pushRecord.extend({ wanted: wanted.loose() }).loose()) })
  .loose();

/** The state before the first change, with the default retry settings. */
export const noSubscriptions: SubscriptionsState = { retryAttempts: 3, retryIntervalSeconds: 30, subscriptions: [] };

/** A listener that receives events or metric reports by POST (DSP2046, EventDestination). */
export interface PushSubscription {
  readonly kind: 'push';
  readonly record: PushRecord;
  /** Whether the last payload could not be delivered. */
  readonly failing: boolean;
}

/** An open stream of events (DSP0266, event message delivery by SSE). */
export interface StreamSubscription {
  readonly kind: 'stream';
  readonly id: string;
  /** The client as a URI, such as `redfish-sse://192.0.2.1:40112`. */
  readonly destination: string;
  /** The client's address, without its port. */
  readonly address: string;
  readonly owner: string | null;
  readonly format: EventFormat;
  /** As in a push subscription. */
  readonly machine: string | null;
}

/** A subscription; immutable, a change creates a new object. */
export type Subscription = PushSubscription | StreamSubscription;

/** The properties of a listener that a client may change. */
export type PushChange = Partial<Pick<PushRecord, 'context' | 'httpHeaders' | 'verifyCertificate' | 'policy'>>;

/** A new listener. Without `machine`, it receives the events of all machines. */
export type NewSubscription = Omit<PushRecord, 'id' | 'suspended' | 'machine' | 'after'> &
  Partial<Pick<PushRecord, 'machine'>>;

/** Returns the URI of a subscription. */
export const subscriptionUri = (id: string): string => `/redfish/v1/EventService/Subscriptions/${id}`;

/**
 * Maximum length of the JSON of a subscription, in characters. A change of one subscription writes
 * all of them before the answer. 200 subscriptions of this size take some milliseconds; 200
 * subscriptions of 1 MiB took seconds.
 */
const MAX_RECORD_LENGTH = 16 * 1024;

/** Rejects a subscription that is too long. @throws {RedfishError} PayloadTooLarge. */
export function checkSize(record: NewSubscription): void {
  if (JSON.stringify(record).length <= MAX_RECORD_LENGTH) return;
  const detail = `A subscription has ${MAX_RECORD_LENGTH} characters of JSON at most.`;
  throw new RedfishError(413, [withDetail(message('PayloadTooLarge'), detail)]);
}
