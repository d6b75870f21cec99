/** Pages that machines ask for again and again: answered without Express, which would cost more than they do. */
import { modelNotFound, type ProxyError } from '../errors.js';
import type { Serving } from '../endpoints/exchange.js';
import { decode } from '../endpoints/paths.js';
import { describeModel, listModels } from './models.js';

export interface PolledPage {
  /** Template, for the metrics: `/v1/models/{id}`. */
  readonly label: string;
  /** Whether it is for everybody, keys or not: probes have none. */
  readonly open: boolean;
  /** @returns what becomes JSON, and its status. */
  readonly answer: (serving: Serving) => { readonly status: number; readonly value: unknown } | ProxyError;
}

/** LiteLLM's word; a text in JSON, so with quotes around it. */
const alive: PolledPage = {
  label: '/health/liveliness',
  open: true,
  answer: () => ({ status: 200, value: "I'm alive!" }),
};

/** Answers 503 while the process ends and while no model can be served, so that a load balancer sends requests elsewhere. */
const readiness: PolledPage = {
  label: '/health/readiness',
  open: true,
  answer: ({ isDraining, settings, version }) => ({
    status: isDraining() || settings.deployments.length === 0 ? 503 : 200,
    value: {
      status: isDraining() ? 'draining' : settings.deployments.length === 0 ? 'no models' : 'healthy',
      // LiteLLM's members, which probes and dashboards look for; there is neither a database nor a cache.
      db: 'Not connected',
      cache: null,
      litellm_version: version,
      success_callbacks: [],
    },
  }),
};

const models: PolledPage = {
  label: '/v1/models',
  open: false,
  answer: ({ router }) => ({ status: 200, value: listModels(router) }),
};

const table: ReadonlyMap<string, PolledPage> = new Map([
  ['/health/liveliness', alive],
  ['/health/liveness', alive],
  ['/health/readiness', readiness],
  ['/v1/models', models],
  ['/models', models],
]);

/** Templates of all of them. */
export const polledPaths: readonly string[] = [...table.keys(), '/v1/models/{id}', '/models/{id}'];

/** @param path of `plainPath`. @returns undefined: it is none of these. */
export function polledPage(path: string): PolledPage | undefined {
  return table.get(path) ?? modelPage(path);
}

/** A model's id may have slashes in it, escaped or not. */
function modelPage(path: string): PolledPage | undefined {
  const id = /^(?:\/v1)?\/models\/(.+)$/.exec(path)?.[1];
  if (id === undefined) return undefined;
  return {
    label: '/v1/models/{id}',
    open: false,
    answer: ({ router }) => {
      const name = decode(id) ?? id;
      const value = describeModel(router, name);
      return value === undefined ? modelNotFound(name) : { status: 200, value };
    },
  };
}
