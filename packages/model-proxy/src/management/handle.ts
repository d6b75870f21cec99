/** Answers management requests: checks the key, reads the body, sends the result. */
import { StoreUnavailable } from '@rackless/daemon/shared-store/store-unavailable.js';
import { adminOnly } from '../errors/access.js';
import { ProxyError, requestFault, toProxyError } from '../errors/proxy-error.js';
import { answerJson } from '../exchange/answer/answer-json.js';
import { breakOff, refuse } from '../exchange/answer/refusal.js';
import type { Exchange } from '../exchange/exchange.js';
import { readWhole } from '../pass-through/body-reader.js';
import { managementPaths, pathsForVirtualKeys, type ManagementPath } from './paths.js';
import type { ManagementRequest } from './request.js';

const MAX_BODY_BYTES = 1_048_576;

/** Answers the request of an authenticated client. */
export function handleManagement(exchange: Exchange, path: ManagementPath): void {
  const { keys, settings } = exchange.proxy;
  const key = exchange.client?.key;
  const isForKeys = pathsForVirtualKeys.has(path) && !settings.masterKeyRoutes.has(path);
  if (key !== undefined && !isForKeys) refuse(exchange, adminOnly(path));
  else if (keys === null) refuse(exchange, noStore(path));
  else {
    const url = exchange.request.url ?? '';
    const query = new URLSearchParams(url.includes('?') ? url.slice(url.indexOf('?')) : '');
    const request = {
      store: keys.store,
      query,
      key,
      clientKeys: settings.clientKeys ?? new Set<string>(),
      now: Date.now(),
    };
    if (managementPaths.get(path) === 'GET') void answer(exchange, path, () => ({ ...request, body: {} }));
    else
      readWhole(exchange, MAX_BODY_BYTES, (chunks) => {
        void answer(exchange, path, ({ parseBody }) => ({ ...request, body: parseBody(chunks) }));
      });
  }
}

type Routes = typeof import('./routes.js');

/** Never rejects: an error becomes the answer. */
async function answer(
  exchange: Exchange,
  path: ManagementPath,
  request: (routes: Routes) => ManagementRequest,
): Promise<void> {
  try {
    const routes = await import('./routes.js');
    const value = await routes.managementRoutes[path](request(routes));
    if (exchange.response.destroyed) return;
    if (value instanceof routes.StreamedAnswer) await routes.sendStreamed(exchange, value);
    else answerJson(exchange, 200, value);
  } catch (error) {
    breakOff(exchange, error instanceof StoreUnavailable ? storeUnavailable(error) : toProxyError(error));
  }
}

function storeUnavailable(error: StoreUnavailable): ProxyError {
  return new ProxyError({
    status: 503,
    kind: 'internal',
    message: 'The store of the proxy cannot be used now. The log has the reason.',
    headers: { 'retry-after': '1' },
    cause: error,
  });
}

function noStore(path: string): ProxyError {
  return requestFault(`${path} needs a store: set general_settings.store in the configuration of the proxy.`, {
    status: 501,
    type: 'not_implemented_error',
  });
}
