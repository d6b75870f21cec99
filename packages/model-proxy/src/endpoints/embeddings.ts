import { defineEndpoint } from './endpoint.js';

/** Embeddings. @see https://platform.openai.com/docs/api-reference/embeddings */
export const embeddings = defineEndpoint({ path: 'embeddings', mode: 'embedding', requiredParameter: 'input' });
