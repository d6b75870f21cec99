/** The model groups that can get a request after it has failed at other groups. */
import type { FailureKind } from '../../errors/failure-kind.js';
import { invalidParameter } from '../../errors/model.js';
import type { ProxyError } from '../../errors/proxy-error.js';
import { fallbacksOf, type RequestedFallbacks } from '../../routing/fallback-plan.js';
import type { Deployment } from '../../providers/deployment.js';
import type { RoutedRequest, Selection } from '../../routing/router.js';
import type { FallbackSettings } from '../../settings.js';
import { allowsModel } from '../admission.js';
import type { Exchange } from '../exchange.js';
import type { RequestBody } from '../request/request-body.js';

/** The fallbacks of one request. The list grows with each group that fails the request. */
export class Fallbacks {
  readonly #exchange: Exchange;
  readonly #settings: FallbackSettings;
  readonly #requested: RequestedFallbacks;
  readonly #isDisabled: boolean;
  readonly #known: Set<string>;
  #pending: readonly string[] = [];
  #taken = 0;

  /** @param first the group that the client requested. */
  constructor(exchange: Exchange, body: Pick<RequestBody, 'parameter'>, first: string) {
    this.#exchange = exchange;
    this.#settings = exchange.proxy.settings.fallback;
    this.#requested = {
      fallbacks: body.parameter('fallbacks'),
      contextWindow: body.parameter('context_window_fallbacks'),
      contentPolicy: body.parameter('content_policy_fallbacks'),
    };
    this.#isDisabled = body.parameter('disable_fallbacks') === true;
    this.#known = new Set([first]);
  }

  /**
   * Adds the fallbacks of a failed group, before those of earlier groups. Each group is tried at most once.
   * Groups that the client's key may not use are neither tried nor shown. If the client sets
   * `disable_fallbacks`, adds nothing.
   * @param names the group's names, as requested and as configured. The first one with fallbacks decides.
   * @param failure null: the proxy itself rejected the request for this group.
   */
  add(names: readonly string[], failure: FailureKind | null): void {
    if (this.#isDisabled) return;
    for (const name of names) {
      const found = fallbacksOf(this.#settings, this.#requested, name, failure);
      const fresh = found.filter((group) => !this.#known.has(group) && mayUse(this.#exchange, group));
      for (const group of fresh) this.#known.add(group);
      this.#pending = [...fresh, ...this.#pending];
      if (found.length > 0) return;
    }
  }

  /** Removes and returns the next group; undefined: there is none, or the request has used `max_fallbacks` groups. */
  take(): string | undefined {
    const [next, ...others] = this.#pending;
    if (next === undefined || this.#taken >= this.#settings.max) return undefined;
    this.#pending = others;
    this.#taken += 1;
    return next;
  }

  /** Replaces `None` in LiteLLM's `Available Model Group Fallbacks=None` by all fallbacks, tried or not. */
  listed(error: ProxyError): ProxyError {
    const [, ...groups] = this.#known;
    if (groups.length === 0) return error;
    const list = `[${groups.map((group) => `'${group}'`).join(', ')}]`;
    return error.withMessage(error.message.replace(/(Available Model Group Fallbacks=)None/, `$1${list}`));
  }
}

/** Members of a body that list fallbacks. */
const fallbackMembers = ['fallbacks', 'context_window_fallbacks', 'content_policy_fallbacks'];
/** {@link RequestBody.parameter} does not return longer members, so they would be ignored without an error. */
const MAX_FALLBACKS_BYTES = 16_384;

/** Checks the size of the fallbacks in a body. @throws {ProxyError} 400: they are too long. */
export function checkFallbacks(body: Pick<RequestBody, 'beginning'>): void {
  for (const name of fallbackMembers) {
    const beginning = body.beginning(name, MAX_FALLBACKS_BYTES + 1);
    if (beginning !== undefined && beginning.length > MAX_FALLBACKS_BYTES)
      throw invalidParameter(name, `is longer than ${MAX_FALLBACKS_BYTES} bytes`);
  }
}

function mayUse({ client, proxy }: Exchange, name: string): boolean {
  const key = client?.key;
  return key === undefined || allowsModel(key, name, proxy.router.candidates(key.modelOf(name))[0]?.modelGroup);
}

/**
 * Selects a deployment of a fallback. A deployment whose last request failed uses the budget for
 * retries.
 * @returns undefined: there is no such group, or the budget that the deployment needs is empty.
 */
export function selectFallback(
  { client, proxy }: Exchange,
  name: string,
  routed: RoutedRequest,
): Selection | undefined {
  const selection = proxy.router.select(client?.key?.modelOf(name) ?? name, undefined, routed);
  if (selection === undefined) return undefined;
  return proxy.health.isSuspect(selection.deployment.id) && !proxy.retryBudget.take() ? undefined : selection;
}

/**
 * Adds 1 to the budget if {@link selectFallback} took a retry that the request does not need. The request needs no
 * retry if no deployment runs it, or if the last request of the deployment that runs it did not fail.
 * @param running the deployment that runs the request; null: none.
 */
export function returnUnusedRetry(
  { health, retryBudget }: Exchange['proxy'],
  { deployment }: Selection,
  running: Deployment | null,
): void {
  if (health.isSuspect(deployment.id) && (running === null || !health.isSuspect(running.id))) retryBudget.add(1);
}
