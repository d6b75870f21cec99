/** Raw pass-through: `/openai/…`, `/vllm/…`, files, batches and WebSockets. What it takes is loaded with the first such request. */
import type { PassThrough } from '../app.js';
import { refuse } from '../endpoints/refusal.js';
import type { Exchange } from '../endpoints/exchange.js';
import { toProxyError } from '../errors.js';
import type { PooledUpstream } from '../upstream/send.js';
import type { Environment } from '../settings.js';
import type { Carrier } from './carry.js';
import { acceptsPath } from './paths.js';

export interface PassThroughOptions {
  /** The caller's to reload and to close. */
  readonly upstream: Pick<PooledUpstream, 'wayTo'>;
  /** For OPENAI_API_KEY: that of the present configuration. */
  readonly environment: () => Environment;
}

export function createPassThrough({ upstream, environment }: PassThroughOptions): PassThrough {
  let loading: Promise<Carrier> | undefined;
  const load = async (): Promise<Carrier> => {
    const [{ createCarrier }, { environmentDeployment }] = await Promise.all([
      import('./carry.js'),
      import('./environment-deployment.js'),
    ]);
    // The same one for as long as the environment is the same: connections are kept by deployment.
    let known: { readonly of: Environment; readonly deployment: ReturnType<typeof environmentDeployment> } | undefined;
    return createCarrier({
      upstream,
      ofEnvironment: () => {
        const of = environment();
        if (known?.of !== of) known = { of, deployment: environmentDeployment(of) };
        return known.deployment;
      },
    });
  };
  const withCarrier = (exchange: Exchange, act: (carrier: Carrier) => void): void => {
    loading ??= load();
    loading.then(act).catch((error: unknown) => refuse(exchange, toProxyError(error)));
  };
  return {
    accepts: acceptsPath,
    handle: (exchange) => withCarrier(exchange, (carrier) => carrier.handle(exchange)),
    upgrade: (exchange, socket, head) => withCarrier(exchange, (carrier) => carrier.upgrade(exchange, socket, head)),
  };
}
