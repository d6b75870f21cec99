/**
 * Makes the body that EMULATOR_DMTF_STRICT selects. Resources render the same body for both values,
 * so no resource reads the setting.
 * - Strict: the body that DMTF's validators accept, without deprecated properties and links.
 * - Not strict (default): the body with the properties that rows RF-15, RF-23, RF-46 and RF-49 of
 *   docs/reference/contract.md require, and with `Severity` for sushy 4.
 */
import { isArray, isObject, type Json, type JsonObject } from './json.js';

/** Options that apply to every resource. */
export interface AnnotateOptions {
  /** The value of EMULATOR_DMTF_STRICT. */
  readonly strict: boolean;
  /**
   * Returns the URI that replaces a deprecated one, or the same URI. Called only in strict mode.
   * Default: no URI is replaced.
   */
  readonly currentUri?: ((uri: string) => string) | undefined;
}

const copyright = 'Copyright DMTF. The policy of the schemas: https://www.dmtf.org/about/policies/copyright';

/**
 * Deprecated properties that strict mode removes, by entity; a dot separates nested names. Strict mode
 * does not remove the deprecated properties that a DMTF profile requires: Power and Thermal of a chassis
 * (the profiles of the Open Compute Project), IndicatorLED of a system (the profile of Ironic).
 */
const deprecated: ReadonlyMap<string, readonly string[]> = new Map([
  ['Chassis', ['IndicatorLED']],
  ['ComputerSystem', ['MemorySummary.Status', 'ProcessorSummary.Status']],
  ['Drive', ['IndicatorLED']],
]);

/**
 * Returns the body to send. In strict mode, this is the body without the properties in the table
 * {@link deprecated}, and with links to current URIs. Otherwise, it is the body with the properties
 * that the contract adds.
 */
export function annotate(resource: JsonObject, entity: string, options: AnnotateOptions): JsonObject {
  const { strict, currentUri } = options;
  if (strict) {
    const withoutDeprecated = (deprecated.get(entity) ?? []).reduce(withoutProperty, resource);
    return currentUri === undefined ? withoutDeprecated : relinked(withoutDeprecated, currentUri);
  }
  const extended = withHealthRollUp(resource);
  switch (entity) {
    case 'Manager':
      return { ...extended, ...managerByContract(resource), '@Redfish.Copyright': copyright };
    case 'MessageRegistryFile':
      return { ...extended, ...withSeverity(resource), '@Redfish.Copyright': copyright };
    default:
      return { ...extended, '@Redfish.Copyright': copyright };
  }
}

/**
 * Replaces links to deprecated URIs by links to the current ones. Keeps the resource's own
 * `@odata.id`, because the service still answers at that URI.
 */
function relinked(resource: JsonObject, currentUri: (uri: string) => string): JsonObject {
  const linksOf = (object: JsonObject): JsonObject =>
    withMembers(object, (name, value) =>
      name === '@odata.id' && typeof value === 'string' ? currentUri(value) : mapObjects(value, linksOf),
    );
  return withMembers(resource, (name, value) => (name === '@odata.id' ? value : mapObjects(value, linksOf)));
}

const writeable = '@Redfish.WriteableProperties';

/**
 * Returns the resource without a property, and without the name of the property in the
 * `@Redfish.WriteableProperties` of the same object.
 */
function withoutProperty(resource: JsonObject, path: string): JsonObject {
  const [name = '', ...innerNames] = path.split('.');
  const value = resource[name];
  if (value === undefined) return resource;
  if (innerNames.length > 0)
    return isObject(value) ? { ...resource, [name]: withoutProperty(value, innerNames.join('.')) } : resource;
  const otherMembers = Object.fromEntries(Object.entries(resource).filter(([other]) => other !== name));
  const names = otherMembers[writeable];
  return isArray(names) ? { ...otherMembers, [writeable]: names.filter((other) => other !== name) } : otherMembers;
}

/**
 * Returns the properties of a manager that rows RF-46 and RF-49 of the contract require: an empty
 * list of chassis, and a null UUID. In strict mode, the UUID stays that of the service root,
 * because DMTF's protocol validator accepts no other value.
 */
function managerByContract({ Links: links }: JsonObject): JsonObject {
  return {
    ServiceEntryPointUUID: null,
    ...(isObject(links) ? { Links: { ...links, ManagerForChassis: [], 'ManagerForChassis@odata.count': 0 } } : {}),
  };
}

/**
 * Returns the messages of a registry, each with `Severity`; an empty object if the body has no messages.
 * DMTF has deprecated `Severity`, but sushy 4 logs a warning for each message without it.
 */
function withSeverity({ Messages: messages }: JsonObject): JsonObject {
  if (!isObject(messages)) return {};
  const withSeverities = Object.entries(messages).map(([key, entry]): [string, Json | undefined] => [
    key,
    isObject(entry) ? { ...entry, Severity: entry['MessageSeverity'] } : entry,
  ]);
  return { Messages: Object.fromEntries(withSeverities) };
}

/**
 * Adds `HealthRollUp`, the spelling of row RF-23 of the contract, after each `HealthRollup`, DMTF's
 * spelling, at any depth.
 */
function withHealthRollUp(object: JsonObject): JsonObject {
  const inside = withMembers(object, (_name, value) => mapObjects(value, withHealthRollUp));
  if (!('HealthRollup' in inside)) return inside;
  const withBothSpellings: Record<string, Json | undefined> = {};
  for (const [name, value] of Object.entries(inside)) {
    withBothSpellings[name] = value;
    if (name === 'HealthRollup') withBothSpellings['HealthRollUp'] = value;
  }
  return withBothSpellings;
}

/**
 * Changes the members of an object. Returns the same object if `change` changes none: every render
 * calls this function, and most objects do not change.
 */
function withMembers(object: JsonObject, change: (name: string, value: Json) => Json): JsonObject {
  let copy: Record<string, Json | undefined> | undefined;
  for (const name of Object.keys(object)) {
    const value = object[name];
    if (value === undefined) continue;
    const changedValue = change(name, value);
    if (changedValue !== value) (copy ??= { ...object })[name] = changedValue;
  }
  return copy ?? object;
}

/**
 * Applies `change` to an object, or to the objects of an array at any depth. Returns any other
 * value unchanged.
 */
function mapObjects(value: Json, change: (object: JsonObject) => JsonObject): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (!isArray(value)) return change(value);
  let copy: Json[] | undefined;
  for (const [index, item] of value.entries()) {
    const changedValue = mapObjects(item, change);
    if (changedValue !== item) (copy ??= [...value])[index] = changedValue;
  }
  return copy ?? value;
}
