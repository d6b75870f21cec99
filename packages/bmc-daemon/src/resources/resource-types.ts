/** What type of resource is at a URI, and which types there are: worked out from what is served. */
import type { Resource } from '../redfish/resource.js';
import { createRouter } from '../redfish/router.js';

export interface ResourceTypes {
  /** `ComputerSystem` of `#ComputerSystem.v1_27_0.ComputerSystem`; empty where nothing is served. */
  readonly at: (uri: string) => string;
  /** Sorted, without collections: what a subscription may be restricted to. */
  readonly all: readonly string[];
}

/** Works it out once for a list of resources. */
export function resourceTypesOf<Services>(resources: readonly Resource<Services>[]): ResourceTypes {
  const typeOf = ({ odataType }: Resource<Services>): string => odataType.slice(odataType.lastIndexOf('.') + 1);
  const router = createRouter(
    resources.flatMap((resource) =>
      [resource.uri, ...(resource.aliases ?? [])].map((template) => ({ template, target: typeOf(resource) })),
    ),
  );
  const all = new Set(resources.map(typeOf).filter((type) => !type.endsWith('Collection')));
  return { at: (uri) => router.match(uri)?.target ?? '', all: [...all].toSorted() };
}
