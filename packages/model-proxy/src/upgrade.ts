/** Answers WebSocket handshakes. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { upgradeResponse } from '@rackless/daemon/http/upgrade-response.js';
import { subprotocolKey } from './auth/client-keys.js';
import { authorize, headFault, type PassThrough } from './dispatch.js';
import { plainPath } from './endpoints/paths.js';
import { userParamUncheckable } from './errors/access.js';
import { noSuchPath } from './errors/path.js';
import { ProxyError, toProxyError } from './errors/proxy-error.js';
import { admitClient, budgetFault, closedFault } from './exchange/admission.js';
import { breakOff, refuse } from './exchange/answer/refusal.js';
import type { Exchange, ProxyState } from './exchange/exchange.js';
import { handshakeFault } from './pass-through/web-socket/handshake.js';
import { closingNames } from './pass-through/paths.js';
import { queryKey } from './pass-through/query-key.js';

/** Begins the exchange of a request. */
type Begin = (request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean) => Exchange;

/** Options of {@link createUpgrade}. */
interface UpgradeOptions {
  readonly begin: Begin;
  readonly passThrough: PassThrough | undefined;
  /** Returns the state of the current configuration. */
  readonly current: () => Pick<ProxyState, 'authenticate' | 'gate' | 'keys'>;
}

/**
 * Makes the function that answers a handshake. The client waits for the answer before it sends
 * frames.
 */
export function createUpgrade({ begin, passThrough, current }: UpgradeOptions) {
  return (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    const response = upgradeResponse(request, socket);
    if (response === undefined) return;
    const exchange = begin(request, response, true);
    const path = plainPath(request.url ?? '/');
    try {
      const rejection = headFault(request) ?? exchange.proxy.gate?.(request, path);
      if (rejection !== undefined) refuse(exchange, rejection);
      else if (passThrough?.accepts(path) !== true) refuse(exchange, noSuchPath('WebSocket', path));
      else {
        exchange.routeLabel = 'pass-through';
        const fault = handshakeFault(request);
        if (fault !== undefined) refuse(exchange, fault);
        // A session may name its user only in its events, after it has opened.
        else if (exchange.proxy.settings.enforceUserParam) refuse(exchange, userParamUncheckable(path));
        else if (authorize(exchange, false, keyBeside(request, path))) {
          const closed = closedFault(exchange, () => closingNames(path));
          const recheck = () => accessFault(request, path, current());
          if (closed !== undefined) refuse(exchange, closed);
          else admitClient(exchange, () => passThrough.upgrade(exchange, { socket: request.socket, head, recheck }));
        }
      }
    } catch (error) {
      breakOff(exchange, toProxyError(error));
    }
  };
}

/** Returns the error if the client of an open WebSocket may no longer use the proxy. */
function accessFault(
  request: IncomingMessage,
  path: string,
  { authenticate, gate, keys }: ReturnType<UpgradeOptions['current']>,
): ProxyError | undefined {
  const client = authenticate(request, keyBeside(request, path));
  if (client instanceof ProxyError) return client;
  return gate?.(request, path) ?? budgetFault(client.key, keys?.store);
}

/** Returns the key of a client that cannot set headers, such as a browser; undefined: none. */
function keyBeside({ headers, url = '/' }: IncomingMessage, path: string): string | undefined {
  return subprotocolKey(headers) ?? queryKey(path, url);
}
