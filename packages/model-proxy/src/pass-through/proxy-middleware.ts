/** Loads http-proxy-middleware after the start, because only WebSockets need it. */
import util from 'node:util';

export type { RequestHandler } from 'http-proxy-middleware';
/** The library's factory. */
export type CreateProxyMiddleware = typeof import('http-proxy-middleware').createProxyMiddleware;

let loading: Promise<CreateProxyMiddleware> | undefined;

/** Loads the library once. */
export function loadProxyMiddleware(): Promise<CreateProxyMiddleware> {
  loading ??= load();
  return loading;
}

/**
 * Replaces `util._extend` during the import. http-proxy 1.18.1 reads it when it is loaded. Node 22
 * warns at its first use, and later versions remove it, so that every WebSocket would fail. For
 * http-proxy, `Object.assign` does the same.
 */
async function load(): Promise<CreateProxyMiddleware> {
  // Missing in newer declarations of Node.
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
