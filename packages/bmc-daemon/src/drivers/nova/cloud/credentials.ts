/** The credentials of a cloud, as Keystone's API expects them. */
import type { EntryReader } from './entry-reader.js';

/** A project or a user: an id, or a name with its domain. */
type Named = { readonly id: string } | { readonly name: string; readonly domain?: Domain };
type Domain = { readonly id: string } | { readonly name: string };

/**
 * The member `auth` of a request for a token.
 * @see https://docs.openstack.org/api-ref/identity/v3/#authentication-and-token-management
 */
interface AuthRequest {
  readonly identity: Readonly<Record<string, unknown>> & { readonly methods: readonly string[] };
  /** Absent for an application credential, which belongs to a project already. */
  readonly scope?: { readonly project: Named };
}

/** Credentials, with the place of their secret. */
export interface Credentials {
  readonly auth: AuthRequest;
  /** Texts that must not appear in a message. */
  readonly secrets: readonly string[];
  /** The place and the name of the secret, such as `clouds.yaml:7: auth.password`. */
  readonly place: string;
}

/** Maps each value of `auth_type` to the kind of credentials that it uses. */
const methods = {
  password: 'password',
  v3password: 'password',
  token: 'token',
  v3token: 'token',
  v3applicationcredential: 'application_credential',
} as const;

/**
 * Reads the credentials. Returns undefined if one of their fields is missing or invalid. The entry reader has
 * then recorded a fault. An invalid `auth_type` is a fault too, but the other fields then decide about the kind.
 */
export function readCredentials(entry: EntryReader): Credentials | undefined {
  // Object.keys returns string[], but `methods` has no other keys.
  const type = entry.oneOf('auth_type', Object.keys(methods) as (keyof typeof methods)[]);
  const hasCredential = entry.has('auth.application_credential_id') || entry.has('auth.application_credential_name');
  const implied = hasCredential ? 'application_credential' : entry.has('auth.token') ? 'token' : 'password';
  switch (type === undefined ? implied : methods[type]) {
    case 'application_credential':
      return applicationCredential(entry);
    case 'token': {
      const token = entry.required('auth.token');
      const project = readProject(entry);
      if (token === undefined || project === undefined) return undefined;
      const identity = { methods: ['token'], token: { id: token } };
      return { auth: { identity, scope: { project } }, secrets: [token], place: entry.place('auth.token') };
    }
    case 'password': {
      const user = readUser(entry);
      const password = entry.required('auth.password');
      const project = readProject(entry);
      if (user === undefined || password === undefined || project === undefined) return undefined;
      const identity = { methods: ['password'], password: { user: { ...user, password } } };
      return { auth: { identity, scope: { project } }, secrets: [password], place: entry.place('auth.password') };
    }
  }
}

function applicationCredential(entry: EntryReader): Credentials | undefined {
  const secret = entry.required('auth.application_credential_secret');
  const id = entry.text('auth.application_credential_id');
  const name = id === undefined ? entry.required('auth.application_credential_name') : undefined;
  const user = name === undefined ? undefined : readUser(entry);
  if (secret === undefined || (id === undefined && (name === undefined || user === undefined))) return undefined;
  const credential = id === undefined ? { name, user, secret } : { id, secret };
  return {
    auth: { identity: { methods: ['application_credential'], application_credential: credential } },
    secrets: [secret],
    place: entry.place('auth.application_credential_secret'),
  };
}

function readUser(entry: EntryReader): Named | undefined {
  const id = entry.text('auth.user_id');
  if (id !== undefined) return { id };
  const name = entry.required('auth.username');
  const domain = readDomain(entry, 'user');
  return name === undefined || domain === undefined ? undefined : { name, domain };
}

function readProject(entry: EntryReader): Named | undefined {
  const id = entry.text('auth.project_id');
  if (id !== undefined) return { id };
  const name = entry.required('auth.project_name');
  const domain = readDomain(entry, 'project');
  return name === undefined || domain === undefined ? undefined : { name, domain };
}

function readDomain(entry: EntryReader, owner: 'user' | 'project'): Domain | undefined {
  const id = entry.text(`auth.${owner}_domain_id`);
  if (id !== undefined) return { id };
  const name = entry.text(`auth.${owner}_domain_name`);
  if (name !== undefined) return { name };
  const defaultId = entry.text('auth.default_domain_id');
  if (defaultId !== undefined) return { id: defaultId };
  const defaultName = entry.text('auth.default_domain_name');
  if (defaultName !== undefined) return { name: defaultName };
  entry.required(`auth.${owner}_domain_name`);
  return undefined;
}
