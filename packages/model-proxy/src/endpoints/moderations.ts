import { defineEndpoint } from './endpoint.js';

/** Moderations. @see https://platform.openai.com/docs/api-reference/moderations */
export const moderations = defineEndpoint({
  path: 'moderations',
  mode: 'moderation',
  requiredParameter: 'input',
  // OpenAI's default.
  defaultModel: 'omni-moderation-latest',
});
