/** Finds the entry of a cloud in the files or in the environment, and merges its parts. */
import { nearestName } from '@rackless/daemon/text/nearest-name.js';
import type { YamlMapping, YamlNode } from '@rackless/daemon/yaml/yaml-node.js';
import { CloudError } from './cloud-error.js';
import { readCloudFile, searchedFolders, type CloudContext } from './cloud-files.js';

/** The name of the cloud whose settings are the environment variables `OS_*`. */
const ENVIRONMENT_CLOUD = 'envvars';

/** Fields that belong in `auth`. A file may also have them next to `auth`. */
const authFields: ReadonlySet<string> = new Set([
  ...['auth_url', 'username', 'user_id', 'password', 'token'],
  ...['project_name', 'project_id', 'user_domain_name', 'user_domain_id'],
  ...['project_domain_name', 'project_domain_id', 'default_domain_name', 'default_domain_id'],
  ...['application_credential_id', 'application_credential_name', 'application_credential_secret'],
]);

/** Older names of fields, each with its current name. */
const aliases: Readonly<Record<string, string>> = {
  tenant_name: 'project_name',
  tenant_id: 'project_id',
  tenant_domain_name: 'project_domain_name',
  tenant_domain_id: 'project_domain_id',
  user_name: 'username',
  endpoint_type: 'interface',
};

/** Formats the place of a value, such as `/etc/openstack/clouds.yaml:7` or `environment OS_PASSWORD`. */
export function placeOf({ file, line }: Pick<YamlNode, 'file' | 'line'>): string {
  return line === 0 ? file : `${file}:${line}`;
}

/**
 * Returns the entry of a cloud; for the cloud `envvars`, the variables `OS_*`. Values of the entry override
 * those of its profile. Values of `secure.yaml` override both, and values of the region override all of
 * these. Older field names are replaced by the current ones.
 * @throws {CloudError} if there is no such cloud or profile, if a file or the entry cannot be read or is
 *   invalid, or if OS_AUTH_URL is not set for `envvars`.
 */
export function cloudEntry(name: string, context: CloudContext): YamlMapping {
  if (name === ENVIRONMENT_CLOUD) return environmentEntry(context);
  const root = readCloudFile('clouds', context);
  if (root === undefined) {
    throw new CloudError([`cloud '${name}': there is no clouds.yaml in ${searchedFolders(context).join(', ')}`]);
  }
  const clouds = root.members.get('clouds');
  if (clouds?.kind !== 'mapping') throw new CloudError([`${placeOf(clouds ?? root)}: clouds must be a mapping`]);
  const entry = clouds.members.get(name);
  if (entry?.kind !== 'mapping') throw new CloudError([`${placeOf(entry ?? clouds)}: ${entryFault(name, clouds)}`]);
  const own = normalized(entry);
  const profile = own.members.get('profile') ?? own.members.get('cloud');
  const base = profile === undefined ? own : merged(profileEntry(profile, context), own);
  const secure = readCloudFile('secure', context)?.members.get('clouds');
  const secrets = secure?.kind === 'mapping' ? secure.members.get(name) : undefined;
  return withRegion(secrets?.kind === 'mapping' ? merged(base, normalized(secrets)) : base);
}

/**
 * Adds the values of the region, which override those of the entry. The region is `region_name`, or the
 * first one of `regions`.
 * @throws {CloudError} if the values are not a mapping.
 */
function withRegion(entry: YamlMapping): YamlMapping {
  const regions = entry.members.get('regions');
  if (regions?.kind !== 'sequence') return entry;
  const nameOf = (item: YamlNode | undefined): string => {
    const name = item?.kind === 'mapping' ? item.members.get('name') : item;
    return name?.kind === 'scalar' ? String(name.value) : '';
  };
  const name = nameOf(entry.members.get('region_name') ?? regions.items[0]);
  const region = regions.items.find((item) => nameOf(item) === name);
  const values = region?.kind === 'mapping' ? region.members.get('values') : undefined;
  if (values === undefined || (values.kind === 'scalar' && values.value === null)) return entry;
  if (values.kind !== 'mapping')
    throw new CloudError([`${placeOf(values)}: values of region ${name} must be a mapping`]);
  const members = new Map(normalized(values).members);
  const auth = members.get('auth');
  if (auth?.kind === 'mapping' && auth.members.size === 0) members.delete('auth');
  const { file, line } = entry;
  return { ...merged(entry, { ...values, members }), file, line };
}

/** Returns the fault of an entry that is missing or is not a mapping. */
function entryFault(name: string, clouds: YamlMapping): string {
  const names = [...clouds.members.keys()];
  const near = nearestName(name, names);
  if (clouds.members.has(name)) return `cloud '${name}' must be a mapping`;
  const hint =
    near === undefined
      ? names.length === 0
        ? 'clouds is empty'
        : `clouds has ${names.join(', ')}`
      : `the nearest name is '${near}'`;
  return `there is no cloud '${name}'; ${hint}`;
}

/** Returns a profile of clouds-public.yaml. @throws {CloudError} if there is no such profile or no valid file. */
function profileEntry(profile: YamlNode, context: CloudContext): YamlMapping {
  const name = profile.kind === 'scalar' ? String(profile.value) : '';
  const profiles = readCloudFile('clouds-public', context)?.members.get('public-clouds');
  const entry = profiles?.kind === 'mapping' ? profiles.members.get(name) : undefined;
  if (entry?.kind === 'mapping') return normalized(entry);
  const why = `there is no profile '${name}' in clouds-public.yaml; the profiles of openstacksdk itself are not built in`;
  throw new CloudError([`${placeOf(profile)}: profile: ${why}`]);
}

/**
 * Returns the cloud that the `OS_*` variables describe.
 * @throws {CloudError} if OS_AUTH_URL is missing or empty.
 */
function environmentEntry({ environment }: CloudContext): YamlMapping {
  const file = 'environment';
  const members = new Map<string, YamlNode>();
  for (const [variable, value] of Object.entries(environment)) {
    if (!variable.startsWith('OS_') || value === undefined || value === '') continue;
    const field = variable.slice('OS_'.length).toLowerCase();
    members.set(field, { kind: 'scalar', file: `environment ${variable}`, line: 0, value, variable });
  }
  if (!members.has('auth_url')) throw new CloudError([`cloud '${ENVIRONMENT_CLOUD}': OS_AUTH_URL is not set`]);
  return normalized({ kind: 'mapping', file, line: 0, members });
}

/**
 * Replaces older field names by the current ones and `-` in a name by `_`. Moves fields that belong in `auth`
 * ({@link authFields}) from the entry into `auth`.
 */
function normalized(entry: YamlMapping): YamlMapping {
  const members = new Map<string, YamlNode>();
  const given = entry.members.get('auth');
  const auth = new Map<string, YamlNode>();
  const outside = new Map<string, YamlNode>();
  for (const [key, value] of entry.members) {
    const name = currentName(key);
    if (authFields.has(name)) outside.set(name, value);
    else if (name !== 'auth') members.set(name, value);
  }
  // A field within `auth` overrides the same field next to `auth`.
  for (const [key, value] of outside) auth.set(key, value);
  if (given?.kind === 'mapping') for (const [key, value] of given.members) auth.set(currentName(key), value);
  const { file, line } = given ?? entry;
  members.set('auth', { kind: 'mapping', file, line, members: auth });
  return { ...entry, members };
}

function currentName(key: string): string {
  const name = key.replaceAll('-', '_');
  return aliases[name] ?? name;
}

/** Merges two mappings at each level. Members of `over` override those of `under`. */
function merged(under: YamlMapping, over: YamlMapping): YamlMapping {
  const members = new Map(under.members);
  for (const [key, value] of over.members) {
    const below = members.get(key);
    members.set(key, value.kind === 'mapping' && below?.kind === 'mapping' ? merged(below, value) : value);
  }
  return { ...over, members };
}
