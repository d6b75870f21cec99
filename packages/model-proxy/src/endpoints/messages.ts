/**
 * Anthropic's API. The proxy forwards requests to upstreams with this API, such as Anthropic, and
 * translates requests to other upstreams (providers/messages/). If an upstream cannot count tokens, the proxy estimates
 * their number.
 * @see https://docs.anthropic.com/en/api/messages
 */
import { defineEndpoint } from './endpoint.js';

/** Chat. In the first event of a stream, the model is in `message`. */
export const messages = defineEndpoint({
  path: 'messages',
  mode: 'messages',
  requiredParameter: 'messages',
  api: 'anthropic',
  answerModel: [['model'], ['message', 'model']],
});

/** Counts the tokens of a {@link messages} request. */
export const countTokens = defineEndpoint({ path: 'messages/count_tokens', mode: 'messages', api: 'anthropic' });
