/**
 * The one place for EMULATOR_DMTF_STRICT. Off, the service is as its specification has it, on, as DMTF's validators want it;
 * resources render the DMTF form and know nothing of the switch.
 */
import { isArray, isObject, type Json, type JsonObject } from './json.js';

/** How all resources are finished. */
export interface AnnotateOptions {
  /** EMULATOR_DMTF_STRICT. */
  readonly strict: boolean;
  /** The address that has taken the place of a deprecated one, or the same. Default: there are none. */
  readonly currentUri?: ((uri: string) => string) | undefined;
}

const copyright = 'Copyright DMTF. The policy of the schemas: https://www.dmtf.org/about/policies/copyright';

/**
 * What the specification or clients of its time want and DMTF calls deprecated, by entity; below an object after a dot. What
 * a profile asks for is not among it: Power and Thermal of a chassis (OCP), IndicatorLED of a system (Ironic).
 */
const deprecated: ReadonlyMap<string, readonly string[]> = new Map([
  ['Chassis', ['IndicatorLED']],
  ['ComputerSystem', ['MemorySummary.Status', 'ProcessorSummary.Status']],
  ['Drive', ['IndicatorLED']],
]);

/** What is sent for a rendered resource: in strict mode without what is deprecated, otherwise with what the specification adds. */
export function annotate(resource: JsonObject, entity: string, options: AnnotateOptions): JsonObject {
  const { strict, currentUri } = options;
  if (strict) {
    const rest = (deprecated.get(entity) ?? []).reduce(without, resource);
    return currentUri === undefined ? rest : relinked(rest, currentUri);
  }
  const specified = withHealthRollUp(resource);
  switch (entity) {
    case 'Manager':
      return { ...specified, ...asSpecified(resource), '@Redfish.Copyright': copyright };
    case 'MessageRegistryFile':
      return { ...specified, ...withSeverity(resource), '@Redfish.Copyright': copyright };
    default:
      return { ...specified, '@Redfish.Copyright': copyright };
  }
}

/**
 * Links to the address that has taken the place of a deprecated one. The resource's own `@odata.id` stays: a client that asks at
 * the old address is answered there.
 */
function relinked(resource: JsonObject, currentUri: (uri: string) => string): JsonObject {
  const linksOf = (object: JsonObject): JsonObject =>
    withMembers(object, (name, value) =>
      name === '@odata.id' && typeof value === 'string' ? currentUri(value) : below(value, linksOf),
    );
  return withMembers(resource, (name, value) => (name === '@odata.id' ? value : below(value, linksOf)));
}

const writeable = '@Redfish.WriteableProperties';

/** Without a property, and without its name among those that can be written. The same object where it has no such property. */
function without(resource: JsonObject, path: string): JsonObject {
  const [name = '', ...below] = path.split('.');
  const value = resource[name];
  if (value === undefined) return resource;
  if (below.length > 0) return isObject(value) ? { ...resource, [name]: without(value, below.join('.')) } : resource;
  const others = Object.fromEntries(Object.entries(resource).filter(([other]) => other !== name));
  const names = others[writeable];
  return isArray(names) ? { ...others, [writeable]: names.filter((other) => other !== name) } : others;
}

/**
 * Of a manager: the specification has null where DMTF's protocol validator needs the service root's UUID, and an empty list although
 * the chassis says who manages it.
 */
function asSpecified({ Links: links }: JsonObject): JsonObject {
  return {
    ServiceEntryPointUUID: null,
    ...(isObject(links) ? { Links: { ...links, ManagerForChassis: [], 'ManagerForChassis@odata.count': 0 } } : {}),
  };
}

/** `Severity`, which DMTF calls deprecated, in each message of a registry: sushy 4 warns of every message that is without. */
function withSeverity({ Messages: messages }: JsonObject): JsonObject {
  if (!isObject(messages)) return {};
  const both = Object.entries(messages).map(([key, entry]): [string, Json | undefined] => [
    key,
    isObject(entry) ? { ...entry, Severity: entry['MessageSeverity'] } : entry,
  ]);
  return { Messages: Object.fromEntries(both) };
}

/** `HealthRollUp`, the specification's spelling, beside DMTF's `HealthRollup` in every Status. */
function withHealthRollUp(object: JsonObject): JsonObject {
  const inside = withMembers(object, (_name, value) => below(value, withHealthRollUp));
  if (!('HealthRollup' in inside)) return inside;
  const both: Record<string, Json | undefined> = {};
  for (const [name, value] of Object.entries(inside)) {
    both[name] = value;
    if (name === 'HealthRollup') both['HealthRollUp'] = value;
  }
  return both;
}

/**
 * The object with other members, or the same object where `change` changes none: every render passes here, and most objects stay
 * as they are.
 */
function withMembers(object: JsonObject, change: (name: string, value: Json) => Json): JsonObject {
  let copy: Record<string, Json | undefined> | undefined;
  for (const name of Object.keys(object)) {
    const value = object[name];
    if (value === undefined) continue;
    const next = change(name, value);
    if (next !== value) (copy ??= { ...object })[name] = next;
  }
  return copy ?? object;
}

/** Applies `change` to an object, and to the objects of an array at any depth. Everything else stays. */
function below(value: Json, change: (object: JsonObject) => JsonObject): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (!isArray(value)) return change(value);
  let copy: Json[] | undefined;
  for (const [index, item] of value.entries()) {
    const next = below(item, change);
    if (next !== item) (copy ??= [...value])[index] = next;
  }
  return copy ?? value;
}
