/**
 * Connections for raw requests: Node's agents, with sockets that are opened as for model requests.
 */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Deployment } from '../providers/deployment.js';
import { MAX_HEAD_BYTES } from '../upstream/connection/answer-head.js';
import { ConnectionLife } from '../upstream/connection/connection-life.js';
import type { ConnectionPool } from '../upstream/connection/connection-pool.js';
import type { Way } from '../upstream/send.js';
import { deadline } from '../upstream/time-bounds.js';

/** Idle connections end before common servers (uvicorn, Node: 5 s) end them; in milliseconds. */
const IDLE_MS = 4000;

/** The connection was not open within `connect_timeout`. */
export class ConnectTimeoutError extends Error {
  override readonly name = 'ConnectTimeoutError';

  constructor(readonly limitMs: number) {
    super(`no connection within ${limitMs} ms`);
  }
}

/** The agents of one deployment. */
export interface Agents {
  /** Stores connections for later requests. */
  readonly reusing: HttpAgent;
  /**
   * Opens a connection for each request. For WebSockets, and for requests that cannot be repeated.
   */
  readonly fresh: HttpAgent;
}

interface KnownAgents extends Agents {
  readonly pool: ConnectionPool;
}

/**
 * The agents of all deployments. A reload makes new deployments, which get new agents with new
 * certificates. The old agents end after their last request, and their idle connections time out.
 */
export class AgentsByDeployment {
  readonly #known = new WeakMap<Deployment, KnownAgents>();

  /** Returns the agents for an upstream. */
  of(way: Way): Agents {
    const { pool, peer } = way;
    const { deployment } = peer;
    const known = this.#known.get(deployment);
    if (known?.pool === pool) return known;
    const make = (keepAlive: boolean) => {
      // http-proxy derives the protocol from the agent's class. `createConnection` returns a ready
      // socket.
      const options = { keepAlive, timeout: IDLE_MS };
      const agent = peer.tls === null ? new HttpAgent(options) : new HttpsAgent(options);
      limitConnections(agent);
      acceptLongHeads(agent);
      agent.createConnection = (_options, done) => {
        // The declaration is too narrow: Node reads the socket only if there is no error.
        connect(way, deployment.timeouts.connectMs, done as Connected);
        return undefined;
      };
      return agent;
    };
    const agents = { pool, reusing: make(true), fresh: make(false) };
    this.#known.set(deployment, agents);
    return agents;
  }
}

const lives = new WeakMap<Duplex, ConnectionLife>();

/**
 * Makes an agent close connections that have reached a limit. The agent still obeys the upstream's
 * `Keep-Alive`.
 */
function limitConnections(agent: HttpAgent): void {
  // The declaration has no result. It is false if the upstream announces that it closes the
  // connection soon.
  const keeps: (socket: Duplex) => unknown = agent.keepSocketAlive.bind(agent);
  agent.keepSocketAlive = (socket) => {
    const life = lives.get(socket);
    life?.countRequest();
    return life?.isOver(performance.now()) === false && keeps(socket) !== false;
  };
}

/**
 * Accepts heads up to {@link MAX_HEAD_BYTES} in the answers to an agent's requests, as the client
 * for model requests does. `maxHeaderSize` is an option of `http.request`, but http-proxy does not
 * set it. Node stores the option in the request before the agent gets the request.
 */
function acceptLongHeads(agent: HttpAgent): void {
  // Not declared: `http.request` gives its request to the agent with this method.
  const internal = agent as unknown as { addRequest(request: { maxHeaderSize?: number }, ...rest: unknown[]): void };
  const addRequest = internal.addRequest.bind(agent);
  internal.addRequest = (request, ...rest) => {
    request.maxHeaderSize = MAX_HEAD_BYTES;
    addRequest(request, ...rest);
  };
}

type Connected = (error: Error | null, socket: Socket | null) => void;

function connect({ pool, clock }: Way, limitMs: number | null, done: Connected): void {
  const cancel = pool.open((error, socket) => {
    limit?.stop();
    if (socket !== null) lives.set(socket, new ConnectionLife(performance.now()));
    done(error, socket);
  });
  const limit = deadline(clock, limitMs, () => {
    cancel();
    done(new ConnectTimeoutError(limitMs ?? 0), null);
  });
}
