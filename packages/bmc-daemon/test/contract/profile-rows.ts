/**
 * What an interoperability profile (DSP0272) asks of a service, row by row, and a judge of them. A row is a requirement on one type
 * of resource: a property, an action, its version.
 */
import type { Body, Crawled } from './crawler.js';

export interface ProfileRow {
  /** `ComputerSystem`. */
  readonly type: string;
  /** Only those whose path begins with it: `/redfish/v1/Managers/`. Default: all. */
  readonly below?: string;
  /** `Boot/BootSourceOverrideTarget`, in each item of a list on the way. Default: the resource itself. */
  readonly at?: string;
  /** In the Allow header and among the writable properties of its own object. */
  readonly writable?: boolean;
  /** Among the values that are said to be allowed. */
  readonly supports?: readonly string[];
  /** Its value, or each of a list, is one of these. */
  readonly anyOf?: readonly string[];
  /** Each of these is the value of one of the items at least. */
  readonly allOf?: readonly string[];
  /** So many items at least. */
  readonly atLeast?: number;
  /** What is at the end of the link. */
  readonly linksTo?: string;
  /** Lowest version of the type, `1.9.0`. */
  readonly since?: string;
  /** `Reset`, with these parameters, each with a list of its values that has these. */
  readonly action?: string;
  readonly parameters?: Readonly<Record<string, readonly string[]>>;
  /** It takes a POST. */
  readonly creates?: boolean;
  /** It need not be there. */
  readonly optional?: boolean;
  /** It need be there only where what it is in is. */
  readonly within?: boolean;
}

const isObject = (value: unknown): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const typeOf = (body: Body): string => /\.(\w+)$/.exec(String(body['@odata.type']))?.[1] ?? '';
const versionOf = (body: Body): string =>
  /\.v(\d+)_(\d+)_(\d+)\./.exec(String(body['@odata.type']))?.slice(1).join('.') ?? '';

/** A place in a payload: the object that has it, and its name there. */
interface Place {
  readonly object: Body;
  readonly name: string;
}

/**
 * The places of a path: of each item of a list on the way, and so none where that is empty.
 * @param within none, too, where what it is in is absent.
 */
function placesOf(value: unknown, [name = '', ...below]: readonly string[], within: boolean): readonly Place[] {
  if (Array.isArray(value)) return value.flatMap((item) => placesOf(item, [name, ...below], within));
  if (within && !isObject(value)) return [];
  const object = isObject(value) ? value : {};
  return below.length === 0 ? [{ object, name }] : placesOf(object[name], below, within);
}

/** Compares `1.10.0` with `1.9.0` by its numbers. */
function isOlder(left: string, right: string): boolean {
  const [a, b] = [left, right].map((version) => version.split('.').map(Number));
  const difference = (a ?? []).map((number, index) => number - (b?.[index] ?? 0)).find((one) => one !== 0) ?? 0;
  return difference < 0;
}

/** What a service lacks of a row; empty: nothing. @param all every resource by its path. */
export function lacking(row: ProfileRow, all: ReadonlyMap<string, Crawled>): readonly string[] {
  const about = [...all.values()].filter(
    // What waits for the next start has the type of what it is for, and not all of it.
    ({ path, body }) => typeOf(body) === row.type && path.startsWith(row.below ?? '/') && !path.endsWith('/Settings'),
  );
  if (about.length === 0) return row.optional === true || row.within === true ? [] : [`there is no ${row.type}`];
  return about.flatMap((resource) => lackingIn(row, resource, all).map((what) => `${resource.path}: ${what}`));
}

function lackingIn(row: ProfileRow, { body, headers }: Crawled, all: ReadonlyMap<string, Crawled>): readonly string[] {
  const allow = (headers['allow'] ?? '').split(', ');
  const faults: string[] = [];
  if (row.since !== undefined && isOlder(versionOf(body), row.since)) faults.push(`${versionOf(body)} is too old`);
  if (row.creates === true && !allow.includes('POST')) faults.push('takes no POST');
  if (row.action !== undefined) faults.push(...lackingOfAction(row, body));
  if (row.at === undefined) return faults;
  const places = placesOf(body, row.at.split('/'), row.within === true);
  const values = places.map(({ object, name }) => object[name]);
  for (const { object, name } of places) {
    if (!(name in object)) {
      if (row.optional !== true) faults.push(`${row.at} is not there`);
      continue;
    }
    const writable = object['@Redfish.WriteableProperties'];
    if (row.writable === true && !(allow.includes('PATCH') && Array.isArray(writable) && writable.includes(name))) {
      faults.push(`${row.at} can not be written`);
    }
    faults.push(...lackingValues(row, object, name, all));
  }
  const missing = (row.allOf ?? []).filter((value) => !values.includes(value));
  if (missing.length > 0) faults.push(`no ${row.at} is ${missing.join(', ')}`);
  return faults;
}

function lackingValues(
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
    faults.push(`${name} is ${JSON.stringify(value)}`);
  }
  if (row.atLeast !== undefined && (!Array.isArray(value) || value.length < row.atLeast)) {
    faults.push(`${name} has less than ${row.atLeast}`);
  }
  if (row.linksTo !== undefined) {
    for (const link of given) {
      const target = all.get(String(isObject(link) ? link['@odata.id'] : ''))?.body ?? {};
      if (typeOf(target) !== row.linksTo) faults.push(`${name} leads to a ${typeOf(target)}`);
    }
  }
  return faults;
}

function lackingOfAction({ type, action, parameters = {}, optional }: ProfileRow, body: Body): readonly string[] {
  const actions = isObject(body['Actions']) ? body['Actions'] : {};
  const offered = actions[`#${type}.${String(action)}`];
  if (!isObject(offered)) return optional === true ? [] : [`has no ${String(action)}`];
  return Object.entries(parameters).flatMap(([name, words]) => {
    const listed = offered[`${name}@Redfish.AllowableValues`];
    // An empty list says that it can not be listed, which a profile without words of its own takes.
    if (!Array.isArray(listed)) return [`${String(action)} has no list for ${name}`];
    return words
      .filter((word) => !listed.includes(word))
      .map((word) => `${String(action)} does not take ${name} ${word}`);
  });
}

/** A profile's own words for one property; DSP0272. */
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
/** The file of a profile, as far as it is read. */
export interface Profile {
  readonly Resources: Readonly<Record<string, ResourceRequirement>>;
}

/** Whether it may be absent: what is there has to be as the profile wants it all the same. */
function mayLack({ ReadRequirement: read = 'Mandatory' }: PropertyRequirement): boolean {
  return read !== 'Mandatory';
}

/** The rows of a profile's file: what it demands of any service, and of what a service has without being asked to. */
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
  within: boolean,
): readonly ProfileRow[] {
  return Object.entries(requirements).flatMap(([name, requirement]): readonly ProfileRow[] => {
    // A newer property is asked for in its place.
    if (requirement.ReplacedByProperty !== undefined) return [];
    const at = `${above}${name}`;
    const optional = mayLack(requirement);
    const { Comparison: comparison, Values: values = [] } = requirement;
    return [
      {
        type,
        at,
        optional,
        within,
        writable: requirement.WriteRequirement === 'Mandatory',
        ...(requirement.MinSupportValues === undefined ? {} : { supports: requirement.MinSupportValues }),
        ...(requirement.MinCount === undefined ? {} : { atLeast: requirement.MinCount }),
        ...(comparison === 'LinkToResource' ? { linksTo: String(values[0]) } : {}),
        ...(comparison === 'AnyOf' ? { anyOf: values } : {}),
        ...(comparison === 'AllOf' ? { allOf: values } : {}),
      },
      ...propertyRows(type, requirement.PropertyRequirements ?? {}, `${at}/`, within || optional),
    ];
  });
}
