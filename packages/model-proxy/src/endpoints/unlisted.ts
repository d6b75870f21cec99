import { defineEndpoint, type Endpoint } from './endpoint.js';

/**
 * Whatever else is a POST of JSON with a `model`, as OpenAI's API and vLLM's have many: `messages`, `score`, `classify`, `tokenize`.
 * It goes to the same path of the upstream, and no parameter of it is looked at.
 * @param path as the upstream gets it, below `api_base`.
 */
export function unlistedEndpoint(path: string): Endpoint {
  // Anthropic's first event nests the message.
  return defineEndpoint({ path, mode: UNLISTED, answerModel: [['model'], ['message', 'model']] });
}

/** Mode of the paths that have no literal of their own. */
export const UNLISTED = 'unlisted';
