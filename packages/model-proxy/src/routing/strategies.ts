/** LiteLLM's routing strategies: how to choose among deployments that can all serve a request. */
import type { Deployment } from '../providers/deployment.js';
import { pricesOf } from '../providers/prices.js';
import type { RoutingStrategy, StrategySettings } from '../settings.js';
import type { Latencies } from './latencies.js';
import type { Limits } from './limits.js';
import type { Selection } from './router.js';

/** Returns a random number from 0 (inclusive) to 1 (exclusive). */
export type Random = () => number;

/** The state from which a strategy chooses. */
export interface StrategyInput {
  readonly random: Random;
  readonly limits: Pick<Limits, 'useOf' | 'inFlightOf'>;
  readonly latencies: Pick<Latencies, 'averageMs'>;
  readonly settings: StrategySettings;
  /** Whether the client requests a stream of events. */
  readonly streams: boolean;
}

type Strategy = (selections: readonly Selection[], input: StrategyInput) => Selection;

/** The strategies by their names. @param selections one or more. */
export const strategies: Readonly<Record<RoutingStrategy, Strategy>> = {
  'simple-shuffle': (selections, { random }) => byShare(selections, sharesOf(selections), random),
  'least-busy': (selections, { random, limits }) => lowest(selections, ({ id }) => limits.inFlightOf(id), 0, random),
  // The number of requests decides only between equal numbers of tokens.
  'usage-based-routing': (selections, { random, limits }) =>
    lowest(selections, ({ id }) => limits.useOf(id).tokens + limits.useOf(id).requests / 1e9, 0, random),
  'latency-based-routing': (selections, { random, latencies, settings, streams }) =>
    lowest(selections, ({ id }) => latencies.averageMs(id, streams, settings.ttlMs), settings.latencyBuffer, random),
  'cost-based-routing': (selections, { random }) => lowest(selections, costOf, 0, random),
};

/**
 * Returns a random selection of those with the lowest value.
 * @param buffer a value counts as the lowest if it is above the lowest by at most this share.
 */
function lowest(
  selections: readonly Selection[],
  valueOf: (deployment: Deployment) => number,
  buffer: number,
  random: Random,
): Selection {
  const values = selections.map(({ deployment }) => valueOf(deployment));
  const limit = Math.min(...values) * (1 + buffer);
  const best = selections.filter((_selection, index) => (values[index] ?? 0) <= limit);
  return byShare(
    best,
    best.map(() => 1),
    random,
  );
}

/** LiteLLM's value for a missing price of a token. */
const UNKNOWN_COST = 5;

function costOf(deployment: Deployment): number {
  const { inputToken, outputToken } = pricesOf(deployment);
  return (inputToken ?? UNKNOWN_COST) + (outputToken ?? UNKNOWN_COST);
}

/**
 * Returns the shares of deployments: their weights, or else their `rpm`, or else their `tpm`, or else equal shares. A
 * deployment without a weight has weight 1, and one without a limit has the highest limit.
 */
function sharesOf(selections: readonly Selection[]): readonly number[] {
  if (selections.some(({ deployment }) => deployment.weight !== null))
    return selections.map(({ deployment }) => deployment.weight ?? 1);
  for (const limit of ['rpm', 'tpm'] as const) {
    const highest = Math.max(...selections.map(({ deployment }) => deployment[limit] ?? 0));
    if (highest > 0) return selections.map(({ deployment }) => deployment[limit] ?? highest);
  }
  return selections.map(() => 1);
}

/** Picks a selection with a probability proportional to its share; uniformly if all shares are 0. */
function byShare(selections: readonly Selection[], shares: readonly number[], random: Random): Selection {
  const total = shares.reduce((sum, share) => sum + share, 0);
  let rest = random() * (total === 0 ? selections.length : total);
  for (const [index, selection] of selections.entries()) {
    rest -= total === 0 ? 1 : (shares[index] ?? 0);
    if (rest < 0) return selection;
  }
  const last = selections.at(-1);
  if (last === undefined) throw new Error('choosing a deployment: the group is empty');
  return last;
}
