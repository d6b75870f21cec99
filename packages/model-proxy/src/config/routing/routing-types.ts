/** Types of the settings about retries: LiteLLM's names of errors with numbers. */
import { z } from 'zod';
import type { FailureKind } from '../../errors/failure-kind.js';
import { row, wholeNumbers, type Row } from '../setting-types.js';

/** LiteLLM's errors, and the failures that belong to them. */
const errorNames: Readonly<Record<string, readonly FailureKind[]>> = {
  BadRequestError: ['badRequest', 'contextWindow', 'contentPolicy'],
  AuthenticationError: ['authentication'],
  TimeoutError: ['timeout'],
  RateLimitError: ['rateLimit'],
  ContentPolicyViolationError: ['contentPolicy'],
  InternalServerError: ['internalServer', 'unreachable', 'interrupted'],
  ServiceUnavailableError: ['unavailable'],
  NotFoundError: ['notFound'],
};

/** Failures without a name of their own, which `DefaultRetries` covers. */
const allFailures: readonly FailureKind[] = [
  ...new Set<FailureKind>([...Object.values(errorNames).flat(), 'permission', 'badGateway']),
];

const MAX_RETRIES = 100;
const counts = wholeNumbers(0, MAX_RETRIES).nullish();
const names = [...Object.keys(errorNames).map((name) => `${name}Retries`), 'DefaultRetries'];

/** LiteLLM's `RetryPolicy`. Converts it to a number for each failure. */
const retryPolicy = z
  .strictObject(Object.fromEntries(names.map((name) => [name, counts])))
  .transform((policy): ReadonlyMap<FailureKind, number> => {
    const result = new Map<FailureKind, number>();
    const common = policy['DefaultRetries'] ?? null;
    if (common !== null) for (const failure of allFailures) result.set(failure, common);
    for (const [name, failures] of Object.entries(errorNames)) {
      const retries = policy[`${name}Retries`] ?? null;
      if (retries !== null) for (const failure of failures) result.set(failure, retries);
    }
    return result;
  });

const expectedPolicy = `a mapping of ${names.join(', ')} to whole numbers from 0 to ${MAX_RETRIES}`;

/** Converts a policy back to LiteLLM's names. */
export function retryPolicyOf(policy: ReadonlyMap<FailureKind, number>): Readonly<Record<string, number>> {
  const named = Object.entries(errorNames).flatMap(([name, [first]]) => {
    const retries = first === undefined ? undefined : policy.get(first);
    return retries === undefined ? [] : [[`${name}Retries`, retries] as const];
  });
  const common = policy.get('badGateway');
  return Object.fromEntries([...named, ...(common === undefined ? [] : [['DefaultRetries', common] as const])]);
}

/** A number of retries for each of LiteLLM's errors. */
export const retryCounts = (given: Row) =>
  row(retryPolicy, expectedPolicy, given, `a whole number from 0 to ${MAX_RETRIES}`);

/** A policy for each model group. */
export const retryCountsByGroup = (given: Row) =>
  row(
    z.record(z.string(), retryPolicy).transform((policies) => new Map(Object.entries(policies))),
    'a mapping of model groups to retry policies',
    given,
    expectedPolicy,
  );
