import { defineEndpoint } from './endpoint.js';

/**
 * Responses. In events, the response is in the member `response`.
 * @see https://platform.openai.com/docs/api-reference/responses
 */
export const responses = defineEndpoint({
  path: 'responses',
  mode: 'responses',
  // No required parameter: `input` is optional with a stored prompt or an earlier response.
  answerModel: [['model'], ['response', 'model']],
  storesAnswers: true,
});

/** Counts the tokens of a {@link responses} request. */
export const inputTokens = defineEndpoint({ path: 'responses/input_tokens', mode: 'responses' });

/**
 * Shortens a long conversation. The client sends the output with its next {@link responses} request, so the id of the
 * answer needs no deployment.
 */
export const compact = defineEndpoint({ path: 'responses/compact', mode: 'responses' });
