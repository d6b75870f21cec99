/**
 * Pages that probes and other programs request often. They bypass Express, which would cost more than the pages
 * themselves.
 */
import { modelNotFound } from '../errors/model.js';
import type { ProxyError } from '../errors/proxy-error.js';
import { visibleModels } from '../exchange/admission.js';
import type { Exchange, ProxyState } from '../exchange/exchange.js';
import { decode } from '../endpoints/paths.js';
import { describeModel, listModels } from './models.js';

/** A page that is answered without Express. */
interface PolledPage {
  /** Path template for the metrics, such as `/v1/models/{id}`. */
  readonly label: string;
  /** Whether the page is available without a key, unless the configuration closes it. Probes have no key. */
  readonly isPublic: boolean;
  /** Returns the status and the value to send as JSON. */
  readonly answer: (exchange: Exchange) => { readonly status: number; readonly value: unknown } | ProxyError;
}

/** Answers with LiteLLM's text, encoded as a JSON string. */
const alive: PolledPage = {
  label: '/health/liveliness',
  isPublic: true,
  answer: () => ({ status: 200, value: "I'm alive!" }),
};

/**
 * Answers 503 if this proxy cannot serve any request now, so that a load balancer sends requests
 * elsewhere. The member `status` has the reason. A store that does not answer is no reason, because the
 * proxy continues to serve requests with the keys in memory.
 */
const readiness: PolledPage = {
  label: '/health/readiness',
  isPublic: true,
  answer: ({ proxy }) => {
    const fault = unreadiness(proxy);
    return {
      status: fault === undefined ? 200 : 503,
      value: {
        status: fault ?? 'healthy',
        // Members of LiteLLM's answer that probes and dashboards read. This proxy has no cache.
        db: storeStatus(proxy),
        cache: null,
        litellm_version: proxy.version,
        success_callbacks: [],
      },
    };
  },
};

/** Returns why no request can be served; undefined: some can. */
function unreadiness({ isDraining, settings, health }: ProxyState): string | undefined {
  if (isDraining()) return 'draining';
  if (settings.deployments.length === 0) return 'no models';
  const canServe = settings.deployments.some(({ id }) => health.coolingMs(id) === 0 && !health.failedChecks.isDown(id));
  return canServe ? undefined : 'all deployments cool down or fail their health checks';
}

function storeStatus({ keys }: ProxyState): string {
  if (keys === null) return 'Not connected';
  return keys.store.isAvailable ? 'connected' : 'disconnected';
}

const models: PolledPage = {
  label: '/v1/models',
  isPublic: false,
  answer: (exchange) => ({ status: 200, value: listModels(visibleModels(exchange)) }),
};

const table: ReadonlyMap<string, PolledPage> = new Map([
  ['/health/liveliness', alive],
  ['/health/liveness', alive],
  ['/health/readiness', readiness],
  ['/v1/models', models],
  ['/models', models],
]);

/** Path templates of all polled pages. */
export const polledPaths: readonly string[] = [...table.keys(), '/v1/models/{id}', '/models/{id}'];

/**
 * Finds the page of a path.
 * @param path as `plainPath` returns it.
 * @returns undefined if the path is not a polled page.
 */
export function polledPage(path: string): PolledPage | undefined {
  return table.get(path) ?? modelPage(path);
}

/** Returns `/models/{id}` and `/v1/models/{id}` without escapes if the path is one of them in any spelling. */
export function modelPagePaths(path: string): readonly string[] | undefined {
  const id = modelIdOf(path);
  return id === undefined ? undefined : [`/models/${id}`, `/v1/models/${id}`];
}

function modelIdOf(path: string): string | undefined {
  const id = /^(?:\/v1)?\/models\/(.+)$/.exec(path)?.[1];
  return id === undefined ? undefined : (decode(id) ?? id);
}

/**
 * Finds the page of a model, also of an unknown one; undefined: another path. The id may contain slashes, escaped or
 * not.
 */
function modelPage(path: string): PolledPage | undefined {
  const name = modelIdOf(path);
  if (name === undefined) return undefined;
  return {
    label: '/v1/models/{id}',
    isPublic: false,
    answer: ({ proxy, client }) => {
      const value = describeModel(proxy.router, name, client?.key);
      return value === undefined ? modelNotFound(name) : { status: 200, value };
    },
  };
}
