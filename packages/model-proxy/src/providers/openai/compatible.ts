/**
 * Providers with OpenAI's dialect, with LiteLLM's names, addresses and environment variables
 * (litellm_core_utils/get_llm_provider_logic.py and llms/<name>/chat/transformation.py). So a
 * configuration for LiteLLM works unchanged.
 */
import type { Provider } from '../provider.js';
import { openai, openaiDialect } from './openai.js';

/** All of them except OpenAI itself. */
export const compatible: readonly Provider[] = [
  openaiDialect({
    name: 'text-completion-openai',
    displayName: 'OpenAIException',
    apiKeyEnvironment: openai.apiKeyEnvironment,
    apiBaseEnvironment: openai.apiBaseEnvironment,
    defaultApiBase: 'https://api.openai.com/v1',
  }),
  openaiDialect({
    name: 'custom_openai',
    apiKeyEnvironment: openai.apiKeyEnvironment,
    apiBaseEnvironment: openai.apiBaseEnvironment,
  }),
  // Another LiteLLM proxy. Its key is not an OpenAI key, so OPENAI_API_KEY is not a fallback.
  openaiDialect({
    name: 'litellm_proxy',
    apiKeyEnvironment: ['LITELLM_PROXY_API_KEY'],
    apiBaseEnvironment: ['LITELLM_PROXY_API_BASE'],
  }),
  openaiDialect({
    name: 'lm_studio',
    apiKeyEnvironment: ['LM_STUDIO_API_KEY'],
    apiBaseEnvironment: ['LM_STUDIO_API_BASE'],
  }),
  openaiDialect({
    name: 'llamafile',
    apiKeyEnvironment: ['LLAMAFILE_API_KEY'],
    apiBaseEnvironment: ['LLAMAFILE_API_BASE'],
    defaultApiBase: 'http://127.0.0.1:8080/v1',
  }),
  openaiDialect({
    name: 'openrouter',
    apiKeyEnvironment: ['OPENROUTER_API_KEY', 'OR_API_KEY'],
    apiBaseEnvironment: ['OPENROUTER_API_BASE'],
    defaultApiBase: 'https://openrouter.ai/api/v1',
  }),
  openaiDialect({
    name: 'together_ai',
    apiKeyEnvironment: ['TOGETHER_API_KEY', 'TOGETHER_AI_API_KEY', 'TOGETHERAI_API_KEY', 'TOGETHER_AI_TOKEN'],
    apiBaseEnvironment: ['TOGETHER_AI_API_BASE'],
    defaultApiBase: 'https://api.together.xyz/v1',
  }),
  openaiDialect({
    name: 'groq',
    apiKeyEnvironment: ['GROQ_API_KEY'],
    apiBaseEnvironment: ['GROQ_API_BASE'],
    defaultApiBase: 'https://api.groq.com/openai/v1',
  }),
  openaiDialect({
    name: 'deepseek',
    apiKeyEnvironment: ['DEEPSEEK_API_KEY'],
    apiBaseEnvironment: ['DEEPSEEK_API_BASE'],
    defaultApiBase: 'https://api.deepseek.com/beta',
  }),
  openaiDialect({
    name: 'mistral',
    apiKeyEnvironment: ['MISTRAL_AZURE_API_KEY', 'MISTRAL_API_KEY'],
    apiBaseEnvironment: ['MISTRAL_AZURE_API_BASE'],
    defaultApiBase: 'https://api.mistral.ai/v1',
  }),
  openaiDialect({
    name: 'codestral',
    apiKeyEnvironment: ['CODESTRAL_API_KEY'],
    apiBaseEnvironment: ['CODESTRAL_API_BASE'],
    defaultApiBase: 'https://codestral.mistral.ai/v1',
  }),
  openaiDialect({
    name: 'fireworks_ai',
    apiKeyEnvironment: ['FIREWORKS_API_KEY', 'FIREWORKS_AI_API_KEY', 'FIREWORKSAI_API_KEY', 'FIREWORKS_AI_TOKEN'],
    apiBaseEnvironment: ['FIREWORKS_API_BASE'],
    defaultApiBase: 'https://api.fireworks.ai/inference/v1',
  }),
  openaiDialect({
    name: 'deepinfra',
    apiKeyEnvironment: ['DEEPINFRA_API_KEY'],
    apiBaseEnvironment: ['DEEPINFRA_API_BASE'],
    defaultApiBase: 'https://api.deepinfra.com/v1/openai',
  }),
  openaiDialect({
    name: 'xai',
    apiKeyEnvironment: ['XAI_API_KEY'],
    apiBaseEnvironment: ['XAI_API_BASE'],
    defaultApiBase: 'https://api.x.ai/v1',
  }),
  openaiDialect({
    name: 'nvidia_nim',
    apiKeyEnvironment: ['NVIDIA_NIM_API_KEY'],
    apiBaseEnvironment: ['NVIDIA_NIM_API_BASE'],
    defaultApiBase: 'https://integrate.api.nvidia.com/v1',
  }),
  openaiDialect({
    name: 'perplexity',
    apiKeyEnvironment: ['PERPLEXITYAI_API_KEY', 'PERPLEXITY_API_KEY'],
    apiBaseEnvironment: ['PERPLEXITY_API_BASE'],
    defaultApiBase: 'https://api.perplexity.ai',
  }),
  openaiDialect({
    name: 'cerebras',
    apiKeyEnvironment: ['CEREBRAS_API_KEY'],
    apiBaseEnvironment: ['CEREBRAS_API_BASE'],
    defaultApiBase: 'https://api.cerebras.ai/v1',
  }),
  openaiDialect({
    name: 'sambanova',
    apiKeyEnvironment: ['SAMBANOVA_API_KEY'],
    apiBaseEnvironment: ['SAMBANOVA_API_BASE'],
    defaultApiBase: 'https://api.sambanova.ai/v1',
  }),
  openaiDialect({
    name: 'meta_llama',
    apiKeyEnvironment: ['LLAMA_API_KEY'],
    apiBaseEnvironment: ['LLAMA_API_BASE'],
    defaultApiBase: 'https://api.llama.com/compat/v1',
  }),
  openaiDialect({
    name: 'friendliai',
    apiKeyEnvironment: ['FRIENDLIAI_API_KEY', 'FRIENDLI_TOKEN'],
    apiBaseEnvironment: ['FRIENDLI_API_BASE'],
    defaultApiBase: 'https://api.friendli.ai/serverless/v1',
  }),
  openaiDialect({
    name: 'volcengine',
    apiKeyEnvironment: ['VOLCENGINE_API_KEY'],
    apiBaseEnvironment: ['VOLCENGINE_API_BASE'],
    defaultApiBase: 'https://ark.cn-beijing.volces.com/api/v3',
  }),
  openaiDialect({
    name: 'github',
    apiKeyEnvironment: ['GITHUB_API_KEY'],
    apiBaseEnvironment: ['GITHUB_API_BASE'],
    defaultApiBase: 'https://models.inference.ai.azure.com',
  }),
];
