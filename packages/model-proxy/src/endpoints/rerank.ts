import { defineEndpoint } from './endpoint.js';

/** Rerank, with the format of Cohere, Jina and vLLM. */
export const rerank = defineEndpoint({ path: 'rerank', mode: 'rerank', requiredParameter: 'query' });
