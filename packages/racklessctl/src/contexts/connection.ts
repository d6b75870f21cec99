/**
 * Finds the addresses and credentials of services: from options, environment variables and
 * contexts.
 */
import path from 'node:path';
import { homedir } from 'node:os';
import { readTextFile, fileReason } from '@rackless/daemon/files/text-file.js';
import { maskUrl } from '@rackless/daemon/text/mask-url.js';
import { CommandFailure, exitCode, usageFailure } from '../failure.js';
import { readContexts, type Context, type Contexts } from './context-file.js';

/** The options of a command that concern the service. Undefined: not given. */
interface ConnectionOptions {
  /** Path of the context file. */
  readonly file: string;
  /** Name or glob of contexts. */
  readonly context: string | undefined;
  readonly url: string | undefined;
  readonly user: string | undefined;
  readonly passwordFile: string | undefined;
  readonly ca: string | undefined;
  readonly insecure: boolean;
  readonly auth: string | undefined;
}

/** A service to connect to. The file of the password and the CA file are not read yet. */
export interface Connection {
  /** The name of the context; undefined if options or variables name the service. */
  readonly name: string | undefined;
  readonly url: URL;
  readonly user: string | undefined;
  /** Place of the password. Undefined: ask the user. */
  readonly password: PasswordSource | undefined;
  /** Path of the file with the trusted CA certificates. */
  readonly ca: string | undefined;
  readonly insecure: boolean;
  readonly auth: 'session' | 'basic';
}

/** A place of a password. */
export type PasswordSource =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'command'; readonly command: string };

/**
 * Returns the services of a command: that of `--url`, or those of `--context`. Without both options,
 * uses the first of these that is set: `RACKLESSCTL_URL`, `RACKLESSCTL_CONTEXT`, the current context.
 * If none is set, returns the service of the only context in the file. An option has precedence over
 * the context. Environment variables for user, password and CA file apply if neither has them.
 * @param matches returns whether a glob matches a name; false for a text that is not a glob.
 * @throws {CommandFailure} if there is no such context, if nothing selects a service and the file does not
 *   have exactly one context, or if an option or the context file is wrong.
 */
export function findConnections(
  options: ConnectionOptions,
  environment: NodeJS.ProcessEnv,
  matches: (glob: string, name: string) => boolean,
): readonly Connection[] {
  const url = options.url ?? (options.context === undefined ? variableOf(environment, 'RACKLESSCTL_URL') : undefined);
  if (url !== undefined) {
    if (options.url !== undefined && options.context !== undefined)
      throw usageFailure('--url and --context name two services: give one of them');
    return [connectionOf(undefined, { url }, process.cwd(), options, environment)];
  }
  const contexts = readContexts(options.file);
  const wanted =
    options.context ?? variableOf(environment, 'RACKLESSCTL_CONTEXT') ?? contexts.current ?? onlyContext(contexts);
  const names = [...contexts.contexts.keys()].filter((name) => name === wanted);
  const found = names.length > 0 ? names : [...contexts.contexts.keys()].filter((name) => matches(wanted, name));
  if (found.length === 0)
    throw new CommandFailure(
      exitCode.noMatch,
      `${contexts.file} has no context '${wanted}'. It has: ${listed(contexts)}`,
    );
  return found.map((name) => {
    const context = contexts.contexts.get(name) ?? {};
    return connectionOf(name, context, path.dirname(contexts.file), options, environment);
  });
}

/** Returns an environment variable; undefined if it is missing. An empty one counts as missing. */
function variableOf(environment: NodeJS.ProcessEnv, name: string): string | undefined {
  const text = environment[name];
  return text === '' ? undefined : text;
}

const listed = ({ contexts }: Contexts): string => [...contexts.keys()].join(', ') || 'none';

function onlyContext(contexts: Contexts): string {
  const [first, ...others] = contexts.contexts.keys();
  if (first !== undefined && others.length === 0) return first;
  throw usageFailure(
    first === undefined
      ? `there is no service. Give --url URL, or store one: racklessctl context set NAME --url URL`
      : `there is no current context. Give --context NAME (${listed(contexts)}), or run: racklessctl context use NAME`,
  );
}

function connectionOf(
  name: string | undefined,
  context: Context,
  folder: string,
  options: ConnectionOptions,
  environment: NodeJS.ProcessEnv,
): Connection {
  const at = name === undefined ? '' : `context ${name}: `;
  // Paths of options and variables are relative to the current folder. Paths of a context are
  // relative to the folder of the context file, or begin with `~/` for the home folder.
  const ca = options.ca ?? resolved(folder, context.ca) ?? variableOf(environment, 'RACKLESSCTL_CA');
  return {
    name,
    url: checkUrl(context.url, at),
    user: options.user ?? context.user ?? variableOf(environment, 'RACKLESSCTL_USER'),
    password: passwordSource(context, folder, options, environment),
    ca: ca === undefined ? undefined : path.resolve(ca),
    insecure: options.insecure || (context.insecure ?? false),
    auth: checkAuth(options.auth ?? context.auth, at),
  };
}

function passwordSource(
  context: Context,
  folder: string,
  options: ConnectionOptions,
  environment: NodeJS.ProcessEnv,
): PasswordSource | undefined {
  if (options.passwordFile !== undefined) return { kind: 'file', file: path.resolve(options.passwordFile) };
  if (context.password !== undefined) return { kind: 'text', text: context.password };
  const file = resolved(folder, context['password-file']);
  if (file !== undefined) return { kind: 'file', file };
  const command = context['password-command'];
  if (command !== undefined) return { kind: 'command', command };
  const text = variableOf(environment, 'RACKLESSCTL_PASSWORD');
  return text === undefined ? undefined : { kind: 'text', text };
}

const resolved = (folder: string, file: string | undefined): string | undefined =>
  file === undefined ? undefined : path.resolve(folder, file.replace(/^~(?=\/)/, homedir()));

/**
 * Returns the URL of a service without its path. A text without a scheme means https.
 * @param at the beginning of an error text.
 * @throws {CommandFailure} if the text is missing, is no http or https URL, or contains a user or a password.
 */
export function checkUrl(text: string | undefined, at: string): URL {
  if (text === undefined) throw new CommandFailure(exitCode.configuration, `${at}url is missing`);
  const shown = maskUrl(text);
  const whole = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `https://${text}`;
  const url = URL.canParse(whole) ? new URL(whole) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol) || url.hostname === '')
    throw usageFailure(`${at}'${shown}' is not an http or https URL, such as https://192.0.2.1`);
  if (url.username !== '' || url.password !== '')
    throw usageFailure(
      `${at}'${shown}' must not contain a user or a password: give --user NAME and --password-file FILE`,
    );
  return new URL(url.origin);
}

function checkAuth(text: string | undefined, at: string): 'session' | 'basic' {
  if (text === undefined || text === 'session') return 'session';
  if (text === 'basic') return 'basic';
  throw usageFailure(`${at}auth must be session or basic, not '${text}'`);
}

/**
 * Reads the CA certificates of a connection.
 * @throws {CommandFailure} if the file cannot be read, or contains no certificate in PEM form.
 */
export function readAuthorities(file: string): string {
  let text: string;
  try {
    text = readTextFile(file);
  } catch (error) {
    throw new CommandFailure(exitCode.configuration, `reading the authorities in ${file}: ${fileReason(error)}`, {
      cause: error,
    });
  }
  if (!text.includes('-----BEGIN CERTIFICATE-----'))
    throw new CommandFailure(exitCode.configuration, `${file} contains no certificate in PEM form`);
  return text;
}
