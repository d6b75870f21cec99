/**
 * Implements {@link Upstream}: selects the connection pool of each request, and sends the request.
 */
import type { Log } from '@rackless/daemon/log/log.js';
import { ProxyError, shuttingDown } from '../errors/proxy-error.js';
import type { Deployment, UpstreamTls } from '../providers/deployment.js';
import type { Environment } from '../settings.js';
import { BodyStream } from './body-stream.js';
import type { Destination } from './connection/connect.js';
import { connectionFault, unusableDeployment } from './connection-faults.js';
import { failingCall } from './failing-call.js';
import { ConnectionPool } from './connection/connection-pool.js';
import { proxyOf, unbracket, type ForwardProxy } from './environment-proxy.js';
import type { Peer } from './peer.js';
import { RoundTrip } from './round-trip.js';
import { DeadlineClock } from './deadlines.js';
import { readTlsIdentity, type TlsIdentity } from './tls-identity.js';
import { TokenSources } from './tokens/token-sources.js';
import type { Upstream, SentCall, UpstreamHandler, UpstreamRequest } from './upstream.js';
import { UnsendableError, wireRequest, type AbsoluteForm } from './connection/wire-request.js';

/** Options of {@link createUpstream}. */
interface UpstreamOptions {
  /** Deployments whose certificates are read now, to log faults before the first request. */
  readonly deployments: readonly Deployment[];
  /** `process.env` in the daemon. Contains SSL_CERT_FILE and the forward proxies. */
  readonly environment: Environment;
  readonly log: Pick<Log, 'warn' | 'error'>;
}

/**
 * An {@link Upstream} that also counts handshakes for the metrics, and lets WebSockets connect to
 * the same upstreams.
 */
export interface PooledUpstream extends Upstream {
  /** Number of TLS handshakes since the start, resumed sessions included. */
  readonly handshakes: number;
  /**
   * Returns the connector for an upstream: the same TLS, forward proxy and certificates as for
   * {@link Upstream.send}.
   * @param url absolute.
   * @returns an error if the deployment cannot be used now: a file cannot be read, the forward proxy
   *   is invalid, there is no valid access token, or the client is closed.
   */
  connectorFor(deployment: Deployment, url: string): Connector | ProxyError;
}

/** Everything that a connection to an upstream needs. */
export interface Connector {
  /** The same pool for the same origin, TLS and forward proxy. */
  readonly pool: ConnectionPool;
  readonly peer: Peer;
  /** Set for plain HTTP through a forward proxy, otherwise null. */
  readonly absolute: AbsoluteForm | null;
  /** The access token for the request that opens the WebSocket; absent: the deployment needs none. */
  readonly accessToken?: string;
  /** The clock for deadlines of requests to this upstream. */
  readonly clock: DeadlineClock;
}

/** Makes the client for all upstreams. Does not connect yet. The caller closes it. */
export function createUpstream(options: UpstreamOptions): PooledUpstream {
  return new Upstreams(options);
}

/** Where and how the requests of a deployment are sent. */
interface Target extends Connector {
  /** Scheme and authority of the URLs of its requests. */
  readonly prefix: string;
  /** Host header of the upstream. */
  readonly host: string;
}

/**
 * A deployment that cannot be used because of files or variables of this process. Its requests fail
 * without being sent.
 */
interface Unusable {
  readonly prefix: string;
  readonly fault: ProxyError;
}

class Upstreams implements PooledUpstream {
  readonly #environment: Environment;
  readonly #log: UpstreamOptions['log'];
  readonly #clock = new DeadlineClock();
  /** Pools by origin, TLS digest and forward proxy. */
  #pools = new Map<string, ConnectionPool>();
  /** Replaced pools, until their last connection has ended. */
  readonly #closing = new Set<Promise<void>>();
  /** TLS identities by settings as JSON. Files are read once until the next reload. */
  #identities = new Map<string, TlsIdentity | Error>();
  #targets = new WeakMap<Deployment, Target | Unusable>();
  /** Handshakes of replaced pools. */
  #formerHandshakes = 0;
  #closed = false;

  readonly #tokens: TokenSources;

  constructor(options: UpstreamOptions) {
    this.#environment = options.environment;
    this.#log = options.log;
    this.#tokens = new TokenSources({ upstream: this, log: options.log });
    for (const deployment of options.deployments) this.#prepare(deployment);
    this.#tokens.prepare(options.deployments);
  }

  get handshakes(): number {
    return [...this.#pools.values()].reduce((sum, pool) => sum + pool.handshakes, this.#formerHandshakes);
  }

  send(request: UpstreamRequest, handler: UpstreamHandler): SentCall {
    if (request.deployment.token === undefined || this.#closed) return this.#send(request, handler);
    return this.#tokens.send(request, handler, (ready) => this.#send(ready, handler));
  }

  #send(request: UpstreamRequest, handler: UpstreamHandler): SentCall {
    const target = this.#closed ? null : this.#targetOf(request.deployment, request.url);
    const upload = request.body instanceof BodyStream ? request.body : null;
    if (target === null || 'fault' in target) {
      upload?.destroy();
      return failingCall(target?.fault ?? shuttingDown(), handler);
    }
    const path = request.url.slice(target.prefix.length);
    let wire;
    try {
      wire = wireRequest(request, path === '' ? '/' : path, target);
    } catch (error) {
      if (!(error instanceof UnsendableError)) throw error;
      upload?.destroy();
      return failingCall(connectionFault(error, { answerBegun: false, reused: false }, target.peer), handler);
    }
    const { pool, peer } = target;
    const trip = new RoundTrip({ pool, clock: this.#clock, peer, request, upload }, wire, handler);
    trip.start();
    return trip;
  }

  connectorFor(deployment: Deployment, url: string): Connector | ProxyError {
    if (this.#closed) return shuttingDown();
    const target = this.#targetOf(deployment, url);
    if ('fault' in target) return target.fault;
    const accessToken = this.#tokens.storedToken(deployment);
    if (accessToken instanceof ProxyError) return accessToken;
    return accessToken === null ? target : { ...target, accessToken };
  }

  reload(deployments: readonly Deployment[]): void {
    const formerIdentities = this.#identities;
    this.#identities = new Map();
    try {
      for (const { tls } of deployments) this.#readIdentity(tls, formerIdentities);
    } catch (error) {
      this.#identities = formerIdentities;
      throw error;
    }
    const formerPools = this.#pools;
    this.#pools = new Map();
    this.#targets = new WeakMap();
    for (const deployment of deployments) this.#prepare(deployment, formerPools);
    for (const [key, pool] of formerPools) if (!this.#pools.has(key)) this.#retire(pool);
    this.#tokens.prepare(deployments);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#tokens.close();
    for (const pool of this.#pools.values()) this.#retire(pool);
    this.#pools = new Map();
    await Promise.all(this.#closing);
  }

  #retire(pool: ConnectionPool): void {
    this.#formerHandshakes += pool.handshakes;
    const end = pool.retire().finally(() => this.#closing.delete(end));
    this.#closing.add(end);
  }

  #prepare(deployment: Deployment, formerPools?: ReadonlyMap<string, ConnectionPool>): void {
    this.#targets.set(deployment, this.#resolve(deployment, deployment.apiBase, formerPools));
  }

  #targetOf(deployment: Deployment, url: string): Target | Unusable {
    const cached = this.#targets.get(deployment);
    if (cached !== undefined && hasPrefix(url, cached.prefix)) return cached;
    // The request began before a reload, or its URL has another origin.
    const target = this.#resolve(deployment, url);
    this.#targets.set(deployment, target);
    return target;
  }

  #resolve(deployment: Deployment, url: string, formerPools?: ReadonlyMap<string, ConnectionPool>): Target | Unusable {
    const prefix = prefixOf(url);
    try {
      const origin = new URL(url);
      const isTls = origin.protocol === 'https:';
      const proxy = proxyOf(origin, this.#environment);
      const peer: Peer = {
        deployment,
        hostname: unbracket(origin.hostname),
        port: Number(origin.port === '' ? (isTls ? 443 : 80) : origin.port),
        tls: isTls ? this.#readIdentity(deployment.tls) : null,
        proxy,
      };
      const pool = this.#poolOf(origin, peer, formerPools);
      return {
        prefix,
        host: origin.host,
        pool,
        peer,
        absolute: proxy === null || isTls ? null : { host: origin.host, authorization: proxy.authorization },
        clock: this.#clock,
      };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.#log.error('a deployment cannot be used', { model: deployment.modelName, deployment: deployment.id, why });
      return { prefix, fault: unusableDeployment(deployment, why, error) };
    }
  }

  #poolOf(origin: URL, peer: Peer, formerPools: ReadonlyMap<string, ConnectionPool> | undefined): ConnectionPool {
    const { hostname, port, tls, proxy } = peer;
    const key = JSON.stringify([origin.protocol, hostname, port, tls?.digest, proxy]);
    const existing = this.#pools.get(key) ?? formerPools?.get(key);
    const pool = existing ?? new ConnectionPool(this.#destinationOf(peer, proxy));
    this.#pools.set(key, pool);
    return pool;
  }

  #destinationOf({ hostname, port, tls }: Peer, proxy: ForwardProxy | null): Destination {
    // The settings of a deployment do not apply to the certificate of a forward proxy.
    const proxyTls =
      proxy?.protocol === 'https:' ? this.#readIdentity({ verify: true, clientCertificate: null }) : null;
    if (proxy === null) return { hostname, port, tls, tunnel: null };
    if (tls === null) return { hostname: proxy.hostname, port: proxy.port, tls: proxyTls, tunnel: null };
    return { hostname, port, tls, tunnel: { proxy, tls: proxyTls } };
  }

  /**
   * Returns the TLS identity of these settings. Reads the files only once until the next reload, and
   * also remembers a failure.
   * @throws {Error} if a file could not be read, and there is no identity from before the reload.
   */
  #readIdentity(tls: UpstreamTls, former?: ReadonlyMap<string, TlsIdentity | Error>): TlsIdentity {
    const key = JSON.stringify(tls);
    const identity = this.#identities.get(key) ?? this.#read(tls, former?.get(key));
    this.#identities.set(key, identity);
    if (identity instanceof Error) throw identity;
    return identity;
  }

  #read(tls: UpstreamTls, former: TlsIdentity | Error | undefined): TlsIdentity | Error {
    try {
      return readTlsIdentity(tls, this.#environment);
    } catch (error) {
      const failed = error instanceof Error ? error : new Error(String(error));
      if (former === undefined || former instanceof Error) return failed;
      this.#log.error('reloading certificates failed: the old ones stay in use', { why: failed.message });
      return former;
    }
  }
}

/** Returns scheme and authority of an absolute URL, such as `https://host:port`. */
function prefixOf(url: string): string {
  const end = url.slice(url.indexOf('://') + 3).search(/[/?#]/);
  return end === -1 ? url : url.slice(0, url.indexOf('://') + 3 + end);
}

/**
 * Returns whether a URL has the given scheme and authority. `https://host` does not match
 * `https://host.example/`.
 */
function hasPrefix(url: string, prefix: string): boolean {
  if (!url.startsWith(prefix)) return false;
  const next = url[prefix.length];
  return next === '/' || next === '?' || next === undefined;
}
