/**
 * Gets access keys with AWS's packages: profiles, roles, web identities, SSO, containers and metadata
 * servers.
 * @see https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
 */
import type * as CredentialProviders from '@aws-sdk/credential-providers';
import { withDeadline } from '@rackless/daemon/deadline.js';
import type { AwsKeys, AwsPlaces, AwsRole, AwsToken } from '../../providers/token.js';
import { AwsRequests } from './aws-requests.js';
import { readIdentity } from './identity.js';
import type { SmallPeer } from './small-request.js';
import { firstLine, TokenFault, type FetchedToken } from './token-source.js';

/** Keys without an expiry time are read again after this time, because the files may change. */
const REREAD_MS = 300_000;
/** Timeout of each request to a container's address or to a metadata server. A lookup has up to three requests. */
const HOST_TIMEOUT_MS = 2_500;
/** Maximum time that requests wait for a lookup. */
const DEADLINE_MS = 10_000;
/** After this time, a lookup that does not end is forgotten, so that the next request begins another. */
const FORGOTTEN_AFTER_MS = 60_000;
/** Maximum number of attempts of a request within a lookup. The caller repeats the whole lookup. */
const MAX_ATTEMPTS = 2;

type Packages = typeof CredentialProviders;
/** Credentials as AWS's packages return them. */
type Credentials = Awaited<ReturnType<ReturnType<Packages['fromTemporaryCredentials']>>>;

/** Lookups in progress. A lookup cannot be cancelled. Requests share it, so that unused lookups do not pile up. */
const lookups = new WeakMap<AwsToken, Promise<FetchedToken>>();

/**
 * Returns the keys as JSON.
 * @throws {TokenFault} there are no keys, AWS rejects the role, or the lookup takes too long.
 * @throws {ProxyError} AWS's service is not reachable.
 */
export async function fetchAwsKeys(settings: AwsToken, peer: SmallPeer): Promise<FetchedToken> {
  const { source, role } = settings;
  if (source.keys !== undefined && role === null) return { token: JSON.stringify(source.keys), lifetimeMs: REREAD_MS };
  let lookup = lookups.get(settings);
  if (lookup === undefined) {
    const begun = new Lookup(settings, peer, await loadPackages()).keys();
    lookup = begun;
    lookups.set(settings, begun);
    const forget = () => {
      clearTimeout(timer);
      if (lookups.get(settings) === begun) lookups.delete(settings);
    };
    const timer = setTimeout(forget, FORGOTTEN_AFTER_MS);
    timer.unref();
    begun.then(forget, forget);
  }
  return withDeadline(lookup, DEADLINE_MS, () => {
    throw new TokenFault(`gave no credentials in ${DEADLINE_MS / 1000} seconds`, { isRejection: false });
  });
}

/** Loads AWS's packages, which need 0.1 s and 10 MB. */
async function loadPackages(): Promise<Packages> {
  // On Node 20, the packages print that their releases of 2027 need Node 22. package.json pins an older release.
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true';
  return import('@aws-sdk/credential-providers');
}

/** One lookup of credentials. */
class Lookup {
  readonly #settings: AwsToken;
  readonly #peer: SmallPeer;
  readonly #packages: Packages;
  readonly #requests: AwsRequests;
  /** Texts that a server may repeat in its errors. */
  readonly #secrets: string[] = [];
  /** Whether the lookup asked a container's address or a metadata server. A retry of such a lookup may succeed. */
  #askedHost = false;

  constructor(settings: AwsToken, peer: SmallPeer, packages: Packages) {
    this.#settings = settings;
    this.#peer = peer;
    this.#packages = packages;
    this.#requests = new AwsRequests(peer);
  }

  async keys(): Promise<FetchedToken> {
    let found: Credentials;
    try {
      found = await this.#withRole(await this.#ofSource());
    } catch (error) {
      throw this.#faultOf(error);
    }
    const { accessKeyId, secretAccessKey, sessionToken, expiration } = found;
    const keys: AwsKeys = { accessKeyId, secretAccessKey, sessionToken: sessionToken ?? null };
    const lifetimeMs = expiration === undefined ? REREAD_MS : expiration.getTime() - Date.now();
    if (!(lifetimeMs > 0)) throw new TokenFault('gave credentials that have expired', { isRejection: false });
    return { token: JSON.stringify(keys), lifetimeMs };
  }

  #ofSource(): Promise<Credentials> {
    const { keys, profile, webIdentity, places } = this.#settings.source;
    if (keys !== undefined) return Promise.resolve(credentialsOf(keys));
    if (profile !== undefined) return this.#ofProfile(profile);
    if (webIdentity !== undefined) return this.#ofWebIdentity(webIdentity);
    return places === undefined ? Promise.reject(new Error('no source')) : this.#ofPlaces(places);
  }

  async #withRole(credentials: Credentials): Promise<Credentials> {
    const { role } = this.#settings;
    return role === null ? credentials : this.#assume(credentials, roleParameters(role));
  }

  #ofProfile(profile: string): Promise<Credentials> {
    const { files } = this.#settings;
    const clientConfig = { requestHandler: this.#requests, maxAttempts: MAX_ATTEMPTS };
    const provider = this.#packages.fromIni({
      profile,
      ignoreCache: true,
      ...(files.credentials === null ? {} : { filepath: files.credentials }),
      ...(files.config === null ? {} : { configFilepath: files.config }),
      clientConfig,
      roleAssumer: (credentials, parameters) => this.#assume(credentials, parameters),
      roleAssumerWithWebIdentity: (parameters) => this.#exchange(parameters),
    });
    return provider();
  }

  async #ofWebIdentity({ role, token }: NonNullable<AwsToken['source']['webIdentity']>): Promise<Credentials> {
    const { RoleArn, RoleSessionName } = roleParameters(role);
    return this.#exchange({ RoleArn, RoleSessionName, WebIdentityToken: await readIdentity(token, this.#peer) });
  }

  /**
   * Tries the sources in the order of AWS's tools, and uses the first source that is configured.
   * @throws {TokenFault} if none is configured.
   * @throws the error of the source.
   */
  async #ofPlaces(places: AwsPlaces): Promise<Credentials> {
    const { profile, webIdentity, container, asksMetadata } = places;
    const reasons: string[] = [];
    try {
      return await this.#ofProfile(profile);
    } catch (error) {
      if (!isMissing(error)) throw error;
      reasons.push(`the profile '${profile}' has none`);
    }
    if (webIdentity !== null) return this.#ofWebIdentity(webIdentity);
    if (container !== null) return this.#ofContainer(container);
    const hint =
      'there are no keys: set aws_access_key_id and aws_secret_access_key, aws_profile_name or aws_role_name';
    if (!asksMetadata) throw new TokenFault(`has no usable credentials: ${hint}`, { isRejection: true });
    this.#askedHost = true;
    try {
      return await this.#packages.fromInstanceMetadata({ timeout: HOST_TIMEOUT_MS })();
    } catch (error) {
      throw new Error(`${hint}; ${reasons.join('; ')}; the metadata server: ${reasonOf(error)}`, { cause: error });
    }
  }

  #ofContainer({ relativeUri, fullUri, token, tokenFile }: NonNullable<AwsPlaces['container']>): Promise<Credentials> {
    this.#askedHost = true;
    if (token !== undefined) this.#secrets.push(token);
    const provider = this.#packages.fromHttp({
      ...(relativeUri === undefined ? {} : { awsContainerCredentialsRelativeUri: relativeUri }),
      ...(relativeUri !== undefined || fullUri === undefined ? {} : { awsContainerCredentialsFullUri: fullUri }),
      ...(tokenFile !== undefined || token === undefined ? {} : { awsContainerAuthorizationToken: token }),
      ...(tokenFile === undefined ? {} : { awsContainerAuthorizationTokenFile: tokenFile }),
      timeout: HOST_TIMEOUT_MS,
      maxRetries: 1,
    });
    return provider();
  }

  #assume(
    credentials: Credentials,
    params: Parameters<Packages['fromTemporaryCredentials']>[0]['params'],
  ): Promise<Credentials> {
    const { accessKeyId, secretAccessKey, sessionToken } = credentials;
    this.#secrets.push(secretAccessKey, ...(sessionToken === undefined ? [] : [sessionToken]));
    const masterCredentials = { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) };
    return this.#packages.fromTemporaryCredentials({ masterCredentials, params, clientConfig: this.#tokenService() })();
  }

  #exchange(parameters: {
    RoleArn: string | undefined;
    RoleSessionName: string | undefined;
    WebIdentityToken: string | undefined;
  }): Promise<Credentials> {
    const {
      RoleArn: roleArn = '',
      RoleSessionName: roleSessionName = '',
      WebIdentityToken: webIdentityToken = '',
    } = parameters;
    this.#secrets.push(webIdentityToken);
    return this.#packages.fromWebToken({
      roleArn,
      roleSessionName,
      webIdentityToken,
      clientConfig: this.#tokenService(),
    })();
  }

  /** Settings of the client for AWS's token service. */
  #tokenService() {
    const { region, stsEndpoint } = this.#settings;
    return {
      region,
      requestHandler: this.#requests,
      maxAttempts: MAX_ATTEMPTS,
      ...(stsEndpoint === null ? {} : { endpoint: stsEndpoint }),
    };
  }

  /** Returns the error of a failed lookup. AWS's rejections, and faults of the configuration, are not worth a retry. */
  #faultOf(error: unknown): Error {
    if (error instanceof TokenFault) return error;
    // Only errors of the proxy's own requests have a kind, for example that the server cannot be reached.
    if (error instanceof Error && 'kind' in error) return error;
    const status = this.#requests.lastStatus;
    const reason = this.#secrets
      .filter((secret) => secret !== '')
      .reduce((text, secret) => text.replaceAll(secret, '****'), reasonOf(error));
    const isThrottled = /throttl|rate exceeded|too ?many/i.test(
      `${error instanceof Error ? error.name : ''} ${reason}`,
    );
    const mayWorkLater =
      this.#askedHost || this.#requests.isUnanswered || (error instanceof Error && error.name === 'ProviderError');
    const isRejection =
      !isThrottled && (status === null ? !mayWorkLater : status >= 400 && status < 500 && status !== 429);
    const answered = status === null || status < 400 ? 'has no usable credentials' : `answered ${status}`;
    // Without a `cause`, because its text may repeat a secret.
    return new TokenFault(`${answered}: ${reason}`, { isRejection });
  }
}

const credentialsOf = ({ accessKeyId, secretAccessKey, sessionToken }: AwsKeys): Credentials => ({
  accessKeyId,
  secretAccessKey,
  ...(sessionToken === null ? {} : { sessionToken }),
});

const roleParameters = ({ arn, sessionName, externalId }: AwsRole) => ({
  RoleArn: arn,
  RoleSessionName: sessionName,
  ...(externalId === null ? {} : { ExternalId: externalId }),
});

/** Returns whether a profile has no credentials at all, so that the next source is tried. */
function isMissing(error: unknown): boolean {
  return (
    error instanceof Error &&
    'tryNextLink' in error &&
    error.tryNextLink === true &&
    error.message.startsWith('Could not resolve credentials using profile')
  );
}

/** Returns AWS's code and text of an error. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return firstLine(String(error));
  const code =
    error.name === 'Error' || error.name === 'CredentialsProviderError' || error.name === 'ProviderError'
      ? ''
      : `${error.name}: `;
  return firstLine(`${code}${error.message}`);
}
