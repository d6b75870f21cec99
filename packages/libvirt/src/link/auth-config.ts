/** User names and passwords of libvirt's auth.conf. @see https://libvirt.org/auth.html */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { readIfPresent } from '../read-file.js';
import type { LibvirtUri } from '../uri.js';

/** A user name with its password. No error and no log may contain the password. */
export interface Credentials {
  readonly authname: string;
  readonly password: string;
}

/** Properties of this process that determine the file. */
interface AuthEnvironment {
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  /** The file of the host, usually `/etc/libvirt/auth.conf`. */
  readonly systemFile: string;
}

const authEnvironment = (): AuthEnvironment => ({
  variables: process.env,
  home: homedir(),
  systemFile: '/etc/libvirt/auth.conf',
});

/**
 * Returns the credentials for the host of a URI, from its section `[auth-libvirt-HOST]` or from
 * `[auth-libvirt-default]`.
 * @throws {Error} with the file, and the section or the key that is missing or belongs to another user. Also if a
 *   file cannot be read, or if there is no file.
 */
export async function readCredentials(
  { host, user, parameters }: Pick<LibvirtUri, 'host' | 'user' | 'parameters'>,
  environment: AuthEnvironment = authEnvironment(),
): Promise<Credentials> {
  const { path, text } = await readFirst(candidates(parameters.authfile, environment));
  const sections = parse(text);
  const places = [`auth-libvirt-${host ?? 'localhost'}`, 'auth-libvirt-default'];
  const name = places.map((place) => sections.get(place)?.get('credentials')).find((found) => found !== undefined);
  if (name === undefined) {
    throw new Error(`${path} has no "credentials" in [${places.join('] or [')}]`);
  }
  const section = sections.get(`credentials-${name}`);
  if (section === undefined) throw new Error(`${path} has no section [credentials-${name}]`);
  const authname = section.get('authname') ?? section.get('username') ?? user;
  const password = section.get('password');
  if (authname === null) throw new Error(`${path} has no "authname" in [credentials-${name}]`);
  if (password === undefined) throw new Error(`${path} has no "password" in [credentials-${name}]`);
  if (user !== null && user !== authname) {
    throw new Error(`the URI names the user "${user}", but [credentials-${name}] of ${path} is for "${authname}"`);
  }
  return { authname, password };
}

/**
 * Returns the files in libvirt's order (virAuthGetConfigFilePath). If the URI or the environment
 * names a file, returns only this file.
 */
function candidates(authfile: string | null, { variables, home, systemFile }: AuthEnvironment): readonly string[] {
  const given = authfile ?? variables['LIBVIRT_AUTH_FILE'] ?? null;
  if (given !== null) return [given];
  const config = variables['XDG_CONFIG_HOME'] ?? '';
  return [join(config === '' ? join(home, '.config') : config, 'libvirt', 'auth.conf'), systemFile];
}

async function readFirst(paths: readonly string[]): Promise<{ readonly path: string; readonly text: string }> {
  for (const path of paths) {
    const contents = await readIfPresent(path);
    if (contents !== undefined) return { path, text: contents.toString('utf8') };
  }
  throw new Error(`no user name and password: there is no ${paths.join(' and no ')}`);
}

/** Reads sections with keys, as libvirt's virKeyFile does. Ignores other lines. */
function parse(text: string): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const sections = new Map<string, Map<string, string>>();
  let section: Map<string, string> | undefined;
  for (const line of text.split(/\r?\n/)) {
    const [, title] = /^\s*\[([^\]]+)\]/.exec(line) ?? [];
    if (title !== undefined) {
      section = sections.get(title) ?? new Map<string, string>();
      sections.set(title, section);
      continue;
    }
    const [, key, value] = /^\s*([^#;=\s][^=\s]*)\s*=\s*(.*)$/.exec(line) ?? [];
    if (key !== undefined && value !== undefined) section?.set(key, value);
  }
  return sections;
}
