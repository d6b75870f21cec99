/**
 * The attempts of a model request. If an attempt fails before a byte of its answer has reached the client, the proxy
 * makes another attempt if it can: at another deployment of the group at once, at the same one later, or in another
 * model group. If it cannot, the client gets the error.
 */
import { performance } from 'node:perf_hooks';
import { missingModel } from '../../errors/model.js';
import { ProxyError, toProxyError } from '../../errors/proxy-error.js';
import type { FailureKind } from '../../errors/failure-kind.js';
import type { Target } from '../../endpoints/paths.js';
import { mayBeClientsFault } from '../../routing/cooldown-rule.js';
import { coolingError, noDeploymentFor } from '../../routing/no-deployment.js';
import { isRepeatable, maxRetriesOf, nextAttempt, retryAfterOf, waitMs } from '../../routing/retry-plan.js';
import type { Deployment } from '../../providers/deployment.js';
import type { RoutedRequest, Selection } from '../../routing/router.js';
import { breakOff, refuse } from '../answer/refusal.js';
import { renaming } from '../answer/renaming.js';
import { defaultModel, deploymentOfResponse } from './named-model.js';
import { requireModelAccess, visibleModels } from '../admission.js';
import { countedUsage } from '../counted-usage.js';
import type { Exchange } from '../exchange.js';
import type { RequestBody } from '../request/request-body.js';
import { checkRequiredMembers } from '../request/required-members.js';
import { storeReportOptions } from '../report-options.js';
import { shownTimeout } from '../request-timeouts.js';
import { Attempt, type AttemptOwner } from './attempt.js';
import { blame, noteAttempt, noteBreak } from './failure-reports.js';
import { firstToRetry, type Failed, type LastError } from './failed.js';
import { checkFallbacks, Fallbacks, returnUnusedRetry, selectFallback } from './fallbacks.js';
import { outgoingRequest, tracedRequest } from './outgoing.js';
import { sessionOf } from './session.js';
import { answerEstimate } from './token-estimate.js';

/** The attempts of one request. */
export class Attempts implements AttemptOwner {
  readonly #exchange: Exchange;
  readonly #target: Target;
  readonly #body: RequestBody;
  /** The name that the client sent, the default for a request without a name, or the name of a fallback. */
  #requested = '';
  /** {@link #requested} with the key's alias replaced, or the id that {@link deploymentOfResponse} returns. */
  #model = '';
  #routed: RoutedRequest = { session: null, streams: false };
  #attempt: Attempt | null = null;
  /** The deployment that runs the request; null: none. */
  #running: Deployment | null = null;
  /** Ends the wait for a retry. */
  #timer: NodeJS.Timeout | undefined;
  /** The current group's deployments that failed the request or cannot take it, by id. null: no group has had any. */
  #failed: Map<string, Failed> | null = null;
  #lastError: LastError | null = null;
  /** The last error of the group that the client requested; null: this group has not failed. */
  #firstError: LastError | null = null;
  #earlierRetries = 0; // at earlier groups
  /** The groups that follow; null: the first group has not failed, or the body cannot be sent again. */
  #fallbacks: Fallbacks | null = null;

  constructor(exchange: Exchange, target: Target, body: RequestBody) {
    this.#exchange = exchange;
    this.#target = target;
    this.#body = body;
  }

  /**
   * Selects a deployment or a fallback, and sends the request, or answers with {@link answerEstimate}.
   * @throws {ProxyError} if no request was sent. 400: invalid body, or no such model; 403: the key may not use
   *   the model; 429: all deployments are at their limits or cool down.
   */
  start(): void {
    const { proxy } = this.#exchange;
    const { router, settings } = proxy;
    const { endpoint, model } = this.#target;
    const requested = model ?? this.#body.model(endpoint) ?? defaultModel(endpoint, router, settings);
    if (requested === undefined || requested === '') throw missingModel(endpoint.path, visibleModels(this.#exchange));
    const key = this.#exchange.client?.key;
    this.#requested = requested;
    this.#model = deploymentOfResponse(this.#body, key?.modelOf(requested) ?? requested, router);
    const session = sessionOf(settings.strategy.affinity, this.#exchange, this.#body);
    this.#routed = { session, streams: this.#body.streams };
    const selection = router.select(this.#model, undefined, this.#routed);
    requireModelAccess(key, requested, selection?.modelGroup);
    if (selection === undefined)
      throw noDeploymentFor(requested, endpoint.path, settings, visibleModels(this.#exchange));
    this.#exchange.selection = selection;
    checkRequiredMembers(endpoint, this.#body, settings);
    checkFallbacks(this.#body);
    storeReportOptions(this.#exchange, this.#body);
    if (answerEstimate(this.#exchange, endpoint, this.#body)) return;
    proxy.retryBudget.add(settings.retry.budget);
    const refused = this.#enter(selection);
    if (refused !== undefined && !this.#fallBack(refused, null)) throw refused;
  }

  /** Ends the attempt, or the wait for the next one: the client has gone, or the request ends with an error. */
  abort(): void {
    clearTimeout(this.#timer);
    this.#attempt?.abort();
    this.#release();
  }

  onComplete(isBodyFree: boolean): void {
    const exchange = this.#exchange;
    const { proxy, selection } = exchange;
    this.#release();
    // After a failed attempt, its socket may still use the body, so the memory is not reused.
    if (isBodyFree && this.#failed === null) this.#body.release?.();
    if (selection === null) return;
    const { id } = selection.deployment;
    proxy.health.countSuccess(id);
    if (proxy.settings.strategy.name === 'latency-based-routing')
      proxy.latencies.add(id, exchange.streamed, exchange.latencyMs);
    if (this.#failed === null) return;
    // This success proves that the client did not cause these failures.
    for (const { selection: former, error } of this.#failed.values())
      if (error !== null && mayBeClientsFault(error.failure)) blame(exchange, this.#model, former, error);
  }

  onBreak(error: ProxyError): void {
    this.#release();
    noteBreak(this.#exchange, this.#model, error);
  }

  onFailure(error: ProxyError, upstream: readonly string[] | null): void {
    const exchange = this.#exchange;
    this.#release();
    noteAttempt(exchange, error);
    if (exchange.response.destroyed) return;
    this.#lastError = { error, upstream, selection: exchange.selection };
    const { failure } = error;
    try {
      if (failure === null) this.#giveUp();
      else if (!this.#tryAgain(error, failure) && !this.#fallBack(error, failure)) this.#giveUp();
    } catch (thrown) {
      breakOff(exchange, toProxyError(thrown));
    }
  }

  /** Frees the request's place at the deployment that runs it, and counts the tokens for the deployment's limits. */
  #release(): void {
    const { limits } = this.#exchange.proxy;
    const running = this.#running;
    if (running === null) return;
    this.#running = null;
    limits.release(running);
    limits.addTokens(running, countedUsage(this.#exchange).totalTokens);
  }

  /** Answers with the error of the last attempt at the group that the client requested. */
  #giveUp(): void {
    const exchange = this.#exchange;
    const last = this.#firstError ?? this.#lastError;
    if (last === null) return;
    exchange.selection = last.selection;
    exchange.answeredAt ||= performance.now();
    // LiteLLM's text.
    const note = ` LiteLLM Retried: ${exchange.retries} times, LiteLLM Max Retries: ${exchange.maxRetries}`;
    const error = this.#fallbacks?.listed(last.error) ?? last.error;
    refuse(exchange, exchange.retries === 0 ? error : error.withNote(note), last.upstream);
  }

  /**
   * Sends the request to a model group.
   * @returns the reason why no deployment can take it; undefined: the request was sent.
   */
  #enter(selection: Selection): ProxyError | undefined {
    const { proxy } = this.#exchange;
    if (!proxy.health.isCalm && proxy.health.coolingMs(selection.deployment.id) > 0)
      return coolingError(proxy.router, proxy.health, this.#model);
    const refused = this.#send(selection);
    return refused === undefined || this.#tryUntried(0) ? undefined : refused;
  }

  /** Sends the request to the next fallback. @returns false: none can take it, or the body cannot be sent again. */
  #fallBack(error: ProxyError, failure: FailureKind | null): boolean {
    const exchange = this.#exchange;
    const { proxy, selection } = exchange;
    this.#firstError ??= this.#lastError ?? { error, upstream: null, selection };
    if (!this.#body.canBeRepeated) return false;
    const fallbacks = (this.#fallbacks ??= new Fallbacks(exchange, this.#body, this.#model));
    fallbacks.add([this.#model, selection?.modelGroup ?? this.#model], failure);
    for (let next = fallbacks.take(); next !== undefined; next = fallbacks.take()) {
      const selected = selectFallback(exchange, next, this.#routed);
      if (selected === undefined) continue;
      this.#requested = next;
      this.#model = exchange.client?.key?.modelOf(next) ?? next;
      this.#failed = new Map();
      this.#earlierRetries = exchange.retries;
      const refused = this.#enter(selected);
      returnUnusedRetry(proxy, selected, this.#running);
      if (refused === undefined) {
        exchange.fallbacks += 1;
        exchange.maxFallbacks = proxy.settings.fallback.max;
        return true;
      }
      fallbacks.add([this.#model, selected.modelGroup], null);
    }
    return false;
  }

  /** Stores the failure, and starts the next attempt at the group, now or later. @returns false: there is none. */
  #tryAgain(error: ProxyError, failure: FailureKind): boolean {
    const exchange = this.#exchange;
    const { selection, proxy } = exchange;
    if (selection === null) return false;
    const { id } = selection.deployment;
    const afterMs = retryAfterOf(error.headers, Date.now());
    (this.#failed ??= new Map()).set(id, { selection, isRepeatable: isRepeatable(failure), afterMs, error });
    if (!mayBeClientsFault(failure)) blame(exchange, this.#model, selection, error);
    if (!this.#body.canBeRepeated) return false;
    const maxRetries = maxRetriesOf(proxy.settings.retry, selection, failure, exchange.requestedRetries);
    exchange.maxRetries = maxRetries;
    const next = nextAttempt({ failure, maxRetries, retries: exchange.retries - this.#earlierRetries });
    if (next === 'none') return false;
    return this.#tryUntried(1) || (next === 'any' && this.#waitForRetry());
  }

  /**
   * Sends the request to a deployment that has not failed it. Prefers deployments whose last request did not fail. A
   * retry at a deployment whose last request failed uses the retry budget.
   * @param retries 0: no deployment of the model group has got the request, so this is no retry.
   * @returns false: there is no such deployment, or the budget is empty.
   */
  #tryUntried(retries: 0 | 1): boolean {
    const { router, health, limits, retryBudget } = this.#exchange.proxy;
    const isUntried = ({ deployment }: Selection) =>
      this.#failed?.has(deployment.id) !== true &&
      limits.hasRoom(deployment) &&
      (health.isCalm || health.coolingMs(deployment.id) === 0);
    for (;;) {
      const isHealthy = (one: Selection) => isUntried(one) && !health.isSuspect(one.deployment.id);
      const healthy = router.select(this.#model, isHealthy, this.#routed);
      const selection = healthy ?? router.select(this.#model, isUntried, this.#routed);
      if (selection === undefined || (healthy === undefined && retries > 0 && !retryBudget.take())) return false;
      if (this.#send(selection) === undefined) {
        this.#exchange.retries += retries;
        return true;
      }
      if (healthy === undefined) retryBudget.add(retries);
    }
  }

  /** Repeats a request later. @returns false: no deployment may get it, the wait is too long, or no budget is left. */
  #waitForRetry(): boolean {
    const exchange = this.#exchange;
    const { settings, health } = exchange.proxy;
    const first = firstToRetry(this.#failed?.values() ?? [], health);
    if (first === undefined) return false;
    const { selection, afterMs } = first;
    const minMs = settings.retry.minWaitMs;
    const wait = waitMs({ retries: exchange.retries - this.#earlierRetries, afterMs, minMs, random: Math.random() });
    // The Retry-After is too long, or the client would not wait so long.
    if (wait === null || wait > (exchange.clientTimeouts?.timeoutMs ?? Infinity)) return false;
    if (!exchange.proxy.retryBudget.take()) return false;
    this.#timer = setTimeout(() => {
      if (exchange.response.destroyed) return;
      try {
        const refused = this.#send(selection);
        if (refused === undefined) exchange.retries += 1;
        else if (!this.#fallBack(refused, refused.failure)) this.#giveUp();
      } catch (thrown) {
        breakOff(exchange, toProxyError(thrown));
      }
    }, wait);
    return true;
  }

  /**
   * Sends the request to a deployment.
   * @returns the reason why this deployment cannot take it; undefined: the request was sent.
   */
  #send(selection: Selection): ProxyError | undefined {
    const exchange = this.#exchange;
    const { proxy, id } = exchange;
    const { endpoint } = this.#target;
    const { deployment } = selection;
    const { trace, settings, limits, health, upstream } = proxy;
    const body = this.#body;
    let made;
    try {
      made = outgoingRequest(exchange, this.#target, body, selection);
      const limited = limits.admit(deployment);
      if (limited !== undefined) throw limited;
      this.#running = deployment;
    } catch (error) {
      if (!(error instanceof ProxyError)) throw error;
      (this.#failed ??= new Map()).set(deployment.id, { selection, isRepeatable: false, afterMs: null, error: null });
      return error;
    }
    const { outgoing, translated } = made;
    exchange.beginAttempt(selection, shownTimeout(outgoing.timeouts, body.streams));
    const rename = renaming(settings.modelNameInResponse, deployment.provider.name, this.#requested);
    const traced = trace === null ? null : trace.sending(id, tracedRequest(outgoing));
    const attempt = new Attempt({ exchange, endpoint, rename, translated }, traced, this);
    this.#attempt = attempt;
    exchange.call = this;
    health.noteStart(deployment.id);
    attempt.call = upstream.send(outgoing, attempt);
    return undefined;
  }
}
