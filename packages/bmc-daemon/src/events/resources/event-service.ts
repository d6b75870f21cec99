/** The event service: subscription options, test events, and the event stream. */
import { z } from 'zod';
import { eventRegistryPrefixes, hasText } from '../event-record.js';
import { parseStreamFilter, streamFilterProperties, type StreamSelection } from '../stream-filter.js';
import { eventFormats, eventTypes } from '../event-filter.js';
import { isDriverError } from '../../drivers/driver-error.js';
import { RedfishError } from '../../redfish/messages/errors.js';
import { message, sentence, withDetail } from '../../redfish/messages/messages.js';
import { FilterSyntaxError } from '../../redfish/query/filter.js';
import type { JsonObject } from '../../redfish/resource.js';
import { streamDefiner } from '../../redfish/stream.js';
import { reference } from '../../resources/reference.js';
import { withUuids } from './machine-uris.js';
import { defineResource, type Services } from './services.js';
import { enabled } from '../../resources/status.js';

const streamUri = '/redfish/v1/EventService/SSE';

const severities = ['OK', 'Warning', 'Critical'] as const;

/** Parameters of SubmitTestEvent, including the deprecated parameters that sushy sends. */
const testEventBody = z.strictObject({
  MessageId: z.string().regex(/^[A-Za-z]\w*(?:\.\d+)*\.\w+$/),
  EventGroupId: z.number().int().optional(),
  EventId: z.string().max(200).optional(),
  EventTimestamp: z.iso.datetime({ offset: true }).optional(),
  EventType: z.string().max(100).optional(),
  Message: z.string().max(2_000).optional(),
  MessageArgs: z.array(z.string().max(500)).max(20).optional(),
  MessageSeverity: z.enum(severities).optional(),
  OriginOfCondition: z.string().startsWith('/redfish/v1').max(500).optional(),
  Severity: z.enum(severities).optional(),
});

const eventService = defineResource({
  entity: 'EventService',
  odataType: '#EventService.v1_12_0.EventService',
  uri: '/redfish/v1/EventService',
  load: ({ services }) => ({
    ...services.subscriptions.retries,
    types: services.resourceTypes,
    hasReports: services.telemetry !== null,
  }),
  render: ({ attempts, intervalSeconds, types, hasReports }, { self }): JsonObject => ({
    Id: 'EventService',
    Name: 'Event Service',
    ServiceEnabled: true,
    Status: enabled,
    DeliveryRetryAttempts: attempts,
    DeliveryRetryIntervalSeconds: intervalSeconds,
    EventFormatTypes: hasReports ? eventFormats : ['Event'],
    RegistryPrefixes: eventRegistryPrefixes,
    ResourceTypes: types,
    Severities: severities,
    ExcludeMessageId: true,
    ExcludeRegistryPrefix: true,
    OriginResourcesSupported: true,
    SubordinateResourcesSupported: true,
    IncludeOriginOfConditionSupported: false,
    ServerSentEventUri: streamUri,
    SSEFilterPropertiesSupported: {
      ...Object.fromEntries(streamFilterProperties.map((name) => [name, true])),
      // Deprecated: the filter accepts it, but the service does not advertise it.
      EventType: undefined,
      MetricReportDefinition: hasReports,
    },
    Subscriptions: reference(`${self}/Subscriptions`),
  }),
  patch: {
    body: z.strictObject({
      // The service cannot be switched off. Without subscriptions, it sends nothing.
      ServiceEnabled: z.literal(true).optional(),
      DeliveryRetryAttempts: z.number().int().min(0).max(1_000).optional(),
      DeliveryRetryIntervalSeconds: z.number().int().min(1).max(86_400).optional(),
    }),
    apply: async (_entity, { DeliveryRetryAttempts, DeliveryRetryIntervalSeconds }, { services }) => {
      if (DeliveryRetryAttempts === undefined && DeliveryRetryIntervalSeconds === undefined) return undefined;
      await services.subscriptions.setRetries({
        ...(DeliveryRetryAttempts === undefined ? {} : { attempts: DeliveryRetryAttempts }),
        ...(DeliveryRetryIntervalSeconds === undefined ? {} : { intervalSeconds: DeliveryRetryIntervalSeconds }),
      });
      return undefined;
    },
  },
  actions: {
    '#EventService.SubmitTestEvent': {
      body: testEventBody,
      parameters: (): JsonObject => ({
        ...Object.fromEntries(Object.keys(testEventBody.shape).map((name) => [`${name}@Redfish.AllowableValues`, []])),
        'EventType@Redfish.AllowableValues': eventTypes,
        'MessageSeverity@Redfish.AllowableValues': severities,
        'Severity@Redfish.AllowableValues': severities,
      }),
      // Subscribers and the log receive the test event itself, so the action needs no event of its own.
      summary: () => null,
      run: async (_entity, body, { services, requester: { user, address } }) => {
        const origin = await originOf(body.OriginOfCondition ?? '/redfish/v1/EventService', services);
        const text = body.Message ?? (hasText(body.MessageId) ? undefined : 'A client requested this test event.');
        services.events.publish({
          messageId: body.MessageId,
          messageArgs: body.MessageArgs ?? [],
          severity: body.MessageSeverity ?? body.Severity ?? 'OK',
          origin,
          // A test event always belongs to the service, because it must not appear in the log of a
          // machine. A test with ResourceRemoved would even delete the log of a machine.
          system: null,
          actor: { user, address },
          time: body.EventTimestamp === undefined ? services.now() : new Date(body.EventTimestamp),
          ...(text === undefined ? {} : { message: text }),
          ...(body.EventId === undefined ? {} : { testId: body.EventId }),
        });
        return undefined;
      },
    },
  },
});

/**
 * Returns the origin of a test event with the UUID of its machine. A test event must not need the hypervisor, so this
 * function returns the origin unchanged if the lookup fails.
 */
async function originOf(sent: string, services: Services): Promise<string> {
  try {
    const [origin = sent] = await withUuids([sent], message('PropertyValueError', 'OriginOfCondition'), services);
    return origin;
  } catch (error) {
    // Several machines have the name, or the hypervisor does not answer.
    if (error instanceof RedfishError || isDriverError(error, 'unavailable')) return sent;
    throw error;
  }
}

/** Parses `$filter`; null without one. @throws {RedfishError} 400 for a syntax error. */
function filterOf(text: string | null): StreamSelection | null {
  if (text === null) return null;
  try {
    return parseStreamFilter(text);
  } catch (error) {
    if (!(error instanceof FilterSyntaxError)) throw error;
    const fault = message('QueryParameterValueFormatError', text, '$filter');
    throw new RedfishError(400, [withDetail(fault, sentence(error.message))]);
  }
}

/** The stream of Server-Sent Events (DSP0266). */
export const eventStream = streamDefiner<Services>()({
  entity: 'EventService',
  uri: streamUri,
  contentType: 'text/event-stream',
  query: ['$filter'],
  open: async ({ services, requester, peer, headers, query }) => {
    // DSP0266, Server-Sent Events: the end of a session does not end the stream. The stream ends
    // when the account can no longer open it with the same password. Without this check, a client
    // with an old password could read events indefinitely.
    const currentIdentity = services.access?.watchIdentity({ user: requester.user, session: null });
    const [filter = null] = await withUuids(
      query.getAll('$filter'),
      message('QueryParameterValueError', '$filter'),
      services,
    );
    const selection = filterOf(filter);
    const { 'last-event-id': last } = headers;
    return services.subscriptions.openStream({
      selection,
      lastEventId: typeof last === 'string' && last !== '' ? last : undefined,
      actor: { user: requester.user, address: requester.address },
      hasConfigureManager: requester.privileges.has('ConfigureManager'),
      peer,
      isAuthorized: () => currentIdentity === undefined || currentIdentity()?.privileges.has('Login') === true,
    });
  },
});

/** The event service. The stream is {@link eventStream}. */
export const eventServiceResources = [eventService];
