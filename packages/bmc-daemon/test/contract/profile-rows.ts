/**
 * Checks a service against the rows of an interoperability profile (DSP0272). A row is a
 * requirement on one type of resource: a property, an action, or a version.
 */
import type { Body, Crawled } from './crawler.js';

/** A requirement of a profile on one type of resource. Members from `writable` to `creates` say what must be true. */
export interface ProfileRow {
  /** The type of the resource, such as `ComputerSystem`. */
  readonly type: string;
  /** Prefix of the paths of the resources, such as `/redfish/v1/Managers/`. Default: all resources. */
  readonly below?: string;
  /**
   * Path of a property, such as `Boot/BootSourceOverrideTarget`. It continues in each item of a list.
   * Default: the row is about the resource itself.
   */
  readonly at?: string;
  /** The Allow header contains PATCH, and the writable properties contain the property. */
  readonly writable?: boolean;
  /** The advertised allowable values contain these. */
  readonly supports?: readonly string[];
  /** The value, or at least one value of a list, is one of these. */
  readonly anyOf?: readonly string[];
  /** Each of these values is the property of at least one item. */
  readonly allOf?: readonly string[];
  /** Minimum number of items. */
  readonly atLeast?: number;
  /** Type of the linked resource. */
  readonly linksTo?: string;
  /** Minimum version of the type, `1.9.0`. */
  readonly since?: string;
  /** The resource has this action, such as `Reset`, with all `parameters`. */
  readonly action?: string;
  /** By parameter: values that the advertised list must contain. Empty: the list must only exist. */
  readonly parameters?: Readonly<Record<string, readonly string[]>>;
  /** The resource accepts POST. */
  readonly creates?: boolean;
  /** The property, action or resource may be absent. */
  readonly optional?: boolean;
  /** The property is required only if its parent exists: the object around it, or a resource of the type. */
  readonly onlyWithParent?: boolean;
}

const isObject = (value: unknown): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const typeOf = (body: Body): string => /\.(\w+)$/.exec(String(body['@odata.type']))?.[1] ?? '';
const versionOf = (body: Body): string =>
  /\.v(\d+)_(\d+)_(\d+)\./.exec(String(body['@odata.type']))?.slice(1).join('.') ?? '';

/** A position in a payload: the object and the name of its property. */
interface Place {
  readonly object: Body;
  readonly name: string;
}

/**
 * Returns the positions of a path, in each item of a list. An empty list has none.
 * @param onlyWithParent true: an absent parent has no positions either.
 */
function placesOf(value: unknown, [name = '', ...below]: readonly string[], onlyWithParent: boolean): readonly Place[] {
  if (Array.isArray(value)) return value.flatMap((item) => placesOf(item, [name, ...below], onlyWithParent));
  if (onlyWithParent && !isObject(value)) return [];
  const object = isObject(value) ? value : {};
  return below.length === 0 ? [{ object, name }] : placesOf(object[name], below, onlyWithParent);
}

/** Returns whether version `left` is older than `right`. Compares numbers, so that `1.10.0` is newer than `1.9.0`. */
function isOlder(left: string, right: string): boolean {
  const [a, b] = [left, right].map((version) => version.split('.').map(Number));
  const difference = (a ?? []).map((number, index) => number - (b?.[index] ?? 0)).find((one) => one !== 0) ?? 0;
  return difference < 0;
}

/**
 * Returns a text for each requirement of the row that a resource does not meet. If a required type
 * has no resource, returns one text.
 * @param all every resource by its path.
 */
export function faultsOfRow(row: ProfileRow, all: ReadonlyMap<string, Crawled>): readonly string[] {
  const about = [...all.values()].filter(
    // A settings resource has the type of its subject, but not all its properties.
    ({ path, body }) => typeOf(body) === row.type && path.startsWith(row.below ?? '/') && !path.endsWith('/Settings'),
  );
  const place = row.below === undefined ? '' : ` below ${row.below}`;
  if (about.length === 0)
    return row.optional === true || row.onlyWithParent === true ? [] : [`there is no ${row.type}${place}`];
  return about.flatMap((resource) => faultsOfResource(row, resource, all).map((what) => `${resource.path}: ${what}`));
}

function faultsOfResource(
  row: ProfileRow,
  { body, headers }: Crawled,
  all: ReadonlyMap<string, Crawled>,
): readonly string[] {
  const allow = (headers['allow'] ?? '').split(', ');
  const faults: string[] = [];
  if (row.since !== undefined && isOlder(versionOf(body), row.since)) faults.push(`${versionOf(body)} is too old`);
  if (row.creates === true && !allow.includes('POST')) faults.push('takes no POST');
  if (row.action !== undefined) faults.push(...faultsOfAction(row, body));
  if (row.at === undefined) return faults;
  const places = placesOf(body, row.at.split('/'), row.onlyWithParent === true);
  const values = places.map(({ object, name }) => object[name]);
  for (const { object, name } of places) {
    if (!(name in object)) {
      if (row.optional !== true) faults.push(`${row.at} is not there`);
      continue;
    }
    const writable = object['@Redfish.WriteableProperties'];
    if (row.writable === true && !(allow.includes('PATCH') && Array.isArray(writable) && writable.includes(name))) {
      faults.push(`${row.at} cannot be written`);
    }
    faults.push(...faultsOfValue(row, object, name, all));
  }
  const missing = (row.allOf ?? []).filter((value) => !values.includes(value));
  if (missing.length > 0) faults.push(`no ${row.at} is ${missing.join(', ')}`);
  return faults;
}

function faultsOfValue(
  row: ProfileRow,
  object: Body,
  name: string,
  all: ReadonlyMap<string, Crawled>,
): readonly string[] {
  const value = object[name];
  const faults: string[] = [];
  const allowed = object[`${name}@Redfish.AllowableValues`];
  const unsupported = (row.supports ?? []).filter((word) => !(Array.isArray(allowed) && allowed.includes(word)));
  if (unsupported.length > 0) faults.push(`${name} does not offer ${unsupported.join(', ')}`);
  const given = Array.isArray(value) ? value : [value];
  if (row.anyOf !== undefined && !given.some((one) => row.anyOf?.includes(String(one)) === true)) {
    faults.push(`${name} is ${JSON.stringify(value)}, not one of: ${row.anyOf.join(', ')}`);
  }
  if (row.atLeast !== undefined && (!Array.isArray(value) || value.length < row.atLeast)) {
    faults.push(`${name} has less than ${row.atLeast}`);
  }
  if (row.linksTo !== undefined) {
    for (const link of given) {
      const target = all.get(String(isObject(link) ? link['@odata.id'] : ''))?.body ?? {};
      if (typeOf(target) !== row.linksTo)
        faults.push(`${name} leads to the type ${typeOf(target)}, not ${row.linksTo}`);
    }
  }
  return faults;
}

function faultsOfAction({ type, action, parameters = {}, optional }: ProfileRow, body: Body): readonly string[] {
  const actions = isObject(body['Actions']) ? body['Actions'] : {};
  const offered = actions[`#${type}.${String(action)}`];
  if (!isObject(offered)) return optional === true ? [] : [`has no ${String(action)}`];
  return Object.entries(parameters).flatMap(([name, words]) => {
    const listed = offered[`${name}@Redfish.AllowableValues`];
    // An empty list means that the values cannot be listed. A profile without required values
    // accepts that.
    if (!Array.isArray(listed)) return [`${String(action)} has no list for ${name}`];
    return words
      .filter((word) => !listed.includes(word))
      .map((word) => `${String(action)} does not take ${name} ${word}`);
  });
}

/** A requirement on one property (DSP0272). */
interface PropertyRequirement {
  readonly ReadRequirement?: string;
  readonly WriteRequirement?: string;
  readonly MinSupportValues?: readonly string[];
  readonly MinCount?: number;
  readonly Comparison?: string;
  readonly Values?: readonly string[];
  readonly ReplacedByProperty?: string;
  readonly PropertyRequirements?: Readonly<Record<string, PropertyRequirement>>;
}
interface ParameterRequirement {
  readonly ParameterValues?: readonly string[];
  readonly RecommendedValues?: readonly string[];
}
interface ActionRequirement {
  readonly ReadRequirement?: string;
  readonly Parameters?: Readonly<Record<string, ParameterRequirement>>;
}
interface ResourceRequirement extends PropertyRequirement {
  readonly MinVersion?: string;
  readonly CreateResource?: boolean;
  readonly ActionRequirements?: Readonly<Record<string, ActionRequirement>>;
}
/** The parts of a profile file that this module reads. */
export interface Profile {
  readonly Resources: Readonly<Record<string, ResourceRequirement>>;
}

/** Returns whether a property may be absent. An existing property must fit in any case. */
function mayLack({ ReadRequirement: read = 'Mandatory' }: PropertyRequirement): boolean {
  return read !== 'Mandatory';
}

/** Returns the rows of a profile file that apply to every service. */
export function rowsOf({ Resources: resources }: Profile): readonly ProfileRow[] {
  return Object.entries(resources).flatMap(([type, requirement]) => [
    {
      type,
      optional: mayLack(requirement),
      ...(requirement.MinVersion === undefined ? {} : { since: requirement.MinVersion }),
      ...(requirement.CreateResource === true ? { creates: true } : {}),
    },
    ...propertyRows(type, requirement.PropertyRequirements ?? {}, '', mayLack(requirement)),
    ...Object.entries(requirement.ActionRequirements ?? {}).map(
      ([action, { ReadRequirement: read, Parameters: parameters = {} }]) => ({
        type,
        optional: mayLack({ ReadRequirement: read ?? 'Mandatory' }),
        action,
        parameters: Object.fromEntries(
          Object.entries(parameters).map(([name, { ParameterValues: values = [], RecommendedValues: more = [] }]) => [
            name,
            [...values, ...more],
          ]),
        ),
      }),
    ),
  ]);
}

function propertyRows(
  type: string,
  requirements: Readonly<Record<string, PropertyRequirement>>,
  above: string,
  onlyWithParent: boolean,
): readonly ProfileRow[] {
  return Object.entries(requirements).flatMap(([name, requirement]): readonly ProfileRow[] => {
    // The profile requires a newer property instead.
    if (requirement.ReplacedByProperty !== undefined) return [];
    const at = `${above}${name}`;
    const optional = mayLack(requirement);
    const { Comparison: comparison, Values: values = [] } = requirement;
    return [
      {
        type,
        at,
        optional,
        onlyWithParent,
        writable: requirement.WriteRequirement === 'Mandatory',
        ...(requirement.MinSupportValues === undefined ? {} : { supports: requirement.MinSupportValues }),
        ...(requirement.MinCount === undefined ? {} : { atLeast: requirement.MinCount }),
        ...(comparison === 'LinkToResource' ? { linksTo: String(values[0]) } : {}),
        ...(comparison === 'AnyOf' ? { anyOf: values } : {}),
        ...(comparison === 'AllOf' ? { allOf: values } : {}),
      },
      ...propertyRows(type, requirement.PropertyRequirements ?? {}, `${at}/`, onlyWithParent || optional),
    ];
  });
}
