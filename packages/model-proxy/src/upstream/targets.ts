/** Resolves deployments to connection pools. A reload makes new targets beside those in use. */
import type { Log } from '@rackless/daemon/log/log.js';
import type { ProxyError } from '../errors/proxy-error.js';
import type { Deployment, UpstreamTls } from '../providers/deployment.js';
import type { Environment } from '../settings.js';
import { unusableDeployment } from './connection-faults.js';
import type { Destination } from './connection/connect.js';
import { ConnectionPool } from './connection/connection-pool.js';
import type { AbsoluteForm } from './connection/wire-request.js';
import type { DeadlineClock } from './deadlines.js';
import { proxyOf, unbracket, type ForwardProxy } from './environment-proxy.js';
import type { Peer } from './peer.js';
import { readTlsIdentity, type TlsIdentity } from './tls-identity.js';

/** Everything that a connection to an upstream needs. */
export interface Connector {
  /** The same pool for the same origin, TLS and forward proxy. */
  readonly pool: ConnectionPool;
  readonly peer: Peer;
  /** Set for plain HTTP through a forward proxy, otherwise null. */
  readonly absolute: AbsoluteForm | null;
  /** The access token for the request that opens a WebSocket; absent: the deployment needs none. */
  readonly accessToken?: string;
  /** The clock for deadlines of requests to this upstream. */
  readonly clock: DeadlineClock;
}

/** The destination of a deployment's requests. */
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

/** The part of a target that deployments with the same origin and TLS settings share. */
type Origin = Pick<Target, 'host' | 'pool' | 'absolute'> & Pick<Peer, 'hostname' | 'port' | 'tls' | 'proxy'>;

/** Options of {@link Targets}. */
export interface TargetsOptions {
  /** `process.env` in the daemon. Contains SSL_CERT_FILE and the forward proxies. */
  readonly environment: Environment;
  readonly log: Pick<Log, 'error'>;
  readonly clock: DeadlineClock;
}

/** The targets of one configuration. */
export class Targets {
  readonly #options: TargetsOptions;
  /** The targets of the former configuration; null: there is none, or these targets are in use. */
  #former: Targets | null;
  /** Pools by origin, TLS digest and forward proxy. */
  readonly #pools = new Map<string, ConnectionPool>();
  /** TLS identities by settings as JSON. The files are read once. */
  readonly #identities = new Map<string, TlsIdentity | Error>();
  /** Origins by prefix and TLS settings: a configuration can have thousands of deployments at one upstream. */
  readonly #origins = new Map<string, Origin>();
  readonly #targets = new WeakMap<Deployment, Target | Unusable>();

  /** @param former has pools to share, and certificates in case that the new ones cannot be read. */
  constructor(options: TargetsOptions, former: Targets | null) {
    this.#options = options;
    this.#former = former;
  }

  get pools(): Iterable<ConnectionPool> {
    return this.#pools.values();
  }

  /**
   * Resolves a deployment. If its certificates cannot be read at the start, the deployment becomes
   * unusable.
   * @throws {Error} on a reload, if its certificates cannot be read, and there are no old ones.
   */
  add(deployment: Deployment): void {
    const { tls, apiBase } = deployment;
    if (this.#former !== null && isHttps(apiBase)) this.#readIdentity(tls);
    this.#targets.set(deployment, this.#resolve(deployment, deployment.apiBase));
    for (const target of deployment.byProvider?.values() ?? []) if (target !== null) this.addIfUsed(target);
  }

  /**
   * Resolves a deployment if the former targets used its origin with the same TLS settings. Then its connections stay
   * open.
   * @throws {Error} as {@link add}.
   */
  addIfUsed(deployment: Deployment): void {
    const former = this.#former;
    if (former === null || !former.#origins.has(originKey(prefixOf(deployment.apiBase), deployment.tls))) return;
    this.add(deployment);
  }

  /**
   * Ends the preparation, because these targets are in use from now on.
   * @returns the pools of the former targets that these do not share. The caller retires them.
   */
  replace(former: Targets): readonly ConnectionPool[] {
    this.#former = null;
    const shared = new Set(this.pools);
    return [...former.pools].filter((pool) => !shared.has(pool));
  }

  /** Returns the target of a deployment for a URL, also if the deployment was not added. */
  of(deployment: Deployment, url: string): Target | Unusable {
    const cached = this.#targets.get(deployment);
    if (cached !== undefined && hasPrefix(url, cached.prefix)) return cached;
    // The deployment was not added (for example, the request began before a reload), or the URL has another origin.
    const target = this.#resolve(deployment, url);
    this.#targets.set(deployment, target);
    return target;
  }

  #resolve(deployment: Deployment, url: string): Target | Unusable {
    const prefix = prefixOf(url);
    try {
      const { host, pool, absolute, hostname, port, tls, proxy } = this.#originOf(prefix, url, deployment.tls);
      const peer: Peer = { deployment, hostname, port, tls, proxy };
      return { prefix, host, pool, peer, absolute, clock: this.#options.clock };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const { modelName: model, id } = deployment;
      this.#options.log.error('a deployment cannot be used', { model, deployment: id, why });
      return { prefix, fault: unusableDeployment(deployment, why, error) };
    }
  }

  /** Returns the origin of a URL; creates it if it is not known. @throws {Error} the deployment cannot be used. */
  #originOf(prefix: string, url: string, settings: UpstreamTls): Origin {
    const key = originKey(prefix, settings);
    const known = this.#origins.get(key);
    if (known !== undefined) return known;
    const { environment } = this.#options;
    const address = new URL(url);
    const isTls = address.protocol === 'https:';
    const hostname = unbracket(address.hostname);
    const port = Number(address.port === '' ? (isTls ? 443 : 80) : address.port);
    const proxy = proxyOf(address, environment);
    const tls = isTls ? this.#readIdentity(settings) : null;
    const { host } = address;
    const absolute = proxy === null || isTls ? null : { host, authorization: proxy.authorization };
    const pool = this.#poolOf({ hostname, port, tls, proxy }, address.protocol);
    const origin = { host, pool, absolute, hostname, port, tls, proxy };
    this.#origins.set(key, origin);
    return origin;
  }

  #poolOf(peer: Omit<Peer, 'deployment'>, protocol: string): ConnectionPool {
    const { hostname, port, tls, proxy } = peer;
    const key = JSON.stringify([protocol, hostname, port, tls?.digest, proxy]);
    const former = this.#former === null ? undefined : this.#former.#pools.get(key);
    const pool = this.#pools.get(key) ?? former ?? new ConnectionPool(this.#destinationOf(peer, proxy));
    this.#pools.set(key, pool);
    return pool;
  }

  #destinationOf({ hostname, port, tls }: Omit<Peer, 'deployment'>, proxy: ForwardProxy | null): Destination {
    // The settings of a deployment do not apply to the certificate of a forward proxy.
    const proxyTls =
      proxy?.protocol === 'https:' ? this.#readIdentity({ verify: true, clientCertificate: null }) : null;
    if (proxy === null) return { hostname, port, tls, tunnel: null };
    if (tls === null) return { hostname: proxy.hostname, port: proxy.port, tls: proxyTls, tunnel: null };
    return { hostname, port, tls, tunnel: { proxy, tls: proxyTls } };
  }

  /**
   * Returns the TLS identity of settings. Reads the files of each setting once for each configuration.
   * @throws {Error} if a file cannot be read, and the former configuration has no valid identity.
   */
  #readIdentity(tls: UpstreamTls): TlsIdentity {
    const key = JSON.stringify(tls);
    const former = this.#former === null ? undefined : this.#former.#identities.get(key);
    const identity = this.#identities.get(key) ?? this.#read(tls, former);
    this.#identities.set(key, identity);
    if (identity instanceof Error) throw identity;
    return identity;
  }

  #read(tls: UpstreamTls, former: TlsIdentity | Error | undefined): TlsIdentity | Error {
    const { environment, log } = this.#options;
    const valid = former === undefined || former instanceof Error ? null : former;
    try {
      return readTlsIdentity(tls, environment, valid);
    } catch (error) {
      const failed = error instanceof Error ? error : new Error(String(error));
      if (valid === null) return failed;
      log.error('reloading certificates failed: the old ones stay in use', { why: failed.message });
      return valid;
    }
  }
}

const originKey = (prefix: string, settings: UpstreamTls) => `${prefix} ${JSON.stringify(settings)}`;

const isHttps = (url: string) => /^https:/i.test(url);

/** Returns scheme and authority of an absolute URL: `https://host:port`. */
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
