import { defineEndpoint } from './endpoint.js';

/** Responses; its events carry the response under a name of its own. @see https://platform.openai.com/docs/api-reference/responses */
export const responses = defineEndpoint({
  path: 'responses',
  mode: 'responses',
  // `input` may be left out where a stored prompt or an earlier response is named.
  answerModel: [['model'], ['response', 'model']],
});
