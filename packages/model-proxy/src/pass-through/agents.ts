/**
 * Makes agents for the handshakes of WebSockets. They connect as the upstream client does for model
 * requests: with the same TLS, forward proxy and timeouts.
 */
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Socket } from 'node:net';
import { MAX_HEAD_BYTES } from '../upstream/connection/answer-head.js';
import type { Connector } from '../upstream/targets.js';
import { deadline } from '../upstream/deadlines.js';

/** The error if the connection is not open within `connect_timeout`. */
export class ConnectTimeoutError extends Error {
  override readonly name = 'ConnectTimeoutError';

  constructor(readonly limitMs: number) {
    super(`no connection within ${limitMs} ms`);
  }
}

/** Makes the agent of one handshake, which opens one connection. */
export function agentOf(connector: Connector): HttpAgent {
  // http-proxy derives the protocol from the agent's class. So the class must match, although
  // `createConnection` passes a ready socket, whose TLS handshake is done.
  const agent = connector.peer.tls === null ? new HttpAgent() : new HttpsAgent();
  acceptLongHeads(agent);
  agent.createConnection = (_options, done) => {
    // The declaration is too narrow: Node reads the socket only if there is no error.
    connect(connector, connector.peer.deployment.timeouts.connectMs, done as Connected);
    return undefined;
  };
  return agent;
}

/**
 * Accepts heads up to {@link MAX_HEAD_BYTES} in the answers to an agent's requests, as for other
 * requests. `maxHeaderSize` is an option of `http.request`, but http-proxy does not set it. Node
 * stores the option in the request before the agent gets the request, so the agent can change it.
 */
function acceptLongHeads(agent: HttpAgent): void {
  // Missing in Node's declarations: `http.request` gives its request to the agent with this method.
  const internal = agent as unknown as { addRequest(request: { maxHeaderSize?: number }, ...rest: unknown[]): void };
  const addRequest = internal.addRequest.bind(agent);
  internal.addRequest = (request, ...rest) => {
    request.maxHeaderSize = MAX_HEAD_BYTES;
    addRequest(request, ...rest);
  };
}

type Connected = (error: Error | null, socket: Socket | null) => void;

function connect({ pool, clock }: Connector, limitMs: number | null, done: Connected): void {
  const cancel = pool.open((error, socket) => {
    limit?.stop();
    done(error, socket);
  });
  const limit = deadline(clock, limitMs, () => {
    cancel();
    done(new ConnectTimeoutError(limitMs ?? 0), null);
  });
}
