/** Inference paths of vLLM's server beyond OpenAI's API. @see https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html */
import { defineEndpoint } from './endpoint.js';

/** Similarity of texts, by cross-encoders. */
export const score = defineEndpoint({ path: 'score', mode: 'score' });

/** Labels of texts. vLLM serves this path and the next three beside `/v1`. */
export const classify = defineEndpoint({ path: 'classify', mode: 'classify', besideVersion: true });

/** Hidden states, as `embeddings` and for models of other kinds. */
export const pooling = defineEndpoint({ path: 'pooling', mode: 'pooling', besideVersion: true });

/** Tokens of a prompt, which is how clients count them. */
export const tokenize = defineEndpoint({ path: 'tokenize', mode: 'tokenize', besideVersion: true });

/** The text of tokens. */
export const detokenize = defineEndpoint({ path: 'detokenize', mode: 'tokenize', besideVersion: true });
