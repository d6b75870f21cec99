/** Connections for what is passed through raw: Node's own agents, on sockets that are made as for every other request. */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Deployment } from '../providers/deployment.js';
import { MAX_HEAD_BYTES } from '../upstream/answer-head.js';
import { ConnectionLife } from '../upstream/connection-life.js';
import type { ConnectionPool } from '../upstream/connection-pool.js';
import type { Way } from '../upstream/send.js';
import { deadline } from '../upstream/time-bounds.js';

/** Idle connections end before common servers (uvicorn, Node: 5 s) end them; in milliseconds. */
const IDLE_MS = 4000;

/** No connection within `connect_timeout`. */
export class ConnectTimeoutError extends Error {
  override readonly name = 'ConnectTimeoutError';

  constructor(readonly limitMs: number) {
    super(`no connection within ${limitMs} ms`);
  }
}

/** The agents of one deployment. */
export interface Agents {
  /** Keeps connections for the next request. */
  readonly kept: HttpAgent;
  /** A connection for each request: where the request can not be repeated on another, and for WebSockets. */
  readonly fresh: HttpAgent;
}

interface KnownAgents extends Agents {
  readonly pool: ConnectionPool;
}

/**
 * The agents of each way to an upstream. A reload makes new deployments, and so new agents with the certificates of then; the former
 * ones end with their last request, their idle connections by themselves.
 */
export class AgentsByDeployment {
  readonly #known = new WeakMap<Deployment, KnownAgents>();

  of(way: Way): Agents {
    const { pool, peer } = way;
    const { deployment } = peer;
    const known = this.#known.get(deployment);
    if (known?.pool === pool) return known;
    const make = (keepAlive: boolean) => {
      // Which of the two it is tells http-proxy's request the protocol; the socket comes ready from us.
      const options = { keepAlive, timeout: IDLE_MS };
      const agent = peer.tls === null ? new HttpAgent(options) : new HttpsAgent(options);
      limitConnections(agent);
      acceptLongHeads(agent);
      agent.createConnection = (_options, done) => {
        // Declared too narrow: Node asks for the socket only where there is no error.
        connect(way, deployment.timeouts.connectMs, done as Connected);
        return undefined;
      };
      return agent;
    };
    const agents = { pool, kept: make(true), fresh: make(false) };
    this.#known.set(deployment, agents);
    return agents;
  }
}

const lives = new WeakMap<Duplex, ConnectionLife>();

/** Has an agent end connections that may carry no other request. Its rule for the upstream's `Keep-Alive` holds as before. */
function limitConnections(agent: HttpAgent): void {
  // Declared without its result: false where the upstream announces that it closes the connection soon.
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
  // Not declared: the method by which `http.request` gives a request to its agent.
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
