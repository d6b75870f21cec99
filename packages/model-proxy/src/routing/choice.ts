/** Chooses among the deployments that can serve a request. */
import type { DeploymentHealth } from './deployment-health.js';
import type { Limits } from './limits.js';
import type { Selection } from './router.js';

/** Returns a random number from 0 (inclusive) to 1 (exclusive). */
export type Random = () => number;

/** What the choice depends on. */
interface ChoiceOptions {
  readonly random: Random;
  readonly limits: Pick<Limits, 'hasRoom'>;
  readonly health: Availability;
}

/**
 * Chooses by weight among the deployments that do not cool down and are below their limits; if there
 * are none, among all.
 * @param selections two or more.
 */
export function choose(selections: readonly Selection[], { random, limits, health }: ChoiceOptions): Selection {
  const available = health.isCalm ? selections : preferAvailable(selections, health);
  return pickByWeight(withRoom(available, limits), random);
}

/** Limits that never exclude a deployment. */
export const unlimited: Pick<Limits, 'hasRoom'> = { hasRoom: () => true };

/** The part of {@link DeploymentHealth} that the choice depends on. */
export type Availability = Pick<DeploymentHealth, 'isCalm' | 'coolingMs' | 'isOnTrial'>;

/** Health without failures. */
export const alwaysAvailable: Availability = { isCalm: true, coolingMs: () => 0, isOnTrial: () => false };

/**
 * Returns the selections that do not cool down, without those that another request tries. If there
 * is none, returns these, too, and then all.
 */
function preferAvailable(selections: readonly Selection[], health: Availability): readonly Selection[] {
  const warm = selections.filter(({ deployment }) => health.coolingMs(deployment.id) === 0);
  if (warm.length === 0) return selections;
  const free = warm.filter(({ deployment }) => !health.isOnTrial(deployment.id));
  return free.length === 0 ? warm : free;
}

/** Returns the selections below their limit, or all selections if all have reached it. */
function withRoom(selections: readonly Selection[], { hasRoom }: Pick<Limits, 'hasRoom'>): readonly Selection[] {
  const belowLimit = selections.filter(({ deployment }) => hasRoom(deployment));
  return belowLimit.length === 0 ? selections : belowLimit;
}

/**
 * Picks a selection with a probability proportional to the weight of its deployment; uniformly if all
 * weights are 0.
 */
function pickByWeight(selections: readonly Selection[], random: Random): Selection {
  const total = selections.reduce((sum, { deployment }) => sum + deployment.weight, 0);
  let rest = random() * (total === 0 ? selections.length : total);
  for (const selection of selections) {
    rest -= total === 0 ? 1 : selection.deployment.weight;
    if (rest < 0) return selection;
  }
  const last = selections.at(-1);
  if (last === undefined) throw new Error('choosing a deployment: the group is empty');
  return last;
}
