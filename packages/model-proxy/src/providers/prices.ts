/**
 * Reads the prices of deployments in `model_info`.
 * @see https://docs.litellm.ai/docs/proxy/custom_pricing
 */
import type { Deployment } from './deployment.js';

/** Prices in dollars, or in the unit of the configuration; null: not set. */
interface Prices {
  readonly inputToken: number | null;
  readonly outputToken: number | null;
}

const cachedPrices = new WeakMap<Deployment, Prices>();

/** Returns the prices of a deployment. */
export function pricesOf(deployment: Deployment): Prices {
  let prices = cachedPrices.get(deployment);
  if (prices === undefined) {
    const { input_cost_per_token: input, output_cost_per_token: output } = deployment.modelInfo;
    prices = { inputToken: priceOf(input), outputToken: priceOf(output) };
    cachedPrices.set(deployment, prices);
  }
  return prices;
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
