/**
 * Raw pass-through: `/openai/…`, `/vllm/…`, files, batches and WebSockets. Its modules are loaded
 * after the start.
 */
import type { PassThrough } from '../dispatch.js';
import { refuse } from '../exchange/answer/refusal.js';
import type { Exchange } from '../exchange/exchange.js';
import { toProxyError } from '../errors/proxy-error.js';
import type { PooledUpstream } from '../upstream/send.js';
import type { Carrier } from './carrier.js';
import { acceptsPath } from './paths.js';
import { loadProxyMiddleware } from './proxy-middleware.js';

/** Options of {@link createPassThrough}. */
interface PassThroughOptions {
  /** The caller reloads and closes it. */
  readonly upstream: Pick<PooledUpstream, 'wayTo'>;
}

/** Makes the handler of raw requests. */
export function createPassThrough({ upstream }: PassThroughOptions): PassThrough {
  let loading: Promise<Carrier> | undefined;
  const load = async (): Promise<Carrier> => (await import('./carrier.js')).createCarrier({ upstream });
  const withCarrier = (exchange: Exchange, act: (carrier: Carrier) => void): void => {
    loading ??= load();
    loading.then(act).catch((error: unknown) => refuse(exchange, toProxyError(error)));
  };
  return {
    // Without loaded modules there are no WebSockets.
    closeWebSockets: () => void loading?.then((carrier) => carrier.closeWebSockets()).catch(() => undefined),
    loadModules: async () => {
      loading ??= load();
      await Promise.all([loading, loadProxyMiddleware()]);
    },
    accepts: acceptsPath,
    handle: (exchange) => withCarrier(exchange, (carrier) => carrier.handle(exchange)),
    upgrade: (exchange, socket, head) => withCarrier(exchange, (carrier) => carrier.upgrade(exchange, socket, head)),
  };
}
