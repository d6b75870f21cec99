/**
 * Routes the requests that app.ts does not route itself: pages, the console, key management, raw requests, model
 * requests at other spellings of their paths, wrong methods and unknown paths. WebSockets and a POST to a usual path of
 * a model request do not come here.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { hasOneHost } from '@rackless/daemon/http/request-head.js';
import { adminOnly, userParamUncheckable } from './errors/access.js';
import { methodNotAllowed, noSuchPath, notImplemented, unreadableRequest, wrongHost } from './errors/path.js';
import { ProxyError } from './errors/proxy-error.js';
import { litellmRoutePage } from './endpoints/litellm-routes.js';
import { forwardedTarget, type Paths } from './endpoints/paths.js';
import { answerJson } from './exchange/answer/answer-json.js';
import { refuse } from './exchange/answer/refusal.js';
import { answerOptions } from './exchange/cors.js';
import { admitClient, closedFault, pathFault, uncheckedModelFault } from './exchange/admission.js';
import type { Exchange } from './exchange/exchange.js';
import { enterProxy, forward } from './exchange/forward.js';
import { handleManagement } from './management/handle.js';
import { isManagementPath, managementPaths } from './management/paths.js';
import { CONSOLE_PATH, isConsolePath, showConsole } from './pages/console.js';
import { modelInfoPage, pagePaths } from './pages/paths.js';
import { modelPagePaths, polledPage } from './pages/polled.js';
import { closingNames, isResponsePath, rawMethods } from './pass-through/paths.js';
import { queryKey } from './pass-through/query-key.js';

/** A client that has sent a WebSocket handshake. */
export interface WebSocketClient {
  readonly socket: Socket;
  /** Bytes that arrived after the client's head. */
  readonly head: Buffer;
  /**
   * Checks the client's address and key again, with the current configuration and the current state of the key.
   * @returns undefined if the client may still use the proxy.
   */
  readonly recheck: () => ProxyError | undefined;
}

/**
 * Raw pass-through: forwards requests that are not model requests, such as files, batches and
 * WebSockets, without parsing them. Paths that the pass-through does not accept get 404 or 501.
 */
export interface PassThrough {
  /**
   * Returns whether a path is passed through.
   * @param path without query, with repeated slashes collapsed.
   */
  accepts(path: string): boolean;
  /** Forwards a request of an authenticated client. Reports errors with {@link refuse}. */
  handle(exchange: Exchange): void;
  /** Loads the modules for raw requests, as {@link App.loadModules}. */
  loadModules(): Promise<void>;
  /**
   * Forwards the WebSocket handshake of an authenticated client, for a path that {@link accepts}
   * matches, and owns the connection from then on. Until this function answers 101 and sets `exchange.upgraded`, the
   * response of the exchange is attached to the socket: ending the response closes the connection. Ends the WebSocket
   * soon after {@link WebSocketClient.recheck} returns an error.
   */
  upgrade(exchange: Exchange, client: WebSocketClient): void;
  /**
   * Sends close code 1001 on every WebSocket, in both directions, as soon as the current frame is
   * complete.
   */
  closeWebSockets(): void;
}

/** Dependencies of {@link createDispatch}. */
interface DispatchOptions {
  readonly paths: Paths;
  /** undefined: no raw pass-through. */
  readonly passThrough: PassThrough | undefined;
  /** Shows a page of Express. */
  readonly showPage: (exchange: Exchange) => void;
}

/**
 * Makes the function that routes requests by path and method.
 * @returns a function that takes the path without query, with repeated slashes collapsed.
 */
export function createDispatch({ paths, passThrough, showPage }: DispatchOptions) {
  return (exchange: Exchange, path: string): void => {
    const method = exchange.request.method ?? '';
    const target = paths.match(path) ?? forwardedTarget(path, exchange.proxy.settings.forwardedPaths);
    if (target !== undefined) {
      if (method === 'POST') forward(exchange, target);
      else otherMethod(exchange, path, 'POST');
      return;
    }
    if (isManagementPath(path)) {
      exchange.routeLabel = path;
      const allowed = managementPaths.get(path) ?? '';
      if (method !== allowed) otherMethod(exchange, path, allowed);
      else if (authorize(exchange, false)) handleManagement(exchange, path);
      return;
    }
    if (isConsolePath(path)) {
      exchange.routeLabel = CONSOLE_PATH;
      if (method !== 'GET' && method !== 'HEAD') otherMethod(exchange, path, 'GET, HEAD');
      else showConsole(exchange, path);
      return;
    }
    const polled = polledPage(path);
    const page = polled ?? pagePaths.get(path);
    if (page !== undefined) {
      exchange.routeLabel = polled?.label ?? path;
      if (method !== 'GET' && method !== 'HEAD') otherMethod(exchange, path, 'GET, HEAD');
      else if (!authorizePage(exchange, path, page.isPublic)) return;
      else if (polled === undefined) showPage(exchange);
      else {
        const result = polled.answer(exchange);
        if (result instanceof ProxyError) refuse(exchange, result);
        else answerJson(exchange, result.status, result.value);
      }
      return;
    }
    if (passThrough?.accepts(path) === true) {
      exchange.routeLabel = 'pass-through';
      if (method === 'OPTIONS') answerOptions(exchange, rawMethods.join(', '));
      else if (exchange.proxy.settings.enforceUserParam && !modelFree.has(method))
        refuse(exchange, userParamUncheckable(path));
      else if (authorize(exchange, false, queryKey(path, exchange.request.url ?? '/'))) {
        const fault =
          closedFault(exchange, () => closingNames(path)) ??
          (isResponsePath(path) ? undefined : uncheckedModelFault(exchange));
        if (fault === undefined) admitClient(exchange, () => enterProxy(exchange, () => passThrough.handle(exchange)));
        else refuse(exchange, fault);
      }
      return;
    }
    const documentation = litellmRoutePage(path);
    refuse(
      exchange,
      documentation === undefined ? noSuchPath(method, path) : notImplemented(method, path, documentation),
    );
  };
}

/** Methods of raw requests that run no model, so they need no `user`. LiteLLM checks `user` only for POST. */
const modelFree: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE']);

/**
 * Checks the version (RFC 9112 §2.3) and the Host header (§3.2), which the listener leaves to the
 * app. Node also accepts a request line without a version, as in HTTP/0.9, and HTTP/2.0.
 * @returns the error for the client; undefined: the head is valid.
 */
export function headFault(request: IncomingMessage): ProxyError | undefined {
  if (request.httpVersionMajor !== 1)
    return unreadableRequest(400, 'The request line must end with HTTP/1.0 or HTTP/1.1.');
  return hasOneHost(request) ? undefined : wrongHost();
}

/**
 * Authenticates the client. If that fails, answers with the error.
 * @param isPublic whether the path needs no key.
 * @param elsewhere a key in another place than the usual headers.
 * @returns whether the request may proceed.
 */
export function authorize(exchange: Exchange, isPublic: boolean, elsewhere?: string): boolean {
  if (isPublic) return true;
  const client = exchange.proxy.authenticate(exchange.request, elsewhere);
  if (client instanceof ProxyError) {
    refuse(exchange, client);
    return false;
  }
  exchange.client = client;
  return true;
}

/** Pages that need a key, and that a virtual key may request by default. */
const pagesOfKeys: ReadonlySet<string> = new Set([
  ...['/v1/models', '/v1/models/{id}'],
  ...[...modelInfoPage.paths, '/model/status'],
]);

/**
 * Authenticates a client for a page, as {@link authorize}. Pages that the configuration closes need the master key.
 * Also rejects a virtual key that may not request the page.
 */
function authorizePage(exchange: Exchange, path: string, isPublic: boolean): boolean {
  const { masterKeyRoutes } = exchange.proxy.settings;
  const isClosed = (modelPagePaths(path) ?? [path]).some((spelling) => masterKeyRoutes.has(spelling));
  if (!authorize(exchange, isPublic && !isClosed)) return false;
  const kind = isPublic || pagesOfKeys.has(exchange.routeLabel) ? 'info' : null;
  const fault = isClosed && exchange.client?.key !== undefined ? adminOnly(path) : pathFault(exchange, kind);
  if (fault !== undefined) refuse(exchange, fault);
  return fault === undefined;
}

function otherMethod(exchange: Exchange, path: string, allow: string): void {
  const method = exchange.request.method ?? '';
  if (method === 'OPTIONS') answerOptions(exchange, allow);
  else refuse(exchange, methodNotAllowed(method, path, allow));
}
