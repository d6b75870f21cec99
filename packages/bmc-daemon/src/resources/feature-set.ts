/**
 * EMULATOR_FEATURE_SET: a subset of the resources, without links to resources outside the subset.
 */
import { isArray, isObject, type Json, type JsonObject } from '../redfish/json.js';
import type { Resource } from '../redfish/resource.js';
import { createRouter } from '../redfish/router.js';

/**
 * `minimum`: systems, tasks, sessions and accounts; `vmedia`: also managers, virtual media, certificates and
 * Ethernet interfaces; `full`: everything. The names are those of sushy-tools.
 */
export const featureSets = ['full', 'vmedia', 'minimum'] as const;

/** One of {@link featureSets}. */
export type FeatureSet = (typeof featureSets)[number];

const MINIMUM = [
  'ServiceRoot',
  'ComputerSystemCollection',
  'ComputerSystem',
  // The protocol needs sessions, tasks for long actions, and accounts for password changes.
  'TaskService',
  'TaskCollection',
  'Task',
  'SessionService',
  'SessionCollection',
  'Session',
  'AccountService',
  'ManagerAccountCollection',
  'ManagerAccount',
  'RoleCollection',
  'Role',
] as const;

const ENTITIES: Readonly<Record<Exclude<FeatureSet, 'full'>, ReadonlySet<string>>> = {
  minimum: new Set(MINIMUM),
  vmedia: new Set([
    ...MINIMUM,
    'ManagerCollection',
    'Manager',
    'VirtualMediaCollection',
    'VirtualMedia',
    'CertificateCollection',
    'Certificate',
    'EthernetInterfaceCollection',
    'EthernetInterface',
  ]),
};

/** Returns the resources of a feature set in their original order. */
export function selectFeatures<Services>(
  resources: readonly Resource<Services>[],
  featureSet: FeatureSet,
): readonly Resource<Services>[] {
  if (featureSet === 'full') return resources;
  const entities = ENTITIES[featureSet];
  const selected = resources.filter(({ entity }) => entities.has(entity));
  const router = createRouter(
    selected.flatMap(({ uri, aliases = [] }) => [uri, ...aliases].map((template) => ({ template, target: null }))),
  );
  const isServed = (path: string) => router.match(path.replace(/#.*$/, '')) !== undefined;
  return selected.map((resource) => ({
    ...resource,
    // The pipeline caches rendered entities, so pruning runs once for each change of an entity.
    render: (...args) => prune(resource.render(...args), isServed),
  }));
}

/** Returns the object without dead links, and without lists that contained only dead links. */
function prune(object: JsonObject, isServed: (path: string) => boolean): JsonObject {
  const pruned = Object.entries(object).map(([name, value]): [string, Json | undefined] => [
    name,
    pruneValue(value, isServed),
  ]);
  const byName = new Map(pruned);
  return Object.fromEntries(
    pruned.flatMap(([name, value]) => {
      const list = /^(.+)@odata\.count$/.exec(name)?.[1];
      if (list === undefined || !byName.has(list)) return value === undefined ? [] : [[name, value]];
      // Removes or updates the count together with its list.
      const items = byName.get(list);
      return isArray(items) ? [[name, items.length]] : [];
    }),
  );
}

/** Returns the value without dead links; undefined for a dead link, and for a list that contains only dead links. */
function pruneValue(value: Json | undefined, isServed: (path: string) => boolean): Json | undefined {
  if (isDead(value, isServed)) return undefined;
  if (isObject(value)) return prune(value, isServed);
  if (!isArray(value)) return value;
  const items = value.map((item) => pruneValue(item, isServed)).filter((item) => item !== undefined);
  return items.length === 0 && value.length > 0 ? undefined : items;
}

/** Returns whether the value is only a link, and its URI belongs to no resource of the feature set. */
function isDead(value: Json | undefined, isServed: (path: string) => boolean): boolean {
  if (!isObject(value)) return false;
  const { '@odata.id': path, ...rest } = value;
  return typeof path === 'string' && Object.keys(rest).length === 0 && !isServed(path);
}
