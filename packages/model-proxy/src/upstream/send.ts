/**
 * Implements {@link Upstream}: selects the connection pool of each request, and sends the request.
 */
import type { Log } from '@rackless/daemon/log/log.js';
import { runAtOnce, type Steps } from '@rackless/daemon/process/slices.js';
import { ProxyError, shuttingDown } from '../errors/proxy-error.js';
import type { Deployment } from '../providers/deployment.js';
import type { Environment } from '../settings.js';
import { BodyStream } from './body-stream.js';
import type { ConnectionPool } from './connection/connection-pool.js';
import { connectionFault } from './connection-faults.js';
import { failingCall } from './failing-call.js';
import { RoundTrip } from './round-trip.js';
import { DeadlineClock } from './deadlines.js';
import { Targets, type Connector, type TargetsOptions } from './targets.js';
import { TokenSources } from './tokens/token-sources.js';
import type { Upstream, SentCall, UpstreamHandler, UpstreamRequest } from './upstream.js';
import { UnsendableError, wireRequest } from './connection/wire-request.js';

/** Options of {@link createUpstream}. */
interface UpstreamOptions {
  /**
   * The configured deployments. The creation reads their certificates, to log faults before the first request, and
   * requests their first access tokens.
   */
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
   *   is invalid, there is no valid access token, or {@link Upstream.close} was called.
   */
  connectorFor(deployment: Deployment, url: string): Connector | ProxyError;
}

/**
 * Creates the {@link PooledUpstream} for all deployments. The creation connects only to token servers, to get the first
 * tokens. The caller closes the result.
 */
export function createUpstream(options: UpstreamOptions): PooledUpstream {
  return new Upstreams(options);
}

class Upstreams implements PooledUpstream {
  readonly #options: TargetsOptions;
  /** Replaced pools, until their last connection has ended. */
  readonly #closing = new Set<Promise<void>>();
  #targets: Targets;
  /** Handshakes of replaced pools. */
  #formerHandshakes = 0;
  #closed = false;

  readonly #tokens: TokenSources;

  constructor({ environment, log, deployments }: UpstreamOptions) {
    this.#options = { environment, log, clock: new DeadlineClock() };
    this.#tokens = new TokenSources({ upstream: this, log });
    this.#targets = new Targets(this.#options, null);
    for (const deployment of deployments) this.#targets.add(deployment);
    this.#tokens.use(runAtOnce(this.#tokens.prepare(deployments)));
  }

  get handshakes(): number {
    return [...this.#targets.pools].reduce((sum, pool) => sum + pool.handshakes, this.#formerHandshakes);
  }

  send(request: UpstreamRequest, handler: UpstreamHandler): SentCall {
    if (request.deployment.token === undefined || this.#closed) return this.#send(request, handler);
    return this.#tokens.send(request, handler, (ready) => this.#send(ready, handler));
  }

  #send(request: UpstreamRequest, handler: UpstreamHandler): SentCall {
    const target = this.#closed ? null : this.#targets.of(request.deployment, request.url);
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
    const trip = new RoundTrip({ pool, clock: this.#options.clock, peer, request, upload }, wire, handler);
    trip.start();
    return trip;
  }

  connectorFor(deployment: Deployment, url: string): Connector | ProxyError {
    if (this.#closed) return shuttingDown();
    const target = this.#targets.of(deployment, url);
    if ('fault' in target) return target.fault;
    const accessToken = this.#tokens.storedToken(deployment);
    if (accessToken instanceof ProxyError) return accessToken;
    return accessToken === null ? target : { ...target, accessToken };
  }

  *prepare(deployments: readonly Deployment[], onDemand: readonly Deployment[] = []): Steps<() => void> {
    const next = new Targets(this.#options, this.#targets);
    for (const deployment of deployments) {
      next.add(deployment);
      yield;
    }
    for (const deployment of onDemand) next.addIfUsed(deployment);
    const tokens = yield* this.#tokens.prepare(deployments);
    return () => {
      for (const pool of next.replace(this.#targets)) this.#retire(pool);
      this.#targets = next;
      this.#tokens.use(tokens);
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#tokens.close();
    for (const pool of this.#targets.pools) this.#retire(pool);
    this.#targets = new Targets(this.#options, null);
    await Promise.all(this.#closing);
  }

  #retire(pool: ConnectionPool): void {
    this.#formerHandshakes += pool.handshakes;
    const end = pool.retire().finally(() => this.#closing.delete(end));
    this.#closing.add(end);
  }
}
