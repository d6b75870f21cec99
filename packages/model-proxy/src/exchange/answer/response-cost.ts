/**
 * Calculates the cost of answers with the prices in `model_info`.
 * @see https://docs.litellm.ai/docs/proxy/custom_pricing
 */
import type { Deployment } from '../../providers/deployment.js';
import type { Usage } from './usage.js';

/** Prices in dollars, or in the unit of the configuration. */
interface Prices {
  readonly inputToken: number;
  readonly outputToken: number;
}

/** Caches the prices of deployments; null: a deployment has none. */
const cachedPrices = new WeakMap<Deployment, Prices | null>();

/**
 * Returns the cost of an answer. If only a single price is set, the other is 0.
 * @returns null if the deployment has no prices.
 */
export function costOf(deployment: Deployment, { inputTokens, outputTokens }: Usage): number | null {
  let prices = cachedPrices.get(deployment);
  if (prices === undefined) {
    prices = pricesOf(deployment);
    cachedPrices.set(deployment, prices);
  }
  return prices === null ? null : inputTokens * prices.inputToken + outputTokens * prices.outputToken;
}

function pricesOf({ modelInfo }: Deployment): Prices | null {
  const inputToken = priceOf(modelInfo['input_cost_per_token']);
  const outputToken = priceOf(modelInfo['output_cost_per_token']);
  if (inputToken === null && outputToken === null) return null;
  return { inputToken: inputToken ?? 0, outputToken: outputToken ?? 0 };
}

/**
 * Parses a price; null: the value is not a price. Accepts texts, because YAML 1.1 requires a
 * decimal point in numbers with an exponent, and reads `1e-6` as a text.
 */
function priceOf(value: unknown): number | null {
  if (typeof value !== 'number' && (typeof value !== 'string' || value.trim() === '')) return null;
  const number = Number(value);
  return Number.isFinite(number) && number >= 0 ? number : null;
}
