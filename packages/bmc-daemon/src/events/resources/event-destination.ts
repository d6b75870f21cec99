/** Event subscriptions: destinations of clients, and open event streams. */
import { withoutTrailingSlashes } from '@rackless/daemon/text/trailing-slashes.js';
import { z } from 'zod';
import { redfishError } from '../../redfish/messages/errors.js';
import { message, withPointers } from '../../redfish/messages/messages.js';
import type { ResourceRequest } from '../../redfish/resource.js';
import { renderCollection } from '../../resources/reference.js';
import { subscriptionUri, type Subscription } from '../subscriptions/subscription.js';
import { withUuids } from './machine-uris.js';
import { defineResource, type Services } from './services.js';
import { canonicalDefinitions } from './subscribed-reports.js';
import { changeable, formatOf, newSubscription } from './subscription-body.js';
import { withMaskedDestination, renderPush, renderStream } from './subscription-rendering.js';

const canonical = (link: { readonly '@odata.id': string }): string => withoutTrailingSlashes(link['@odata.id']);

const originFault = withPointers(message('PropertyValueError', 'OriginResources'), '#/OriginResources');

function findSubscription(services: Services, id: string): Subscription {
  const found = services.subscriptions.find(id);
  if (found === undefined) throw redfishError('ResourceNotFound', 'EventDestination', id);
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
    // Does not contact the destination, because a listener may start after its subscription.
    run: async (_list, body, { services, requester }) => {
      const format = formatOf(body, services);
      const definitionUris = (body.MetricReportDefinitions ?? []).map((link) => link['@odata.id']);
      const reportDefinitions = await canonicalDefinitions(services, definitionUris);
      const originResources = await withUuids((body.OriginResources ?? []).map(canonical), originFault, services);
      const requested = {
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
          originResources,
          subordinateResources: body.SubordinateResources ?? false,
          severities: body.Severities ?? [],
          eventTypes: body.EventTypes ?? [],
        },
      } as const;
      const hasConfigureManager = requester.privileges.has('ConfigureManager');
      const { record } = await services.subscriptions.create(requested, { hasConfigureManager });
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

const subscription = defineResource({
  entity: 'EventDestination',
  odataType: '#EventDestination.v1_16_0.EventDestination',
  uri: '/redfish/v1/EventService/Subscriptions/{subscriptionId}',
  isOwn,
  load: (request) => {
    const found = findSubscription(request.services, request.params.subscriptionId);
    const isConfigurable = request.requester.privileges.has('ConfigureManager') || isOwn(request);
    return found.kind === 'push' && !isConfigurable ? withMaskedDestination(found) : found;
  },
  render: (entity) => (entity.kind === 'push' ? renderPush(entity) : renderStream(entity)),
  patch: {
    body: z.strictObject(changeable),
    apply: async (entity, body, { services }) => {
      // A stream has no changeable properties and ends with its client.
      if (entity.kind === 'stream') throw redfishError('ResourceInUse');
      await services.subscriptions.change(entity.record.id, {
        ...(body.Context === undefined ? {} : { context: body.Context }),
        ...(body.DeliveryRetryPolicy === undefined ? {} : { policy: body.DeliveryRetryPolicy }),
        ...(body.HttpHeaders === undefined ? {} : { httpHeaders: body.HttpHeaders }),
        ...(body.VerifyCertificate === undefined ? {} : { verifyCertificate: body.VerifyCertificate }),
      });
      return undefined;
    },
  },
  delete: async (entity, { services }) => {
    await services.subscriptions.remove(idOf(entity));
    return undefined;
  },
  actions: {
    '#EventDestination.SuspendSubscription': {
      body: z.strictObject({}),
      bodyOptional: true,
      available: ({ kind }) => kind === 'push',
      run: async (entity, _body, { services }) => {
        await services.subscriptions.suspend(idOf(entity));
        return undefined;
      },
    },
    '#EventDestination.ResumeSubscription': {
      body: z.strictObject({}),
      bodyOptional: true,
      available: ({ kind }) => kind === 'push',
      run: async (entity, _body, { services }) => {
        await services.subscriptions.resume(idOf(entity));
        return undefined;
      },
    },
  },
});

function idOf(entity: Subscription): string {
  return entity.kind === 'push' ? entity.record.id : entity.id;
}

/** The collection of subscriptions and its members. */
export const eventDestinationResources = [subscriptions, subscription];
