/** Calculates the cost of answers with the prices of their deployments. */
import type { Deployment } from '../../providers/deployment.js';
import { pricesOf } from '../../providers/prices.js';
import { tokenKinds } from './token-kinds.js';
import type { Usage } from './usage.js';

/**
 * Returns the cost of an answer. If only the price of input or of output is set, the other price is 0. Counts cached
 * tokens and other kinds separately only if they have prices of their own. A large input may have other prices.
 * @returns in the currency of the prices, usually US dollars; null: the deployment has no prices.
 */
export function costOf(deployment: Deployment, usage: Usage): number | null {
  const { inputToken, outputToken, tokens, tiers, hasKinds } = pricesOf(deployment);
  if (inputToken === null && outputToken === null && !hasKinds) return null;
  const { inputTokens, outputTokens, sources = [], cost } = usage;
  if (cost !== undefined) return cost;
  const prices = tiers.find(({ above }) => inputTokens > above)?.tokens ?? tokens;
  if (!hasKinds || sources.length === 0) return inputTokens * prices.input + outputTokens * prices.output;
  const kinds = tokenKinds(usage);
  return (
    kinds.input * prices.input +
    kinds.cacheRead * prices.cacheRead +
    kinds.cacheWrite * prices.cacheWrite +
    kinds.longCacheWrite * prices.longCacheWrite +
    kinds.inputAudio * prices.inputAudio +
    kinds.output * prices.output +
    kinds.outputAudio * prices.outputAudio +
    kinds.reasoning * prices.reasoning
  );
}
