/** Anthropic's API, for upstreams that speak it, as vLLM does: forwarded, never translated. @see https://docs.anthropic.com/en/api/messages */
import { defineEndpoint } from './endpoint.js';

/** Chat. The first event of a stream nests the message. */
export const messages = defineEndpoint({
  path: 'messages',
  mode: 'messages',
  requiredParameter: 'messages',
  answerModel: [['model'], ['message', 'model']],
});

/** The number of tokens of such a request. */
export const countTokens = defineEndpoint({ path: 'messages/count_tokens', mode: 'messages' });
