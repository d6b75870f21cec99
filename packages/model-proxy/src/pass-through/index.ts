/**
 * Makes the handler of raw pass-through: `/openai/…`, `/vllm/…`, `/gemini/…`, files, batches,
 * stored responses and WebSockets. Loads its modules after the start.
 */
import type { PassThrough } from '../dispatch.js';
import { refuse } from '../exchange/answer/refusal.js';
import type { Exchange } from '../exchange/exchange.js';
import { toProxyError } from '../errors/proxy-error.js';
import type { PooledUpstream } from '../upstream/send.js';
import type { RawHandler } from './raw-handler.js';
import { acceptsPath } from './paths.js';
import { loadProxyMiddleware } from './proxy-middleware.js';

/** Options of {@link createPassThrough}. */
interface PassThroughOptions {
  /** The caller reloads and closes the upstream. */
  readonly upstream: Pick<PooledUpstream, 'connectorFor'>;
}

/** Makes the handler of raw requests. */
export function createPassThrough({ upstream }: PassThroughOptions): PassThrough {
  let loading: Promise<RawHandler> | undefined;
  const load = async (): Promise<RawHandler> => (await import('./raw-handler.js')).createRawHandler({ upstream });
  const withHandler = (exchange: Exchange, act: (handler: RawHandler) => void): void => {
    loading ??= load();
    loading.then(act).catch((error: unknown) => refuse(exchange, toProxyError(error)));
  };
  return {
    // If the modules are not loaded, there are no WebSockets.
    closeWebSockets: () => void loading?.then((handler) => handler.closeWebSockets()).catch(() => undefined),
    loadModules: async () => {
      loading ??= load();
      await Promise.all([loading, loadProxyMiddleware()]);
    },
    accepts: acceptsPath,
    handle: (exchange) => withHandler(exchange, (handler) => handler.handle(exchange)),
    upgrade: (exchange, client) => withHandler(exchange, (handler) => handler.upgrade(exchange, client)),
  };
}
