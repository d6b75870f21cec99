/**
 * Paths of vLLM's server that OpenAI's API does not have.
 * @see https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html
 */
import { defineEndpoint } from './endpoint.js';

/** Similarity of texts, from cross-encoder models. */
export const score = defineEndpoint({ path: 'score', mode: 'score' });

/** Labels of texts. vLLM serves `classify` and the next three paths beside `/v1`, not below it. */
export const classify = defineEndpoint({ path: 'classify', mode: 'classify', besideVersion: true });

/** Hidden states of a model. The request is that of `embeddings`, but the answer may contain nested lists. */
export const pooling = defineEndpoint({ path: 'pooling', mode: 'pooling', besideVersion: true });

/** Tokens of a prompt. Clients use it to count tokens. */
export const tokenize = defineEndpoint({ path: 'tokenize', mode: 'tokenize', besideVersion: true });

/** Text of tokens. */
export const detokenize = defineEndpoint({ path: 'detokenize', mode: 'tokenize', besideVersion: true });
