/**
 * The list of features. To remove a feature, delete its folder, its import and its entry; a test
 * does this for each.
 */
import { accounts } from './auth/feature.js';
import { certificates } from './certificates/feature.js';
import { consoles } from './console/feature.js';
import type { HypervisorDriver } from './drivers/driver.js';
import { events } from './events/feature.js';
import type { Feature } from './feature.js';
import { managerNetwork } from './manager-network/feature.js';
import type { Resource } from './redfish/resource.js';
import type { StreamDefinition } from './redfish/stream.js';
import type { WebSocketDefinition } from './redfish/web-socket.js';
import { coreResources, coreResourcesOf } from './resources/index.js';
import { jsonSchemaResources } from './resources/service/json-schema.js';
import type { ServicesWith } from './resources/services.js';
import { screens } from './display/feature.js';
import { discovery } from './ssdp/feature.js';
import { telemetry } from './telemetry/feature.js';

/**
 * The features in the order of their start. A feature can use the services of those above it while
 * it opens.
 */
const features = [
  // Events and consoles use `access`.
  accounts,
  certificates,
  // Events use `telemetry`.
  telemetry,
  events,
  // Consoles come before the manager network, so that recording starts first: each address of a
  // manager can take a second.
  consoles,
  screens,
  managerNetwork,
  discovery,
] as const;

type ServicesOf<One> = One extends Feature<infer Own> ? Own : never;
type Intersection<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** The services of the daemon and of all features. */
export type AllServices = ServicesWith<Intersection<ServicesOf<(typeof features)[number]>>>;

/** Returns the features that a driver supports. */
export function featuresOf(driver: HypervisorDriver) {
  return features.filter(({ resourcesOf: supported }) => supported?.(driver).length !== 0);
}

/** Returns the resources for a driver, with the schemas of all their types. */
export function resourcesOf(driver: HypervisorDriver): readonly Resource<AllServices>[] {
  const own = features.flatMap(
    (feature): readonly Resource<AllServices>[] => feature.resourcesOf?.(driver) ?? feature.resources,
  );
  return withSchemas([...coreResourcesOf(driver), ...own]);
}

/** All resources that the daemon can serve. */
export const resources = withSchemas([
  ...coreResources,
  ...features.flatMap((feature): readonly Resource<AllServices>[] => feature.resources),
]);

function withSchemas(some: readonly Resource<AllServices>[]): readonly Resource<AllServices>[] {
  return [...some, ...jsonSchemaResources(some)];
}

/** The URIs that answer with a stream. */
export const streams: readonly StreamDefinition<AllServices>[] = features.flatMap(
  (feature): readonly StreamDefinition<AllServices>[] => feature.streams ?? [],
);

/** The URIs that answer with a WebSocket. */
export const webSockets: readonly WebSocketDefinition<AllServices>[] = features.flatMap(
  (feature): readonly WebSocketDefinition<AllServices>[] => feature.webSockets ?? [],
);
