/** Types of the settings about routing strategies. */
import { z } from 'zod';
import type { AffinityKind, RoutingStrategy } from '../../settings.js';
import { row, type Row } from '../setting-types.js';

/** LiteLLM's names. In this proxy, the two versions of usage-based routing choose in the same way. */
const strategyNames: Readonly<Record<string, RoutingStrategy>> = {
  'simple-shuffle': 'simple-shuffle',
  'least-busy': 'least-busy',
  'usage-based-routing': 'usage-based-routing',
  'usage-based-routing-v2': 'usage-based-routing',
  'latency-based-routing': 'latency-based-routing',
  'cost-based-routing': 'cost-based-routing',
};

/** Defines the name of a strategy. */
export const routingStrategy = (given: Row) =>
  row(
    z
      .string()
      .refine((name) => strategyNames[name] !== undefined)
      .transform((name): RoutingStrategy => strategyNames[name] ?? 'simple-shuffle'),
    `one of ${Object.keys(strategyNames).join(', ')}`,
    given,
  );

/** Defines the arguments of strategies. LiteLLM's other arguments have no effect. */
export const strategyArgs = (given: Row) =>
  row(
    z.looseObject({
      ttl: z.number().min(0).nullish(),
      lowest_latency_buffer: z.number().min(0).nullish(),
    }),
    'a mapping with ttl and lowest_latency_buffer, which are numbers from 0',
    given,
    'a number from 0',
  );

const affinityNames: Readonly<Record<string, AffinityKind | null>> = {
  session_affinity: 'session',
  deployment_affinity: 'user',
  prompt_caching: 'prompt',
  // The proxy always does what these checks do, or has nothing to which they apply.
  responses_api_deployment_check: null,
  forward_client_headers_by_model_group: null,
  enforce_model_rate_limits: null,
  encrypted_content_affinity: null,
};

/** Defines LiteLLM's list of checks before a call. */
export const affinityChecks = (given: Row) =>
  row(
    z.array(z.string().refine((name) => name in affinityNames)).transform(
      (names): ReadonlySet<AffinityKind> =>
        new Set(
          names.flatMap((name) => {
            const kind = affinityNames[name] ?? null;
            return kind === null ? [] : [kind];
          }),
        ),
    ),
    `a list of ${Object.keys(affinityNames).join(', ')}`,
    given,
    `one of ${Object.keys(affinityNames).join(', ')}`,
  );

/** Converts kinds of affinity back to LiteLLM's names. */
export function checksOf(affinity: ReadonlySet<AffinityKind>): readonly string[] {
  return Object.entries(affinityNames).flatMap(([name, kind]) => (kind !== null && affinity.has(kind) ? [name] : []));
}
