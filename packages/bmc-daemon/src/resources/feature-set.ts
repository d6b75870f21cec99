/** EMULATOR_FEATURE_SET: part of the resources, each without the links that would lead nowhere. */
import { isArray, isObject, type Json, type JsonObject } from '../redfish/json.js';
import type { Resource } from '../redfish/resource.js';
import { createRouter } from '../redfish/router.js';

/** `minimum`: Systems; `vmedia`: also Managers, virtual media and Ethernet interfaces; `full`: everything. */
export type FeatureSet = 'full' | 'vmedia' | 'minimum';

const MINIMUM = [
  'ServiceRoot',
  'ComputerSystemCollection',
  'ComputerSystem',
  // What the protocol itself leans on: tasks of long actions, sessions, and the accounts where a password is changed.
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

/** The resources of a feature set. Their order stays. */
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
    // The pipeline keeps what is rendered of an entity, so this costs once a change and not once a request.
    render: (...args) => prune(resource.render(...args), isServed),
  }));
}

/** The object without links that lead nowhere, and without lists that held nothing else. */
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
      // The count of a list goes with the list.
      const items = byName.get(list);
      return isArray(items) ? [[name, items.length]] : [];
    }),
  );
}

/** undefined: there is nothing left of it. */
function pruneValue(value: Json | undefined, isServed: (path: string) => boolean): Json | undefined {
  if (isDead(value, isServed)) return undefined;
  if (isObject(value)) return prune(value, isServed);
  if (!isArray(value)) return value;
  const items = value.map((item) => pruneValue(item, isServed)).filter((item) => item !== undefined);
  return items.length === 0 && value.length > 0 ? undefined : items;
}

function isDead(value: Json | undefined, isServed: (path: string) => boolean): boolean {
  if (!isObject(value)) return false;
  const { '@odata.id': path, ...rest } = value;
  return typeof path === 'string' && Object.keys(rest).length === 0 && !isServed(path);
}
