/** Decides whether a deployment cools down after a failure, and for how long. */
import type { FailureKind } from '../errors/failure-kind.js';
import type { CooldownSettings } from '../settings.js';

/** A failed request. */
export interface Failure {
  readonly failure: FailureKind;
  /** The upstream's Retry-After in milliseconds; null: none. */
  readonly retryAfterMs: number | null;
  /** Whether the model group has other deployments. */
  readonly hasSiblings: boolean;
  readonly settings: CooldownSettings;
  /** `cooldown_time` of the deployment; null: none. */
  readonly ownCooldownMs: number | null;
}

/** The requests of a deployment in a minute. */
export interface Minute {
  /** Number of the minute, counted from 1970. */
  number: number;
  successes: number;
  failures: number;
  /** Failures of this minute since the last success. */
  failuresInRow: number;
}

/** Failures that do not show anything about the deployment: the client's request is the reason. */
const clientsFault: ReadonlySet<FailureKind> = new Set<FailureKind>(['badRequest', 'contextWindow', 'contentPolicy']);

/**
 * Failures that later requests would repeat. Without `allowed_fails`, a single one starts a cooldown if the model
 * group has other deployments.
 */
const certain: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'rateLimit',
  'authentication',
  'permission',
  'notFound',
]);

/** As in LiteLLM: a deployment cools down if more than this share of a minute's requests, at least 5, failed. */
const FAILED_SHARE = 0.5;
const MIN_REQUESTS = 5;

/**
 * After this number of failures in a minute without a success between them, the share of failures does not matter.
 * Without this rule, a busy deployment that begins to hang would first have to fail more often than it
 * worked in that minute.
 */
const FAILURES_IN_ROW = 5;
/** A longer Retry-After counts as this time: the upstream may work earlier, and a trial costs one request. */
const MAX_RETRY_AFTER_MS = 300_000;

/** Failures that may be the client's fault, unless another deployment can serve the request. */
const maybeClientsFault: ReadonlySet<FailureKind | null> = new Set<FailureKind>(['permission', 'notFound']);

/** Returns whether only a success of another deployment proves that the client is not at fault. */
export function mayBeClientsFault(failure: FailureKind | null): boolean {
  return maybeClientsFault.has(failure);
}

/** Returns whether a failure counts against its deployment. */
export function isBlamed(failure: FailureKind): boolean {
  return !clientsFault.has(failure);
}

/**
 * Returns whether a deployment cools down after a failure for which {@link isBlamed} is true.
 * @param minute the requests of this minute, including the failure.
 * @param isOnProbation whether no request has succeeded since the last cooldown.
 */
export function coolsDown(
  { failure, hasSiblings, settings }: Pick<Failure, 'failure' | 'hasSiblings' | 'settings'>,
  { successes, failures, failuresInRow }: Minute,
  isOnProbation: boolean,
): boolean {
  if (settings.isDisabled) return false;
  const allowedFails = settings.policy.get(failure) ?? settings.allowedFails;
  if (allowedFails !== null) return isOnProbation || failures > allowedFails;
  // Without another deployment, a cooldown would reject requests that might succeed.
  if (!hasSiblings) return false;
  if (isOnProbation || certain.has(failure) || failuresInRow >= FAILURES_IN_ROW) return true;
  const requests = successes + failures;
  return requests >= MIN_REQUESTS && failures > requests * FAILED_SHARE;
}

/**
 * Returns the length of a cooldown in milliseconds; 0: none. The deployment's own `cooldown_time` has
 * priority over `Retry-After`, which has priority over the router's `cooldown_time`.
 */
export function cooldownMsOf({
  retryAfterMs,
  ownCooldownMs,
  settings,
}: Pick<Failure, 'retryAfterMs' | 'ownCooldownMs' | 'settings'>): number {
  if (ownCooldownMs !== null) return ownCooldownMs;
  return retryAfterMs === null ? settings.cooldownMs : Math.min(MAX_RETRY_AFTER_MS, retryAfterMs);
}
