/** The token sources of all deployments. Deployments with the same settings share a source. */
import type { Log } from '@rackless/daemon/log/log.js';
import type { Steps } from '@rackless/daemon/process/slices.js';
import { ProxyError, toProxyError } from '../../errors/proxy-error.js';
import type { Deployment, DeploymentToken } from '../../providers/deployment.js';
import type { AwsToken } from '../../providers/token.js';
import { BodyStream } from '../body-stream.js';
import { pythonSeconds } from '../connection-faults.js';
import { failingCall } from '../failing-call.js';
import { inModelGroup } from '../model-group.js';
import { rememberSecret } from '../secret-mask.js';
import type { SentCall, Upstream, UpstreamHandler, UpstreamRequest } from '../upstream.js';
import { fetchOauthToken } from './oauth-token.js';
import { TokenFault, TokenSource, type FetchedToken, type TokenResult } from './token-source.js';
import { WaitingCall } from './waiting-call.js';

/** Options of {@link TokenSources}. */
interface TokenSourcesOptions {
  readonly upstream: Pick<Upstream, 'send'>;
  readonly log: Pick<Log, 'warn'>;
}

/** A deployment that needs a token. */
interface TokenNeed {
  readonly deployment: Deployment;
  readonly token: DeploymentToken;
}

/** One deployment for each source, by the key of the source. */
type TokenNeeds = ReadonlyMap<string, TokenNeed>;

/** All token sources. The owner closes them. */
export class TokenSources {
  readonly #options: TokenSourcesOptions;
  #sources = new Map<string, TokenSource>();

  constructor(options: TokenSourcesOptions) {
    this.#options = options;
  }

  /** Collects the deployments that need tokens, for {@link use}. */
  *prepare(deployments: readonly Deployment[]): Steps<TokenNeeds> {
    const needs = new Map<string, TokenNeed>();
    for (const deployment of deployments) {
      for (const target of withTargets(deployment)) {
        const { token } = target;
        if (token === undefined) continue;
        const key = keyOf(token);
        if (!needs.has(key)) needs.set(key, { deployment: target, token });
      }
      yield;
    }
    return needs;
  }

  /** Gets the first tokens before requests arrive, and stops the sources that no deployment uses. */
  use(needs: TokenNeeds): void {
    const former = this.#sources;
    this.#sources = new Map();
    for (const [key, { deployment, token }] of needs) {
      const source = former.get(key) ?? this.#create(deployment, token);
      this.#sources.set(key, source);
      if (source.current() === null) source.refresh();
    }
    for (const [key, source] of former) if (!this.#sources.has(key)) source.close();
  }

  /**
   * Sends a request with the token of its deployment, if that deployment needs one. Waits for a token only if none
   * is valid. If getting one failed in the last seconds, fails at once. The timeouts of the request include the wait.
   * @param sendReady sends the request with the token.
   */
  send(
    request: UpstreamRequest,
    handler: UpstreamHandler,
    sendReady: (request: UpstreamRequest) => SentCall,
  ): SentCall {
    const { deployment, headers, body } = request;
    const { token } = deployment;
    if (token === undefined) return sendReady(request);
    const fail = (error: ProxyError): SentCall => {
      if (body instanceof BodyStream) body.destroy();
      return failingCall(error, handler);
    };
    const send = (result: TokenResult, waitedMs: number): SentCall => {
      if ('fault' in result) return fail(tokenError(deployment, token, result.fault));
      const waited = { ...request, waitedMs };
      if (token.settings.kind === 'aws') return sendSigned(waited, result.token, token.settings, handler, sendReady);
      rememberSecret(deployment, result.token);
      return sendReady({ ...waited, headers: [...headers, 'authorization', `Bearer ${result.token}`] });
    };
    const source = this.#sourceOf(deployment, token);
    const result = source.current();
    if (result !== null) return send(result, 0);
    const startedAt = performance.now();
    const wait = (then: (found: TokenResult) => void) => source.wait(then);
    const ms = Math.min(request.timeouts.firstByteMs ?? Infinity, request.timeouts.totalMs ?? Infinity);
    const limit = { ms, fail: () => fail(tokenTimeout(deployment, token, ms)) };
    return new WaitingCall({
      wait,
      request,
      send: (found: TokenResult) => send(found, performance.now() - startedAt),
      ...(ms <= MAX_WAIT_MS ? { limit } : {}),
    });
  }

  /**
   * Returns the stored token for the handshake of a WebSocket, which cannot wait; null: the
   * deployment needs none. An error: there is no token yet, or the last attempt failed.
   */
  storedToken(deployment: Deployment): string | null | ProxyError {
    const { token } = deployment;
    if (token === undefined) return null;
    const source = this.#sourceOf(deployment, token);
    const result = source.current();
    if (result === null) source.refresh();
    else if ('token' in result) {
      rememberSecret(deployment, result.token);
      return result.token;
    }
    return tokenError(deployment, token, result?.fault ?? noTokenYet());
  }

  #sourceOf(deployment: Deployment, token: DeploymentToken): TokenSource {
    const key = keyOf(token);
    const source = this.#sources.get(key) ?? this.#create(deployment, token);
    // A request that began before a reload may need a source that the reload removed.
    this.#sources.set(key, source);
    return source;
  }

  /** Stops all refreshes. */
  close(): void {
    for (const source of this.#sources.values()) source.close();
  }

  #create(deployment: Deployment, token: DeploymentToken): TokenSource {
    const { upstream, log } = this.#options;
    return new TokenSource({
      fetch: (signal) => fetchToken(token, { upstream, deployment, tls: token.tls, signal }),
      onFault: (fault) =>
        log.warn('no access token for a deployment', { model: deployment.modelName, why: reasonOf(token, fault) }),
    });
  }
}

async function fetchToken(
  { settings }: DeploymentToken,
  peer: Parameters<typeof fetchOauthToken>[1],
): Promise<FetchedToken> {
  if (settings.kind === 'oauth') return fetchOauthToken(settings, peer);
  // These libraries are loaded only for deployments that need them.
  if (settings.kind === 'aws') return (await import('./aws-credentials.js')).fetchAwsKeys(settings, peer);
  const { fetchGoogleToken } = await import('./google-token.js');
  return fetchGoogleToken(settings, peer);
}

/** Signs a request with AWS's keys, and sends it. */
function sendSigned(
  request: UpstreamRequest,
  keys: string,
  settings: AwsToken,
  handler: UpstreamHandler,
  sendReady: (request: UpstreamRequest) => SentCall,
): SentCall {
  const { deployment, body } = request;
  let isCancelled = false;
  const sign = async (): Promise<UpstreamRequest | ProxyError> => {
    const { awsKeysOf, signed } = await import('./aws-signature.js');
    const parsed = awsKeysOf(keys);
    // The upstream never gets the secret key, so only the session token needs a mask.
    if (parsed.sessionToken !== null) rememberSecret(deployment, parsed.sessionToken);
    // Requests to AWS have a JSON body, which is complete.
    return signed(request, body instanceof BodyStream ? [] : body, parsed, settings);
  };
  return new WaitingCall<UpstreamRequest | ProxyError>({
    request,
    wait: (then) => {
      void sign()
        .catch(toProxyError)
        .then((result) => (isCancelled ? undefined : then(result)));
      return () => {
        isCancelled = true;
      };
    },
    send: (result) => (result instanceof ProxyError ? failingCall(result, handler) : sendReady(result)),
  });
}

const withTargets = (deployment: Deployment): readonly Deployment[] => [
  deployment,
  ...[...(deployment.byProvider?.values() ?? [])].filter((target) => target !== null),
];

const keys = new WeakMap<DeploymentToken, string>();

function keyOf(token: DeploymentToken): string {
  let key = keys.get(token);
  if (key === undefined) keys.set(token, (key = JSON.stringify(token)));
  return key;
}

/** No request for a token takes this long, so a longer timeout needs no timer. */
const MAX_WAIT_MS = 3_600_000;

const reasonOf = ({ settings }: DeploymentToken, { message }: TokenFault) => `${settings.issuer} ${message}`;

/**
 * Makes the error of a request without a token: 401 if the credentials are missing, invalid or rejected, otherwise
 * 503. The text has no secret.
 */
function tokenError({ provider, modelName }: Deployment, token: DeploymentToken, fault: TokenFault): ProxyError {
  const text = reasonOf(token, fault);
  if (fault.isRejection) {
    const message = `litellm.AuthenticationError: AuthenticationError: ${provider.exceptionName} - the access token: ${text}`;
    return new ProxyError({
      status: 401,
      kind: 'upstreamStatus',
      failure: 'authentication',
      message: inModelGroup(message, modelName),
      cause: fault,
    });
  }
  const message = `litellm.ServiceUnavailableError: ServiceUnavailableError: ${provider.exceptionName} - the access token: ${text}`;
  const headers = { 'retry-after': '5' };
  return new ProxyError({
    status: 503,
    kind: 'connection',
    failure: 'unreachable',
    message: inModelGroup(message, modelName),
    headers,
    cause: fault,
  });
}

/** Makes the error of a request whose timeout passes while it waits for a token: 408, as {@link timeoutFault}. */
function tokenTimeout({ modelName }: Deployment, { settings }: DeploymentToken, ms: number): ProxyError {
  const text = `${settings.issuer} gave no access token within the timeout - timeout value=${pythonSeconds(ms)}`;
  const message = inModelGroup(`litellm.Timeout: APITimeoutError - Request timed out. ${text} seconds`, modelName);
  return new ProxyError({ status: 408, kind: 'timeout', failure: 'timeout', message });
}

/** The handshake of a WebSocket cannot wait for a token that is being fetched. */
const noTokenYet = () => new TokenFault('has not answered yet', { isRejection: false });
