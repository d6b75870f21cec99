import { defineEndpoint } from './endpoint.js';

/** Chat: the model answers a list of messages. @see https://platform.openai.com/docs/api-reference/chat */
export const chatCompletions = defineEndpoint({
  path: 'chat/completions',
  mode: 'chat',
  requiredParameter: 'messages',
  nullable: {
    answer: ['system_fingerprint', 'service_tier', 'prompt_logprobs'],
    choice: [],
    message: ['tool_calls', 'function_call'],
    usage: ['prompt_tokens_details', 'completion_tokens_details'],
  },
});
