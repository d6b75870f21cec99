import { defineEndpoint } from './endpoint.js';

/** Text completion. @see https://platform.openai.com/docs/api-reference/completions */
export const completions = defineEndpoint({
  path: 'completions',
  mode: 'completion',
  requiredParameter: 'prompt',
  nullable: {
    answer: [],
    choice: ['logprobs', 'stop_reason', 'prompt_logprobs'],
    message: [],
    usage: ['prompt_tokens_details'],
  },
});
