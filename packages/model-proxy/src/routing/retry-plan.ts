/** Decides what follows a failed attempt: another deployment, a wait, or the error. */
import { retryAfterMs } from '@rackless/daemon/http/retry-after.js';
import type { FailureKind } from '../errors/failure-kind.js';
import type { RetrySettings } from '../settings.js';
import type { Selection } from './router.js';

/** Deployments at which a request can succeed after a failure. */
type Repetition =
  | 'never' // every deployment would give the same answer
  | 'elsewhere' // only other deployments can help
  | 'anywhere'; // the same deployment may succeed later

const repetitions: Readonly<Record<FailureKind, Repetition>> = {
  badRequest: 'never',
  contextWindow: 'never',
  contentPolicy: 'never',
  authentication: 'elsewhere',
  permission: 'elsewhere',
  notFound: 'elsewhere',
  timeout: 'anywhere',
  rateLimit: 'anywhere',
  internalServer: 'anywhere',
  badGateway: 'anywhere',
  unavailable: 'anywhere',
  unreachable: 'anywhere',
  // The request may have crashed the server, and would crash it again.
  interrupted: 'elsewhere',
};

/**
 * Failures after which the maximum number of retries also limits attempts at other deployments. After
 * all other failures that allow a retry, every other deployment may be tried once, even above the maximum:
 * this costs little time, and cannot crash another server. Exception: a maximum of 0 allows no retry.
 */
const strictlyLimited: ReadonlySet<FailureKind> = new Set<FailureKind>(['timeout', 'interrupted']);

/** Returns whether a later attempt at the same deployment may succeed. */
export function isRepeatable(failure: FailureKind): boolean {
  return repetitions[failure] === 'anywhere';
}

/** The state of a request after a failed attempt. */
interface FailedAttempt {
  readonly failure: FailureKind;
  /** Maximum number of retries after this failure. */
  readonly maxRetries: number;
  /** Number of retries so far. */
  readonly retries: number;
}

/** The next step of the request. */
type NextAttempt =
  | 'untried' // try a deployment that has not failed this request
  | 'any' // try an untried deployment first; if there is none, wait and repeat the request at one that failed
  | 'none'; // answer with the error

/** Decides the next step of the request. */
export function nextAttempt({ failure, maxRetries, retries }: FailedAttempt): NextAttempt {
  if (maxRetries === 0 || repetitions[failure] === 'never') return 'none';
  if (retries < maxRetries) return 'any';
  return strictlyLimited.has(failure) ? 'none' : 'untried';
}

/**
 * Returns the maximum number of retries of a request after a failure, by the first of these that sets it: the policy of
 * the group (or else of the router), the client's header, the deployment, the router.
 * @param selection the failed deployment, with its group.
 * @param requested number in the client's header; null: the request has no such header.
 */
export function maxRetriesOf(
  { retries, policy, groupPolicies }: RetrySettings,
  { modelGroup, deployment }: Pick<Selection, 'modelGroup' | 'deployment'>,
  failure: FailureKind,
  requested: number | null,
): number {
  const own = groupPolicies.get(modelGroup) ?? policy;
  return own.get(failure) ?? requested ?? deployment.retries ?? retries;
}

/** LiteLLM's values: the first wait, the longest wait without a Retry-After, and the longest Retry-After to follow. */
const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 8000;
const MAX_RETRY_AFTER_MS = 60_000;
/** Maximum share of a Retry-After that is added to it, so that clients do not return together. */
const RETRY_AFTER_JITTER = 0.1;

/** Options of {@link waitMs}. */
interface WaitOptions {
  /** Number of retries so far. */
  readonly retries: number;
  /** The upstream's Retry-After in milliseconds; null: none. */
  readonly afterMs: number | null;
  /** `retry_after`: the minimum. */
  readonly minMs: number;
  /** A random number from 0 (inclusive) to 1 (exclusive). */
  readonly random: number;
}

/**
 * Returns the time to wait before a request is repeated at a deployment: the upstream's Retry-After and up
 * to 10 % more, or a random part of a time that doubles with each retry up to 8 s; at least `minMs`.
 * @returns null if the upstream's Retry-After is more than a minute: the deployment gets no retry, but a
 *  fallback may get the request.
 */
export function waitMs({ retries, afterMs, minMs, random }: WaitOptions): number | null {
  if (afterMs === null) return Math.max(minMs, random * Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** retries));
  if (afterMs > MAX_RETRY_AFTER_MS) return null;
  return Math.max(minMs, afterMs * (1 + RETRY_AFTER_JITTER * random));
}

/**
 * Reads `Retry-After` (RFC 9110 §10.2.3) and OpenAI's `retry-after-ms`.
 * @param headers the headers of an error, in lower case.
 * @param now milliseconds since 1970.
 * @returns milliseconds from now, 0 or more; null: there is no valid header.
 */
export function retryAfterOf(headers: Readonly<Record<string, string>>, now: number): number | null {
  const exact = headers['retry-after-ms'];
  if (exact !== undefined && /^\d+(\.\d+)?$/.test(exact)) return Number(exact);
  return retryAfterMs(headers, now) ?? null;
}
