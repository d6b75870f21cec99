/**
 * The attempts of a model request. If an attempt fails before a byte of its answer has reached the
 * client, the next attempt follows: at once at another deployment, or later at the same one.
 */
import { performance } from 'node:perf_hooks';
import { allCoolingDown, missingModel, missingParameter, missingUser } from '../../errors/model.js';
import { ProxyError, toProxyError } from '../../errors/proxy-error.js';
import type { FailureKind } from '../../errors/failure-kind.js';
import type { Target } from '../../endpoints/paths.js';
import { translationOf } from '../../providers/translation.js';
import { isDoubtful } from '../../routing/cooldown-rule.js';
import { noDeploymentFor } from '../../routing/no-deployment.js';
import { isRepeatable, maxRetriesOf, nextAttempt, retryAfterOf, waitMs } from '../../routing/retry-plan.js';
import type { Selection } from '../../routing/router.js';
import type { TracedRequest } from '../../trace.js';
import { BodyStream } from '../../upstream/body-stream.js';
import type { UpstreamRequest } from '../../upstream/upstream.js';
import { breakOff, refuse } from '../answer/refusal.js';
import { renaming } from '../answer/renaming.js';
import { checkModel, visibleModels } from '../admission.js';
import type { Exchange } from '../exchange.js';
import type { RequestBody } from '../request/request-body.js';
import { upstreamRequest } from '../request/upstream-request.js';
import { shownTimeout } from '../request-timeouts.js';
import { Attempt, type AttemptOwner } from './attempt.js';

/** A deployment that has failed the request, or cannot take it. */
interface Failed {
  readonly selection: Selection;
  /** Whether a later attempt may succeed. */
  readonly isRepeatable: boolean;
  /** The upstream's Retry-After in milliseconds; null: none. */
  readonly askedMs: number | null;
  /** null: the request was not sent. */
  readonly error: ProxyError | null;
}

/** The error of the last attempt. */
interface LastError {
  readonly error: ProxyError;
  /** Headers of the upstream's answer; null: it did not answer. */
  readonly upstream: readonly string[] | null;
}

/** The attempts of one request. */
export class Attempts implements AttemptOwner {
  readonly #exchange: Exchange;
  readonly #target: Target;
  readonly #body: RequestBody;
  /** The name that the client sent. */
  #requested = '';
  /** The public name that it means. */
  #model = '';
  #attempt: Attempt | null = null;
  /** Ends the wait for a repetition. */
  #timer: NodeJS.Timeout | undefined;
  /** By deployment id; null: no attempt has failed, as in most requests. */
  #failed: Map<string, Failed> | null = null;
  #lastError: LastError | null = null;

  constructor(exchange: Exchange, target: Target, body: RequestBody) {
    this.#exchange = exchange;
    this.#target = target;
    this.#body = body;
  }

  /**
   * Selects a deployment, and sends the request.
   * @throws {ProxyError} 400: the body cannot be forwarded, or there is no such model; 429: a limit is
   *   reached.
   */
  start(): void {
    const { serving } = this.#exchange;
    const { router, settings } = serving;
    const { endpoint, model } = this.#target;
    const requested = model ?? this.#body.model(endpoint);
    if (requested === undefined || requested === '') throw missingModel(endpoint.path, visibleModels(this.#exchange));
    const key = this.#exchange.client?.key;
    this.#requested = requested;
    this.#model = key?.modelOf(requested) ?? requested;
    const selection = router.select(this.#model);
    checkModel(key, requested, selection?.modelGroup);
    if (selection === undefined)
      throw noDeploymentFor(requested, endpoint.path, settings, visibleModels(this.#exchange));
    this.#exchange.selection = selection;
    const coolingMs = serving.health.isCalm ? 0 : serving.health.coolingMs(selection.deployment.id);
    if (coolingMs > 0) throw this.#allCoolingDown();
    const { requiredParameter } = endpoint;
    if (requiredParameter !== null && !this.#body.has(requiredParameter))
      throw missingParameter(endpoint.path, requiredParameter);
    if (settings.enforceUserParam && !this.#body.has('user')) throw missingUser();
    serving.retryBudget.add(settings.retry.budget);
    const refused = this.#send(selection);
    if (refused !== undefined && !this.#tryUntried()) throw refused;
  }

  /** Ends the attempt, or the wait for the next one: the client has gone. */
  abort(): void {
    clearTimeout(this.#timer);
    this.#attempt?.abort();
  }

  onSuccess(): void {
    const { serving, selection } = this.#exchange;
    if (selection === null) return;
    serving.health.succeeded(selection.deployment.id);
    if (this.#failed === null) return;
    // Only now is it certain that these failures were not the client's fault.
    for (const { selection: former, error } of this.#failed.values())
      if (error !== null && isDoubtful(error.failure)) this.#blame(former, error);
  }

  onBreak(error: ProxyError): void {
    const { selection } = this.#exchange;
    if (selection !== null) this.#blame(selection, error);
  }

  onEnd(isBodyFree: boolean): void {
    // The socket of a failed attempt may still use the body.
    if (isBodyFree && this.#failed === null) this.#body.release?.();
  }

  onFailure(error: ProxyError, upstream: readonly string[] | null): void {
    const exchange = this.#exchange;
    if (exchange.response.destroyed) return;
    this.#lastError = { error, upstream };
    try {
      if (error.failure === null || !this.#tryAgain(error, error.failure)) this.#giveUp();
    } catch (thrown) {
      breakOff(exchange, toProxyError(thrown));
    }
  }

  /** Counts a failure against its deployment. */
  #blame({ deployment }: Selection, { failure, kind, headers }: ProxyError): void {
    const { serving, clientTimeouts } = this.#exchange;
    // A client may ask for a timeout that no deployment can keep.
    if (failure === null || (kind === 'timeout' && clientTimeouts !== null)) return;
    serving.health.failed(deployment.id, {
      failure,
      retryAfterMs: retryAfterOf(headers, Date.now()),
      hasSiblings: serving.router.candidates(this.#model).length > 1,
      settings: serving.settings.cooldown,
      ownCooldownMs: deployment.cooldownMs,
    });
  }

  /** Makes the error for a model whose deployments all cool down. */
  #allCoolingDown(): ProxyError {
    const { router, health } = this.#exchange.serving;
    const ids = router.candidates(this.#model).map(({ deployment }) => deployment.id);
    const coolingMs = Math.min(...ids.map((id) => health.coolingMs(id)));
    return allCoolingDown(this.#model, ids, Math.max(1, Math.ceil(coolingMs / 1000)));
  }

  /** Answers with the error of the last attempt. */
  #giveUp(): void {
    const exchange = this.#exchange;
    const last = this.#lastError;
    if (last === null) return;
    const { error, upstream } = last;
    exchange.answeredAt ||= performance.now();
    // LiteLLM's text.
    const note = ` LiteLLM Retried: ${exchange.retries} times, LiteLLM Max Retries: ${exchange.maxRetries}`;
    refuse(exchange, exchange.retries === 0 ? error : error.withNote(note), upstream);
  }

  /** Starts the next attempt, now or later. @returns false if there is none. */
  #tryAgain(error: ProxyError, failure: FailureKind): boolean {
    const exchange = this.#exchange;
    const { selection, serving, retries } = exchange;
    if (selection === null) return false;
    const { id } = selection.deployment;
    const askedMs = retryAfterOf(error.headers, Date.now());
    (this.#failed ??= new Map()).set(id, { selection, isRepeatable: isRepeatable(failure), askedMs, error });
    if (!isDoubtful(failure)) this.#blame(selection, error);
    if (!this.#body.canBeRepeated) return false;
    const { retry } = serving.settings;
    const maxRetries = maxRetriesOf(retry, selection.modelGroup, failure, exchange.requestedRetries);
    exchange.maxRetries = maxRetries;
    const next = nextAttempt({ failure, maxRetries, retries });
    if (next === 'none') return false;
    return this.#tryUntried() || (next === 'any' && this.#waitForRepetition());
  }

  /**
   * Sends the request to a deployment that has not failed it. Prefers those whose last request
   * succeeded: attempts at all others use the budget for retries.
   */
  #tryUntried(): boolean {
    const { router, health, limits, retryBudget } = this.#exchange.serving;
    const isUntried = ({ deployment }: Selection) =>
      this.#failed?.has(deployment.id) !== true &&
      limits.hasRoom(deployment) &&
      (health.isCalm || health.coolingMs(deployment.id) === 0);
    for (;;) {
      const healthy = router.select(this.#model, (one) => isUntried(one) && !health.isSuspect(one.deployment.id));
      const selection = healthy ?? router.select(this.#model, isUntried);
      if (selection === undefined || (healthy === undefined && !retryBudget.take())) return false;
      if (this.#repeatAt(selection)) return true;
    }
  }

  /** Waits, and then sends the request again to a deployment that has failed it. */
  #waitForRepetition(): boolean {
    const exchange = this.#exchange;
    const { settings, health } = exchange.serving;
    const { retry } = settings;
    let first: Failed | undefined;
    for (const failed of this.#failed?.values() ?? [])
      if (failed.isRepeatable && health.coolingMs(failed.selection.deployment.id) === 0)
        if (first === undefined || (failed.askedMs ?? 0) < (first.askedMs ?? 0)) first = failed;
    if (first === undefined) return false;
    const { selection, askedMs } = first;
    const wait = waitMs({ retries: exchange.retries, askedMs, minMs: retry.minWaitMs, random: Math.random() });
    const limit = exchange.clientTimeouts?.timeoutMs ?? null;
    // The client would not wait so long.
    if (wait === null || (limit !== null && wait > limit)) return false;
    if (!exchange.serving.retryBudget.take()) return false;
    this.#timer = setTimeout(() => {
      if (exchange.response.destroyed) return;
      try {
        if (!this.#repeatAt(selection)) this.#giveUp();
      } catch (thrown) {
        breakOff(exchange, toProxyError(thrown));
      }
    }, wait);
    return true;
  }

  /** Sends the request again. @returns false if the deployment cannot take it. */
  #repeatAt(selection: Selection): boolean {
    const exchange = this.#exchange;
    if (this.#send(selection) !== undefined) return false;
    exchange.retries += 1;
    exchange.selection = selection;
    exchange.firstByteAt = 0;
    exchange.answeredAt = 0;
    exchange.streamed = false;
    exchange.usage = null;
    return true;
  }

  /**
   * Sends the request to a deployment.
   * @returns the reason why this deployment cannot take it; undefined: the request was sent.
   */
  #send(selection: Selection): ProxyError | undefined {
    const exchange = this.#exchange;
    const { serving, id } = exchange;
    const { endpoint } = this.#target;
    const { deployment, upstreamModel } = selection;
    const { trace, settings } = serving;
    let outgoing;
    let translated;
    try {
      translated = translationOf(deployment.provider, endpoint.path, upstreamModel, this.#body.streams);
      outgoing = this.#requestFor(selection, translated);
      const limited = serving.limits.admit(deployment);
      if (limited !== undefined) throw limited;
    } catch (error) {
      if (!(error instanceof ProxyError)) throw error;
      (this.#failed ??= new Map()).set(deployment.id, { selection, isRepeatable: false, askedMs: null, error: null });
      return error;
    }
    exchange.timeoutMs = shownTimeout(outgoing.timeouts, this.#body.streams);
    const rename = renaming(settings.modelNameInResponse, deployment.provider.name, this.#requested);
    const traced = trace === null ? null : trace.sending(id, tracedRequest(outgoing));
    const attempt = new Attempt({ exchange, endpoint, rename, translated }, traced, this);
    if (exchange.sentAt === 0) exchange.sentAt = performance.now();
    this.#attempt = attempt;
    exchange.call = this;
    serving.health.began(deployment.id);
    attempt.call = serving.upstream.send(outgoing, attempt);
    return undefined;
  }

  /** @throws {ProxyError} 400: the deployment does not support a parameter. */
  #requestFor(selection: Selection, translated: ReturnType<typeof translationOf>): UpstreamRequest {
    const { serving, request, id, clientTimeouts } = this.#exchange;
    const { endpoint } = this.#target;
    const body = this.#body;
    const { streams } = body;
    const head = request.headers;
    return upstreamRequest({ serving, selection, endpoint, body, id, head, clientTimeouts, streams, translated });
  }
}

/** Returns the request for the trace. For a streaming body: the part received so far. */
function tracedRequest(outgoing: UpstreamRequest): TracedRequest {
  return { ...outgoing, body: outgoing.body instanceof BodyStream ? outgoing.body.traced : outgoing.body };
}
