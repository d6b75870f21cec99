/** Calculates the cost of answers with the prices of their deployments. */
import type { Deployment } from '../../providers/deployment.js';
import { pricesOf } from '../../providers/prices.js';
import type { Usage } from './usage.js';

/**
 * Returns the cost of an answer. If only a single price is set, the other is 0.
 * @returns null if the deployment has no prices.
 */
export function costOf(deployment: Deployment, { inputTokens, outputTokens }: Usage): number | null {
  const { inputToken, outputToken } = pricesOf(deployment);
  if (inputToken === null && outputToken === null) return null;
  return inputTokens * (inputToken ?? 0) + outputTokens * (outputToken ?? 0);
}
