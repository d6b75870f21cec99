/**
 * Types of the settings about retries, cooldowns and fallbacks. The policies of retries and cooldowns are tables: an
 * error name of LiteLLM and a number.
 */
import { z } from 'zod';
import type { FailureKind } from '../../errors/failure-kind.js';
import { readFallbacks } from '../../routing/fallback-plan.js';
import type { GroupFallbacks } from '../../settings.js';
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
  BadGatewayError: ['badGateway'],
  NotFoundError: ['notFound'],
};

/** A table of numbers by LiteLLM's names of errors. */
interface CountTable {
  /** The end of each name: `Retries` in `TimeoutErrorRetries`. */
  readonly suffix: string;
  /** Errors that have no name with this suffix in LiteLLM. */
  readonly without: readonly string[];
  /** The name of the default for all failures that have no number of their own; null: there is no default. */
  readonly defaultName: string | null;
  readonly max: number;
}

const retriesTable: CountTable = {
  suffix: 'Retries',
  without: ['BadGatewayError'],
  defaultName: 'DefaultRetries',
  max: 100,
};
const allowedFailsTable: CountTable = { suffix: 'AllowedFails', without: [], defaultName: null, max: 1_000_000 };

const namesOf = ({ without }: CountTable) => Object.keys(errorNames).filter((name) => !without.includes(name));
const expectedTable = (table: CountTable) => {
  const names = namesOf(table).map((name) => name + table.suffix);
  const all = table.defaultName === null ? names : [...names, table.defaultName];
  return `a mapping of ${all.join(', ')} to whole numbers from 0 to ${table.max}`;
};
const expectedCount = ({ max }: CountTable) => `a whole number from 0 to ${max}`;

/** Failures that have no name in LiteLLM's policy of retries. */
const unnamed: readonly FailureKind[] = ['permission', 'badGateway'];

/** Makes the zod type of a table. The type converts LiteLLM's names to a number for each kind of failure. */
function countsOf(table: CountTable) {
  const { suffix, defaultName, max } = table;
  const count = wholeNumbers(0, max).nullish();
  const keys = [...namesOf(table).map((name) => name + suffix), ...(defaultName === null ? [] : [defaultName])];
  return z
    .strictObject(Object.fromEntries(keys.map((key) => [key, count])))
    .transform((given): ReadonlyMap<FailureKind, number> => {
      const result = new Map<FailureKind, number>();
      const otherwise = defaultName === null ? null : (given[defaultName] ?? null);
      if (otherwise !== null)
        for (const failure of [...unnamed, ...Object.values(errorNames).flat()]) result.set(failure, otherwise);
      for (const name of namesOf(table)) {
        const own = given[name + suffix] ?? null;
        if (own !== null) for (const failure of errorNames[name] ?? []) result.set(failure, own);
      }
      return result;
    });
}

/** Converts numbers back to LiteLLM's names. */
function tableOf(table: CountTable, counts: ReadonlyMap<FailureKind, number>): Readonly<Record<string, number>> {
  const { suffix, defaultName } = table;
  const named = namesOf(table).flatMap((name) => {
    const [first] = errorNames[name] ?? [];
    const count = first === undefined ? undefined : counts.get(first);
    return count === undefined ? [] : [[name + suffix, count] as const];
  });
  // `permission` has no name of its own, so its number is the default.
  const otherwise = defaultName === null ? undefined : counts.get('permission');
  return Object.fromEntries([
    ...named,
    ...(defaultName === null || otherwise === undefined ? [] : [[defaultName, otherwise] as const]),
  ]);
}

/** Converts a retry policy back to LiteLLM's names. */
export const retryPolicyOf = (policy: ReadonlyMap<FailureKind, number>) => tableOf(retriesTable, policy);
/** Converts a policy of cooldowns back to LiteLLM's names. */
export const allowedFailsPolicyOf = (policy: ReadonlyMap<FailureKind, number>) => tableOf(allowedFailsTable, policy);

/** Defines LiteLLM's `AllowedFailsPolicy`: for each of its errors, the number of failures before a cooldown. */
export const allowedFails = (given: Row) =>
  row(countsOf(allowedFailsTable), expectedTable(allowedFailsTable), given, expectedCount(allowedFailsTable));

/** Defines LiteLLM's `RetryPolicy`: a number of retries for each of its errors. */
export const retryCounts = (given: Row) =>
  row(countsOf(retriesTable), expectedTable(retriesTable), given, expectedCount(retriesTable));

/** Defines a retry policy for each model group. */
export const retryCountsByGroup = (given: Row) =>
  row(
    z.record(z.string(), countsOf(retriesTable)).transform((policies) => new Map(Object.entries(policies))),
    'a mapping of model groups to retry policies',
    given,
    expectedTable(retriesTable),
  );

/** Reads a list of groups with their fallbacks; undefined: it has another form. */
function groupsOf(value: unknown): GroupFallbacks | undefined {
  const read = readFallbacks(value);
  if (read === undefined) return undefined;
  if ('groups' in read) return read.groups;
  return read.list.length === 0 ? new Map() : undefined;
}

/** Defines a list of model groups with their fallbacks. */
export const fallbacks = (given: Row) =>
  row(
    z
      .unknown()
      .refine((value) => groupsOf(value) !== undefined)
      .transform((value): GroupFallbacks => groupsOf(value) ?? new Map()),
    'a list of mappings such as {gpt-4o: [gpt-4o-mini]}',
    given,
  );
