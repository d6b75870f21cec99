/**
 * The one place for EMULATOR_DMTF_STRICT. Off, the service is as its specification has it, on, as DMTF's validators want it;
 * resources render the DMTF form and know nothing of the switch (B2).
 */
import { isArray, isObject, type Json, type JsonObject } from './json.js';

export interface AnnotateOptions {
  readonly strict: boolean;
}

const copyright = 'Copyright DMTF. The policy of the schemas: https://www.dmtf.org/about/policies/copyright';

/** What is sent for a rendered resource: in strict mode the same, otherwise with what the specification adds. */
export function annotate(resource: JsonObject, entity: string, { strict }: AnnotateOptions): JsonObject {
  if (strict) return resource;
  return {
    ...withHealthRollUp(resource),
    ...(entity === 'Manager' ? asSpecified(resource) : {}),
    '@Redfish.Copyright': copyright,
  };
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
