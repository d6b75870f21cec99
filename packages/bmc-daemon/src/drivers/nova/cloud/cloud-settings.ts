/**
 * The settings of a cloud. They can return the place of each field, because the cloud may reject a
 * field later.
 */
import path from 'node:path';
import { createSecureContext } from 'node:tls';
import { fileReason, readTextFile } from '@rackless/daemon/files/text-file.js';
import { withoutTrailingSlashes } from '@rackless/daemon/text/trailing-slashes.js';
import { cloudEntry } from './cloud-entry.js';
import { CloudError } from './cloud-error.js';
import { cloudServices, type CloudService } from './cloud-services.js';
import { expandHome, type CloudContext } from './cloud-files.js';
import { readCredentials, type Credentials } from './credentials.js';
import { createEntryReader, type EntryReader } from './entry-reader.js';

/** TLS options for all services of a cloud. */
export interface CloudTls {
  /** False: the certificates of the cloud are not verified. */
  readonly verify: boolean;
  /** CA certificates as PEM, instead of Node's. */
  readonly ca?: string;
  /** Client certificate and key as PEM. */
  readonly cert?: string;
  readonly key?: string;
}

/** A cloud with valid settings. The daemon has not connected to it yet. */
export interface CloudSettings {
  readonly name: string;
  /** URL of Keystone's API version 3, without a slash at the end. */
  readonly identityUrl: string;
  readonly credentials: Credentials;
  /** Undefined: the driver uses the first endpoint of the catalog that fits, in any region. */
  readonly region: string | undefined;
  readonly interface: 'public' | 'internal' | 'admin';
  readonly tls: CloudTls;
  /** URLs that replace those of the catalog. */
  readonly endpoints: Readonly<Partial<Record<CloudService, string | undefined>>>;
  /** Returns the place and the name of a field for an error, such as `clouds.yaml:7: region_name`. */
  readonly place: (field: string) => string;
}

const interfaces = {
  public: 'public',
  publicURL: 'public',
  internal: 'internal',
  internalURL: 'internal',
  admin: 'admin',
  adminURL: 'admin',
} as const;

/**
 * Reads the settings of a cloud from the files of OpenStack's clients, or from the environment for `envvars`.
 * @throws {CloudError} with all faults of the fields. If the entry itself cannot be read, only with this fault.
 */
export function readCloud(name: string, context: CloudContext): CloudSettings {
  const entry = createEntryReader(cloudEntry(name, context));
  const version = entry.text('identity_api_version');
  if (version !== undefined && !/^v?3(\.0)?$/.test(version)) entry.fault('identity_api_version', 'must be 3');
  const authUrl = entry.required('auth.auth_url');
  const identityUrl = authUrl === undefined ? undefined : readUrl(entry, 'auth.auth_url');
  const credentials = readCredentials(entry);
  // Object.keys returns string[], but `interfaces` has no other keys.
  const interfaceName = entry.oneOf('interface', Object.keys(interfaces) as (keyof typeof interfaces)[]);
  const region = entry.text('region_name') ?? entry.names('regions')[0];
  const tls = readTls(entry, context);
  const endpoints = {
    compute: readOverride(entry, 'compute'),
    image: readOverride(entry, 'image'),
    volume: readOverride(entry, 'volume'),
  };
  if (identityUrl === undefined || credentials === undefined || entry.faults.length > 0) {
    throw new CloudError(entry.faults);
  }
  return {
    name,
    identityUrl: `${identityUrl.replace(/\/v(2\.0|3)$/, '')}/v3`,
    credentials,
    region,
    interface: interfaceName === undefined ? 'public' : interfaces[interfaceName],
    tls,
    endpoints,
    place: (field) => entry.place(field),
  };
}

/**
 * Reads the URL that replaces the one in the catalog; undefined without a valid one. Uses the first field of the
 * service that is set.
 */
function readOverride(entry: EntryReader, service: CloudService): string | undefined {
  const field = cloudServices[service].override.find((name) => entry.has(name));
  return field === undefined ? undefined : readUrl(entry, field);
}

/**
 * Reads a URL, and removes its query, its fragment and slashes at the end of its path; undefined for an absent field
 * and after a fault. A URL with a user name or a password is a fault, and the message does not show the URL.
 */
function readUrl(entry: EntryReader, field: string): string | undefined {
  const text = entry.text(field);
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    entry.fault(field, 'must be a URL with http or https, without a user name');
    return undefined;
  }
  return withoutTrailingSlashes(`${url.origin}${url.pathname}`);
}

function readTls(entry: EntryReader, context: CloudContext): CloudTls {
  const ca = readPem(entry, 'cacert', context);
  const cert = readPem(entry, 'cert', context);
  const key = readPem(entry, 'key', context);
  if (entry.has('key') && !entry.has('cert')) entry.fault('key', 'is set and cert is not');
  if (key === undefined && cert !== undefined && !cert.includes('PRIVATE KEY-----') && !entry.has('key')) {
    entry.fault('cert', 'is set and key is not');
  }
  const client = cert === undefined ? {} : { cert, key: key ?? cert };
  try {
    createSecureContext({ ...(ca === undefined ? {} : { ca }), ...client });
  } catch {
    // OpenSSL's message does not say which file is wrong: the certificate, the key or the authorities. So the
    // fault names all of them.
    if (cert === undefined) entry.fault('cacert', 'cannot be used: OpenSSL rejects it');
    else entry.fault('cert', 'cannot be used: OpenSSL rejects it, its key does not fit, or cacert is invalid');
  }
  const verify = entry.boolean('verify') ?? !(entry.boolean('insecure') ?? false);
  return { verify, ...(ca === undefined ? {} : { ca }), ...client };
}

function readPem(entry: EntryReader, field: string, context: CloudContext): string | undefined {
  const given = entry.text(field);
  if (given === undefined) return undefined;
  const file = path.resolve(context.directory, expandHome(given, context));
  try {
    const text = readTextFile(file);
    if (text.includes('-----BEGIN ')) return text;
    entry.fault(field, `cannot be used: ${file}: it is not a PEM file`);
  } catch (error) {
    entry.fault(field, `cannot be used: ${file}: ${fileReason(error)}`);
  }
  return undefined;
}
