/** The upstreams of a configuration: which connections a request may use, and what goes over them. */
import type { Log } from '@rackless/daemon/log.js';
import { shuttingDown, type ProxyError } from '../errors.js';
import type { Deployment, UpstreamTls } from '../providers/deployment.js';
import type { Environment } from '../settings.js';
import { BodyStream } from './body-stream.js';
import type { Destination } from './connect.js';
import { connectionFault, unusableDeployment, type Peer } from './connection-faults.js';
import { ConnectionPool } from './connection-pool.js';
import { proxyOf, unbracket, type ForwardProxy } from './environment-proxy.js';
import { RoundTrip } from './round-trip.js';
import { BoundsClock } from './time-bounds.js';
import { readTlsIdentity, type TlsIdentity } from './tls-identity.js';
import type { Upstream, SentCall, UpstreamHandler, UpstreamRequest } from './upstream.js';
import { UnsendableError, wireRequest, type AbsoluteForm } from './wire-request.js';

export interface UpstreamOptions {
  /** Their certificates are read at once, so that what is wrong with them shows before the first request. */
  readonly deployments: readonly Deployment[];
  /** For SSL_CERT_FILE and the forward proxies; `process.env` in the daemon. */
  readonly environment: Environment;
  readonly log: Pick<Log, 'warn' | 'error'>;
}

/** As {@link Upstream}; counts for the metrics besides, and shows the way to those who do not send by it. */
export interface PooledUpstream extends Upstream {
  /** TLS handshakes with upstreams since the start, resumed ones too. */
  readonly handshakes: number;
  /**
   * How connections to an upstream are made, with the same TLS, forward proxy and certificates as for {@link Upstream.send}.
   * @param url absolute.
   * @returns an error where the deployment can not be used: a file that can not be read, a proxy that is none.
   */
  wayTo(deployment: Deployment, url: string): Way | ProxyError;
}

/** The way to one upstream. */
export interface Way {
  /** The same as long as origin, TLS and forward proxy are. */
  readonly pool: ConnectionPool;
  readonly peer: Peer;
  /** Plain HTTP by way of a forward proxy; null: otherwise. */
  readonly absolute: AbsoluteForm | null;
  /** Measures the time limits of whoever goes this way. */
  readonly clock: BoundsClock;
}

/** Makes the one way to all upstreams. Connects to nobody yet. Whoever made it closes it. */
export function createUpstream(options: UpstreamOptions): PooledUpstream {
  return new Upstreams(options);
}

/** Where requests for one deployment go. */
interface Target extends Way {
  /** Scheme and authority as they stand in the URLs of its requests. */
  readonly prefix: string;
  /** Its Host header. */
  readonly host: string;
}

/** Errors that have to do with files and variables of this process: the request is not sent. */
interface Unusable {
  readonly prefix: string;
  readonly fault: ProxyError;
}

class Upstreams implements PooledUpstream {
  readonly #environment: Environment;
  readonly #log: UpstreamOptions['log'];
  readonly #clock = new BoundsClock();
  /** By origin, TLS digest and forward proxy. */
  #pools = new Map<string, ConnectionPool>();
  readonly #leaving = new Set<Promise<void>>();
  /** By the settings as JSON; the files are read once until the next reload. */
  #identities = new Map<string, TlsIdentity | Error>();
  #targets = new WeakMap<Deployment, Target | Unusable>();
  #formerHandshakes = 0;
  #closed = false;

  constructor(options: UpstreamOptions) {
    this.#environment = options.environment;
    this.#log = options.log;
    for (const deployment of options.deployments) this.#prepare(deployment);
  }

  get handshakes(): number {
    return [...this.#pools.values()].reduce((sum, pool) => sum + pool.handshakes, this.#formerHandshakes);
  }

  send(request: UpstreamRequest, handler: UpstreamHandler): SentCall {
    const target = this.#closed ? null : this.#targetOf(request.deployment, request.url);
    const upload = request.body instanceof BodyStream ? request.body : null;
    if (target === null || 'fault' in target) {
      upload?.destroy();
      return failing(target?.fault ?? shuttingDown(), handler);
    }
    const path = request.url.slice(target.prefix.length);
    let wire;
    try {
      wire = wireRequest(request, path === '' ? '/' : path, target);
    } catch (error) {
      if (!(error instanceof UnsendableError)) throw error;
      upload?.destroy();
      return failing(connectionFault(error, { answerBegun: false, reused: false }, target.peer), handler);
    }
    const { pool, peer } = target;
    const trip = new RoundTrip({ pool, clock: this.#clock, peer, request, upload }, wire, handler);
    trip.start();
    return trip;
  }

  wayTo(deployment: Deployment, url: string): Way | ProxyError {
    if (this.#closed) return shuttingDown();
    const target = this.#targetOf(deployment, url);
    return 'fault' in target ? target.fault : target;
  }

  reload(deployments: readonly Deployment[]): void {
    const formerIdentities = this.#identities;
    const formerPools = this.#pools;
    this.#identities = new Map();
    this.#pools = new Map();
    this.#targets = new WeakMap();
    for (const deployment of deployments) {
      this.#readIdentity(deployment.tls, formerIdentities);
      this.#prepare(deployment, formerPools);
    }
    for (const [key, pool] of formerPools) if (!this.#pools.has(key)) this.#retire(pool);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const pool of this.#pools.values()) this.#retire(pool);
    this.#pools = new Map();
    await Promise.all(this.#leaving);
  }

  #retire(pool: ConnectionPool): void {
    this.#formerHandshakes += pool.handshakes;
    const end = pool.retire().finally(() => this.#leaving.delete(end));
    this.#leaving.add(end);
  }

  #prepare(deployment: Deployment, formerPools?: ReadonlyMap<string, ConnectionPool>): void {
    this.#targets.set(deployment, this.#resolve(deployment, deployment.apiBase, formerPools));
  }

  #targetOf(deployment: Deployment, url: string): Target | Unusable {
    const known = this.#targets.get(deployment);
    if (known !== undefined && hasPrefix(url, known.prefix)) return known;
    // Not of the present configuration (its request began before a reload), or a URL elsewhere.
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
      this.#log.error('a deployment can not be used', { model: deployment.modelName, deployment: deployment.id, why });
      return { prefix, fault: unusableDeployment(deployment, why, error) };
    }
  }

  #poolOf(origin: URL, peer: Peer, formerPools: ReadonlyMap<string, ConnectionPool> | undefined): ConnectionPool {
    const { hostname, port, tls, proxy } = peer;
    const key = JSON.stringify([origin.protocol, hostname, port, tls?.digest, proxy]);
    const present = this.#pools.get(key) ?? formerPools?.get(key);
    const pool = present ?? new ConnectionPool(this.#destinationOf(peer, proxy));
    this.#pools.set(key, pool);
    return pool;
  }

  #destinationOf({ hostname, port, tls }: Peer, proxy: ForwardProxy | null): Destination {
    // A forward proxy's own certificate has nothing to do with a deployment's settings.
    const proxyTls =
      proxy?.protocol === 'https:' ? this.#readIdentity({ verify: true, clientCertificate: null }) : null;
    if (proxy === null) return { hostname, port, tls, tunnel: null };
    if (tls === null) return { hostname: proxy.hostname, port: proxy.port, tls: proxyTls, tunnel: null };
    return { hostname, port, tls, tunnel: { proxy, tls: proxyTls } };
  }

  /** @throws {Error} when a file cannot be read, or could not the last time. */
  #readIdentity(tls: UpstreamTls, former?: ReadonlyMap<string, TlsIdentity | Error>): TlsIdentity {
    const key = JSON.stringify(tls);
    const known = this.#identities.get(key) ?? this.#read(tls, former?.get(key));
    this.#identities.set(key, known);
    if (known instanceof Error) throw known;
    return known;
  }

  #read(tls: UpstreamTls, former: TlsIdentity | Error | undefined): TlsIdentity | Error {
    try {
      return readTlsIdentity(tls, this.#environment);
    } catch (error) {
      const failed = error instanceof Error ? error : new Error(String(error));
      if (former === undefined || former instanceof Error) return failed;
      this.#log.error('certificates could not be read again: the former ones stay', { why: failed.message });
      return former;
    }
  }
}

/** `https://host:port` of an absolute URL. */
function prefixOf(url: string): string {
  const end = url.slice(url.indexOf('://') + 3).search(/[/?#]/);
  return end === -1 ? url : url.slice(0, url.indexOf('://') + 3 + end);
}

/** `https://host` is no prefix of `https://host.example/`. */
function hasPrefix(url: string, prefix: string): boolean {
  if (!url.startsWith(prefix)) return false;
  const next = url[prefix.length];
  return next === '/' || next === '?' || next === undefined;
}

/** A call that ends in an error, later, as all calls do. */
function failing(fault: ProxyError, handler: UpstreamHandler): SentCall {
  let aborted = false;
  queueMicrotask(() => {
    if (!aborted) handler.onError(fault);
  });
  return { abort: () => void (aborted = true), pause: () => undefined, resume: () => undefined, hasLeftBody: false };
}
