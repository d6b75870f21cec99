import { defineEndpoint } from './endpoint.js';

/** Rerank, as Cohere, Jina and vLLM have it. */
export const rerank = defineEndpoint({ path: 'rerank', mode: 'rerank', requiredParameter: 'query' });
