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

const known = new WeakMap<Deployment, Prices | null>();

/**
 * Returns the cost of an answer. If only a single price is set, the other is 0.
 * @returns null: the deployment has no prices.
 */
export function costOf(deployment: Deployment, { inputTokens, outputTokens }: Usage): number | null {
  let prices = known.get(deployment);
  if (prices === undefined) {
    prices = pricesOf(deployment);
    known.set(deployment, prices);
  }
  return prices === null ? null : inputTokens * prices.inputToken + outputTokens * prices.outputToken;
}

function pricesOf({ modelInfo }: Deployment): Prices | null {
  const inputToken = price(modelInfo['input_cost_per_token']);
  const outputToken = price(modelInfo['output_cost_per_token']);
  if (inputToken === null && outputToken === null) return null;
  return { inputToken: inputToken ?? 0, outputToken: outputToken ?? 0 };
}

/** Accepts texts because YAML 1.1 reads `1e-6`, which has no point, as a text. */
function price(value: unknown): number | null {
  if (typeof value !== 'number' && (typeof value !== 'string' || value.trim() === '')) return null;
  const number = Number(value);
  return Number.isFinite(number) && number >= 0 ? number : null;
}
