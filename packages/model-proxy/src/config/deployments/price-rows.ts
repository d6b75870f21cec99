/** The rows of `litellm_params` with prices. `model_info` may have the same names, and overrides these prices. */
import { price } from '../setting-types.js';

/** Prices in US dollars. `model_info` may also have prices of long requests (`…_above_200k_tokens`). */
export const priceRows = {
  inputCostPerToken: price({
    name: 'input_cost_per_token',
    doc: 'Price of a token of the request.',
  }),
  outputCostPerToken: price({
    name: 'output_cost_per_token',
    doc: 'Price of a token of the answer.',
  }),
  cacheReadCost: price({
    name: 'cache_read_input_token_cost',
    default: '`input_cost_per_token`',
    doc: 'Price of a token of the request that the upstream read from its cache.',
  }),
  cacheWriteCost: price({
    name: 'cache_creation_input_token_cost',
    default: '`input_cost_per_token`',
    doc: 'Price of a token of the request that the upstream wrote to its cache.',
  }),
  longCacheWriteCost: price({
    name: 'cache_creation_input_token_cost_above_1hr',
    default: '`cache_creation_input_token_cost`',
    doc: 'Price of a token of the request that the upstream cached for an hour.',
  }),
  inputAudioCost: price({
    name: 'input_cost_per_audio_token',
    default: '`input_cost_per_token`',
    doc: 'Price of an audio token of the request.',
  }),
  outputAudioCost: price({
    name: 'output_cost_per_audio_token',
    default: '`output_cost_per_token`',
    doc: 'Price of an audio token of the answer.',
  }),
  reasoningCost: price({
    name: 'output_cost_per_reasoning_token',
    default: '`output_cost_per_token`',
    doc: 'Price of a token that the model used to think.',
  }),
};
