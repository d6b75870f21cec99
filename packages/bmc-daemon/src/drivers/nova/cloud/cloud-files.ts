/**
 * Finds and reads the files of OpenStack's clients.
 * @see https://docs.openstack.org/openstacksdk/latest/user/config/configuration.html
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileReason, readTextFile } from '@rackless/daemon/files/text-file.js';
import { parseYaml } from '@rackless/daemon/yaml/yaml-document.js';
import type { YamlMapping } from '@rackless/daemon/yaml/yaml-node.js';
import { CloudError } from './cloud-error.js';

/** The environment in which the files are searched. */
export interface CloudContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The working directory. */
  readonly directory: string;
}

/** The name of each kind of file, without its extension, and the variable that can name another path. */
const kinds = {
  clouds: 'OS_CLIENT_CONFIG_FILE',
  secure: 'OS_CLIENT_SECURE_FILE',
  'clouds-public': 'OS_CLIENT_VENDOR_FILE',
} as const;

const EXTENSIONS = ['yaml', 'yml', 'json'];

/** Returns the folders that are searched, in their order. */
export function searchedFolders({ environment, directory }: CloudContext): readonly string[] {
  const { XDG_CONFIG_HOME: config, HOME: home } = environment;
  // XDG Base Directory Specification: an empty variable counts as unset.
  const isSet = config !== undefined && config !== '';
  const user = isSet ? config : home === undefined ? undefined : path.join(home, '.config');
  return [
    directory,
    ...(user === undefined ? [] : [path.join(user, 'openstack')]),
    '/etc/xdg/openstack',
    '/etc/openstack',
  ];
}

/**
 * Reads the first file of a kind; undefined if there is none, or if a file other than clouds.yaml is empty.
 * @throws {CloudError} if the file cannot be read, is not YAML, or is missing although a variable names it. Also for an
 *   empty clouds.yaml.
 */
export function readCloudFile(kind: keyof typeof kinds, context: CloudContext): YamlMapping | undefined {
  const variable = kinds[kind];
  const named = context.environment[variable];
  if (named !== undefined && named !== '') {
    return readYaml(kind, path.resolve(context.directory, expandHome(named, context)), `environment ${variable}: `);
  }
  const file = searchedFolders(context)
    .flatMap((folder) => EXTENSIONS.map((extension) => path.join(folder, `${kind}.${extension}`)))
    .find((candidate) => existsSync(candidate));
  return file === undefined ? undefined : readYaml(kind, file, '');
}

/**
 * Reads a YAML file; undefined if a file other than clouds.yaml is empty.
 * @param source the start of the message if the file cannot be read: the variable that names the
 *   file. Empty: no variable names it.
 * @throws {CloudError} if it cannot be read or is not YAML, and for an empty clouds.yaml.
 */
function readYaml(kind: keyof typeof kinds, file: string, source: string): YamlMapping | undefined {
  let text: string;
  try {
    text = readTextFile(file);
  } catch (error) {
    throw new CloudError([`${source}${file} cannot be read: ${fileReason(error)}`], { cause: error });
  }
  const { root, faults, isEmpty } = parseYaml(text, file, { keepsNumberText: true });
  if (root !== undefined) return root;
  // openstacksdk accepts empty files. But without a cloud, the daemon cannot start, so an empty clouds.yaml
  // is a fault.
  if (isEmpty === true && kind !== 'clouds') return undefined;
  throw new CloudError(faults.map(({ line, message }) => `${file}${line === undefined ? '' : `:${line}`}: ${message}`));
}

/** Replaces a leading `~/` by the home folder. Without `HOME`, returns the path unchanged. */
export function expandHome(file: string, { environment }: CloudContext): string {
  const { HOME: home } = environment;
  return home !== undefined && file.startsWith('~/') ? path.join(home, file.slice(2)) : file;
}
