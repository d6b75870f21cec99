/**
 * Reads the prices of deployments in `model_info`.
 * @see https://docs.litellm.ai/docs/proxy/custom_pricing
 */
import type { Deployment } from './deployment.js';

/** Prices of a token, in the currency of the configuration, usually US dollars. */
export interface TokenPrices {
  readonly input: number;
  readonly output: number;
  /** Input that the upstream read from its cache. */
  readonly cacheRead: number;
  /** Input that the upstream wrote to its cache, for five minutes. */
  readonly cacheWrite: number;
  /** Input that the upstream wrote to its cache, for an hour. */
  readonly longCacheWrite: number;
  readonly inputAudio: number;
  readonly outputAudio: number;
  readonly reasoning: number;
}

/** The prices of a deployment. */
interface Prices {
  /** null: not set. */
  readonly inputToken: number | null;
  /** null: not set. */
  readonly outputToken: number | null;
  readonly tokens: TokenPrices;
  /** Prices of requests with more than `above` input tokens. The largest `above` is first. */
  readonly tiers: readonly { readonly above: number; readonly tokens: TokenPrices }[];
  /** Whether some kinds of tokens have a price of their own. */
  readonly hasKinds: boolean;
}

/** The names in `model_info`. */
const names: Readonly<Record<keyof TokenPrices, string>> = {
  input: 'input_cost_per_token',
  output: 'output_cost_per_token',
  cacheRead: 'cache_read_input_token_cost',
  cacheWrite: 'cache_creation_input_token_cost',
  longCacheWrite: 'cache_creation_input_token_cost_above_1hr',
  inputAudio: 'input_cost_per_audio_token',
  outputAudio: 'output_cost_per_audio_token',
  reasoning: 'output_cost_per_reasoning_token',
};

/** Thousands of input tokens above which other prices may apply: `input_cost_per_token_above_200k_tokens`. */
const TIERS = [512, 272, 256, 200, 128] as const;

const cachedPrices = new WeakMap<Deployment, Prices>();

/** Returns the prices of a deployment. */
export function pricesOf(deployment: Deployment): Prices {
  let prices = cachedPrices.get(deployment);
  if (prices === undefined) {
    prices = readPrices(deployment.modelInfo);
    cachedPrices.set(deployment, prices);
  }
  return prices;
}

function readPrices(info: Deployment['modelInfo']): Prices {
  const priceAt = (kind: keyof TokenPrices, suffix = '') => priceOf(info[`${names[kind]}${suffix}`]);
  const tokens = completed((kind) => priceAt(kind));
  const tiers = TIERS.map((thousands) => {
    const suffix = `_above_${thousands}k_tokens`;
    const isSet = Object.values(names).some((name) => priceOf(info[`${name}${suffix}`]) !== null);
    return { above: thousands * 1000, isSet, tokens: completed((kind) => priceAt(kind, suffix) ?? priceAt(kind)) };
  }).filter(({ isSet }) => isSet);
  const kinds = [tokens, ...tiers.map((tier) => tier.tokens)];
  return {
    inputToken: priceAt('input'),
    outputToken: priceAt('output'),
    tokens,
    tiers,
    hasKinds: kinds.some(hasKinds),
  };
}

/**
 * Returns the prices of all kinds. A kind without a price has the price of `input` or of `output`
 * (`longCacheWrite`: of `cacheWrite`). If `input` or `output` has no price, its price is 0.
 */
function completed(priceAt: (kind: keyof TokenPrices) => number | null): TokenPrices {
  const input = priceAt('input') ?? 0;
  const output = priceAt('output') ?? 0;
  const cacheWrite = priceAt('cacheWrite') ?? input;
  return {
    input,
    output,
    cacheRead: priceAt('cacheRead') ?? input,
    cacheWrite,
    longCacheWrite: priceAt('longCacheWrite') ?? cacheWrite,
    inputAudio: priceAt('inputAudio') ?? input,
    outputAudio: priceAt('outputAudio') ?? output,
    reasoning: priceAt('reasoning') ?? output,
  };
}

function hasKinds({ input, output, ...kinds }: TokenPrices): boolean {
  const { outputAudio, reasoning, ...ofInput } = kinds;
  return Object.values(ofInput).some((price) => price !== input) || outputAudio !== output || reasoning !== output;
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
