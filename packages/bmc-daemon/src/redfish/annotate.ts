/**
 * The one place for EMULATOR_DMTF_STRICT. Off, the service is as its specification has it, on, as DMTF's validators want it;
 * resources render the DMTF form and know nothing of the switch (B2).
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
  return {
    ...withHealthRollUp(resource),
    ...(entity === 'Manager' ? asSpecified(resource) : {}),
    ...(entity === 'MessageRegistryFile' ? withSeverity(resource) : {}),
    '@Redfish.Copyright': copyright,
  };
}

/** Whatever it links to at a deprecated address at the one that has taken its place. Who still asks at the old one is answered. */
function relinked({ '@odata.id': own, ...resource }: JsonObject, currentUri: (uri: string) => string): JsonObject {
  const descendInto = (value: Json | undefined): Json | undefined => {
    if (isArray(value)) return value.map((item) => descendInto(item) ?? null);
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        name === '@odata.id' && typeof member === 'string' ? currentUri(member) : descendInto(member),
      ]),
    );
  };
  const links = descendInto(resource);
  return { ...(own === undefined ? {} : { '@odata.id': own }), ...(isObject(links) ? links : {}) };
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
  return Object.fromEntries(
    Object.entries(object).flatMap(([name, value]): [string, Json | undefined][] =>
      name === 'HealthRollup'
        ? [
            [name, value],
            ['HealthRollUp', value],
          ]
        : [[name, value === undefined ? undefined : descend(value)]],
    ),
  );
}

function descend(value: Json): Json {
  if (isArray(value)) return value.map(descend);
  return isObject(value) ? withHealthRollUp(value) : value;
}
