/**
 * Kills a daemon at one of its writes to a simulated cloud. A write is each request to Nova or Glance
 * that is not a GET.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NovaHandler } from '../../support/cloud-server.js';
import type { ServedCloud } from '../../support/served-cloud.js';

/** The moment of a kill. */
export interface Kill {
  /** The number of earlier writes. */
  readonly write: number;
  /** `before`: the write does not reach the service. `after`: it does, but the daemon does not get the answer. */
  readonly when: 'before' | 'after';
}

/** A daemon that a test kills. */
export interface DoomedDaemon {
  /** The writes so far, such as `PUT nova/servers/…`. */
  readonly writes: readonly string[];
  /** Whether the daemon was killed. After this, no request of the daemon reaches Nova or Glance. */
  readonly isKilled: boolean;
}

/** Returns the token of a request; the text `undefined` for requests of the test itself. */
const tokenOf = ({ headers }: IncomingMessage): string => String(headers['x-auth-token']);

/** Returns the tokens of the daemons that send a request to Nova from now on. The set grows. */
export function seeTokens({ api }: ServedCloud): ReadonlySet<string> {
  const tokens = new Set<string>();
  const { nova } = api;
  api.nova = (...request) => {
    tokens.add(tokenOf(request[0]));
    nova(...request);
  };
  return tokens;
}

/**
 * Simulates a kill of the daemons with the given tokens at a write: Nova and Glance get no further request of them.
 * @param tokens the tokens of the daemons that have started before.
 */
export function killAt({ api }: ServedCloud, tokens: ReadonlySet<string>, { write, when }: Kill): DoomedDaemon {
  const writes: string[] = [];
  let isKilled = false;
  const withKill = (service: string, next: NovaHandler): NovaHandler => {
    return (request, response, path) => {
      if (!tokens.has(tokenOf(request))) {
        next(request, response, path);
        return;
      }
      // The daemon does not retry after a 403, so the operations of the killed daemon end at once.
      if (isKilled) response.writeHead(403).end();
      else if (request.method === 'GET') next(request, response, path);
      else {
        writes.push(`${request.method ?? ''} ${service}${path}`);
        isKilled = writes.length > write;
        if (!isKilled) next(request, response, path);
        else if (when === 'before') response.destroy();
        else next(request, withoutAnswer(response), path);
      }
    };
  };
  api.nova = withKill('nova', api.nova);
  const image = api.others.get('image');
  if (image !== undefined) api.others.set('image', withKill('glance', image));
  return {
    writes,
    get isKilled() {
      return isKilled;
    },
  };
}

/** Changes a response so that it closes the connection instead of sending the answer. */
function withoutAnswer(response: ServerResponse): ServerResponse {
  response.writeHead = () => response;
  response.end = () => response.destroy();
  return response;
}
