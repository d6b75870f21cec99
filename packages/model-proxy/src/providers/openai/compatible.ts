/**
 * Providers with OpenAI's API, with LiteLLM's names, addresses and environment variables
 * (litellm_core_utils/get_llm_provider_logic.py and llms/<name>/chat/transformation.py). So a
 * configuration for LiteLLM works unchanged.
 */
import type { Provider } from '../provider.js';
import { openai, openaiApiProvider } from './openai.js';

/** Providers with OpenAI's API at one fixed or configured address. vendors.ts and addressed.ts have more. */
export const compatible: readonly Provider[] = [
  openaiApiProvider({
    name: 'text-completion-openai',
    exceptionName: 'OpenAIException',
    apiKeyEnvironment: openai.apiKeyEnvironment,
    apiBaseEnvironment: openai.apiBaseEnvironment,
    defaultApiBase: 'https://api.openai.com/v1',
  }),
  openaiApiProvider({
    name: 'custom_openai',
    apiKeyEnvironment: openai.apiKeyEnvironment,
    apiBaseEnvironment: openai.apiBaseEnvironment,
  }),
  // Another LiteLLM proxy. Its key is not an OpenAI key, so OPENAI_API_KEY is not a fallback.
  openaiApiProvider({
    name: 'litellm_proxy',
    apiKeyEnvironment: ['LITELLM_PROXY_API_KEY'],
    apiBaseEnvironment: ['LITELLM_PROXY_API_BASE'],
    anthropicEndpoints: ['messages', 'messages/count_tokens'],
  }),
  openaiApiProvider({
    name: 'lm_studio',
    apiKeyEnvironment: ['LM_STUDIO_API_KEY'],
    apiBaseEnvironment: ['LM_STUDIO_API_BASE'],
  }),
  openaiApiProvider({
    name: 'llamafile',
    apiKeyEnvironment: ['LLAMAFILE_API_KEY'],
    apiBaseEnvironment: ['LLAMAFILE_API_BASE'],
    defaultApiBase: 'http://127.0.0.1:8080/v1',
  }),
  openaiApiProvider({
    name: 'openrouter',
    apiKeyEnvironment: ['OPENROUTER_API_KEY', 'OR_API_KEY'],
    apiBaseEnvironment: ['OPENROUTER_API_BASE'],
    anthropicEndpoints: ['messages'],
    // https://openrouter.ai/docs/features/model-routing and https://openrouter.ai/docs/features/presets
    modelParameters: ['models', 'preset'],
    defaultApiBase: 'https://openrouter.ai/api/v1',
  }),
  openaiApiProvider({
    name: 'vercel_ai_gateway',
    apiKeyEnvironment: ['VERCEL_AI_GATEWAY_API_KEY', 'VERCEL_OIDC_TOKEN'],
    apiBaseEnvironment: ['VERCEL_AI_GATEWAY_API_BASE'],
    // https://vercel.com/docs/ai-gateway/models-and-providers/model-fallbacks
    modelParameters: ['models', 'providerOptions'],
    defaultApiBase: 'https://ai-gateway.vercel.sh/v1',
  }),
  openaiApiProvider({
    name: 'together_ai',
    apiKeyEnvironment: ['TOGETHER_API_KEY', 'TOGETHER_AI_API_KEY', 'TOGETHERAI_API_KEY', 'TOGETHER_AI_TOKEN'],
    apiBaseEnvironment: ['TOGETHER_AI_API_BASE'],
    defaultApiBase: 'https://api.together.ai/v1',
  }),
  openaiApiProvider({
    name: 'groq',
    apiKeyEnvironment: ['GROQ_API_KEY'],
    apiBaseEnvironment: ['GROQ_API_BASE'],
    defaultApiBase: 'https://api.groq.com/openai/v1',
  }),
  openaiApiProvider({
    name: 'deepseek',
    apiKeyEnvironment: ['DEEPSEEK_API_KEY'],
    apiBaseEnvironment: ['DEEPSEEK_API_BASE'],
    defaultApiBase: 'https://api.deepseek.com/beta',
  }),
  openaiApiProvider({
    name: 'codestral',
    apiKeyEnvironment: ['CODESTRAL_API_KEY'],
    apiBaseEnvironment: ['CODESTRAL_API_BASE'],
    defaultApiBase: 'https://codestral.mistral.ai/v1',
  }),
  openaiApiProvider({
    name: 'fireworks_ai',
    apiKeyEnvironment: ['FIREWORKS_API_KEY', 'FIREWORKS_AI_API_KEY', 'FIREWORKSAI_API_KEY', 'FIREWORKS_AI_TOKEN'],
    apiBaseEnvironment: ['FIREWORKS_API_BASE'],
    defaultApiBase: 'https://api.fireworks.ai/inference/v1',
  }),
  openaiApiProvider({
    name: 'deepinfra',
    apiKeyEnvironment: ['DEEPINFRA_API_KEY'],
    apiBaseEnvironment: ['DEEPINFRA_API_BASE'],
    defaultApiBase: 'https://api.deepinfra.com/v1/openai',
  }),
  openaiApiProvider({
    name: 'xai',
    apiKeyEnvironment: ['XAI_API_KEY'],
    apiBaseEnvironment: ['XAI_API_BASE'],
    defaultApiBase: 'https://api.x.ai/v1',
  }),
  openaiApiProvider({
    name: 'nvidia_nim',
    apiKeyEnvironment: ['NVIDIA_NIM_API_KEY'],
    apiBaseEnvironment: ['NVIDIA_NIM_API_BASE'],
    defaultApiBase: 'https://integrate.api.nvidia.com/v1',
  }),
  openaiApiProvider({
    name: 'perplexity',
    apiKeyEnvironment: ['PERPLEXITYAI_API_KEY', 'PERPLEXITY_API_KEY'],
    apiBaseEnvironment: ['PERPLEXITY_API_BASE'],
    // https://docs.perplexity.ai/docs/agent-api/model-fallback
    modelParameters: ['models'],
    defaultApiBase: 'https://api.perplexity.ai',
  }),
  openaiApiProvider({
    name: 'cerebras',
    apiKeyEnvironment: ['CEREBRAS_API_KEY'],
    apiBaseEnvironment: ['CEREBRAS_API_BASE'],
    defaultApiBase: 'https://api.cerebras.ai/v1',
  }),
  openaiApiProvider({
    name: 'sambanova',
    apiKeyEnvironment: ['SAMBANOVA_API_KEY'],
    apiBaseEnvironment: ['SAMBANOVA_API_BASE'],
    defaultApiBase: 'https://api.sambanova.ai/v1',
  }),
  openaiApiProvider({
    name: 'meta_llama',
    apiKeyEnvironment: ['LLAMA_API_KEY'],
    apiBaseEnvironment: ['LLAMA_API_BASE'],
    defaultApiBase: 'https://api.llama.com/compat/v1',
  }),
  openaiApiProvider({
    name: 'friendliai',
    apiKeyEnvironment: ['FRIENDLIAI_API_KEY', 'FRIENDLI_TOKEN'],
    apiBaseEnvironment: ['FRIENDLI_API_BASE'],
    defaultApiBase: 'https://api.friendli.ai/serverless/v1',
  }),
  openaiApiProvider({
    name: 'volcengine',
    apiKeyEnvironment: ['VOLCENGINE_API_KEY'],
    apiBaseEnvironment: ['VOLCENGINE_API_BASE'],
    defaultApiBase: 'https://ark.cn-beijing.volces.com/api/v3',
  }),
  openaiApiProvider({
    name: 'github',
    apiKeyEnvironment: ['GITHUB_API_KEY'],
    apiBaseEnvironment: ['GITHUB_API_BASE'],
    defaultApiBase: 'https://models.inference.ai.azure.com',
  }),
];
