/** Chooses among the deployments that can serve a request. */
import { chooseForSession } from './affinity.js';
import type { DeploymentHealth } from './deployment-health.js';
import type { Limits } from './limits.js';
import type { Selection, Session } from './router.js';
import { strategies, type StrategyInput } from './strategies.js';

/** The part of {@link DeploymentHealth} that the choice depends on. */
type Availability = Pick<DeploymentHealth, 'isCalm' | 'coolingMs' | 'isOnTrial' | 'failedChecks'>;

/** The state from which {@link choose} chooses. */
export interface ChoiceInput extends StrategyInput {
  readonly limits: Pick<Limits, 'hasRoom' | 'useOf' | 'inFlightOf'>;
  readonly health: Availability;
  /** As in `RoutedRequest`. */
  readonly session: Session | null;
}

/**
 * Chooses by the session, if there is one, or by the strategy. Chooses among the deployments that
 * {@link preferAvailable} returns, are below their limits, and have the lowest `order`. If all of them
 * are at a limit, ignores the limits.
 * @param selections two or more.
 */
export function choose(selections: readonly Selection[], input: ChoiceInput): Selection {
  const { limits, health, session } = input;
  const available = health.isCalm ? selections : preferAvailable(selections, health);
  const possible = preferOrder(withRoom(available, limits));
  const kept = session === null ? undefined : chooseForSession(possible, session, limits);
  return kept ?? strategies[input.settings.name](possible, input);
}

/**
 * Returns the best of these sets that is not empty. A failed request counts more than a failed check,
 * because it shows what clients get.
 *
 * 1. The selections that do not cool down, that no failed check excludes, and that no other request tries after
 *    a cooldown.
 * 2. These selections, and those that another request tries.
 * 3. The same two sets, but with the selections that a failed check excludes.
 * 4. All selections.
 */
function preferAvailable(selections: readonly Selection[], health: Availability): readonly Selection[] {
  const warm = selections.filter(({ deployment }) => health.coolingMs(deployment.id) === 0);
  if (warm.length === 0) return selections;
  const passing = warm.filter(({ deployment }) => !health.failedChecks.isAvoided(deployment.id));
  const usable = passing.length === 0 ? warm : passing;
  const free = usable.filter(({ deployment }) => !health.isOnTrial(deployment.id));
  return free.length === 0 ? usable : free;
}

/** Returns the selections below their limit, or all selections if all have reached it. */
function withRoom(selections: readonly Selection[], { hasRoom }: Pick<Limits, 'hasRoom'>): readonly Selection[] {
  if (selections.every(({ deployment }) => hasRoom(deployment))) return selections;
  const belowLimit = selections.filter(({ deployment }) => hasRoom(deployment));
  return belowLimit.length === 0 ? selections : belowLimit;
}

/** Returns the selections with the lowest `order`, or all selections if none has an `order`. */
function preferOrder(selections: readonly Selection[]): readonly Selection[] {
  let lowest = Infinity;
  for (const { deployment } of selections) lowest = Math.min(lowest, deployment.order ?? Infinity);
  return lowest === Infinity ? selections : selections.filter(({ deployment }) => deployment.order === lowest);
}
