/** The types of the served resources. */
import type { Resource } from '../redfish/resource.js';
import { createRouter } from '../redfish/router.js';

/** Types by URI, and the list of the types that subscriptions can name. */
interface ResourceTypes {
  /** Returns the type of a URI, for example `ComputerSystem`; empty for an unknown URI. */
  readonly at: (uri: string) => string;
  /** All types except collections, sorted. Subscriptions can filter by them. */
  readonly all: readonly string[];
}

/** Resources with their URIs and types. */
export type TypedResources = readonly Pick<Resource<unknown>, 'uri' | 'aliases' | 'odataType'>[];

/** Derives the types from a list of resources. */
export function resourceTypesOf(resources: TypedResources): ResourceTypes {
  const typeOf = ({ odataType }: TypedResources[number]): string => odataType.slice(odataType.lastIndexOf('.') + 1);
  const router = createRouter(
    resources.flatMap((resource) =>
      [resource.uri, ...(resource.aliases ?? [])].map((template) => ({ template, target: typeOf(resource) })),
    ),
  );
  const all = new Set(resources.map(typeOf).filter((type) => !type.endsWith('Collection')));
  return { at: (uri) => router.match(uri)?.target ?? '', all: [...all].toSorted() };
}
