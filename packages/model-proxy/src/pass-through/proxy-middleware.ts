/** http-proxy-middleware, loaded after the start: only raw requests need it. */
import util from 'node:util';

export type { RequestHandler } from 'http-proxy-middleware';
export type CreateProxyMiddleware = typeof import('http-proxy-middleware').createProxyMiddleware;

let loading: Promise<CreateProxyMiddleware> | undefined;

export function loadProxyMiddleware(): Promise<CreateProxyMiddleware> {
  loading ??= load();
  return loading;
}

/**
 * http-proxy 1.18.1, which is under it, takes `util._extend` when it is loaded. Node 22 warns at its first use and later lines leave it
 * out, when every raw request would fail. `Object.assign` does the same for what http-proxy does with it.
 */
async function load(): Promise<CreateProxyMiddleware> {
  // Left out of Node's declarations, or will be.
  const shared = util as { _extend?: unknown };
  const former = Object.getOwnPropertyDescriptor(shared, '_extend');
  Object.defineProperty(shared, '_extend', { value: Object.assign, configurable: true, writable: true });
  try {
    const { createProxyMiddleware } = await import('http-proxy-middleware');
    return createProxyMiddleware;
  } finally {
    if (former === undefined) delete shared._extend;
    else Object.defineProperty(shared, '_extend', former);
  }
}
