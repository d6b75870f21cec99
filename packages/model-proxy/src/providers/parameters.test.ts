import { describe, expect, it } from '@jest/globals';
import { findProvider, isKnownProvider } from './index.js';
import { checkedParameters, isConsumed, isOpenaiModel, openaiParameters } from './parameters.js';

const chat = 'chat/completions';

describe('providers and their parameters', () => {
  it("support the same parameters as in LiteLLM for models that are not OpenAI's", () => {
    const expected = [
      'audio',
      'extra_headers',
      'frequency_penalty',
      'function_call',
      'functions',
      'logit_bias',
      'logprobs',
      'max_completion_tokens',
      'max_retries',
      'max_tokens',
      'modalities',
      'n',
      'parallel_tool_calls',
      'prediction',
      'presence_penalty',
      'prompt_cache_key',
      'prompt_cache_retention',
      'reasoning_effort',
      'response_format',
      'safety_identifier',
      'seed',
      'service_tier',
      'stop',
      'store',
      'stream',
      'stream_options',
      'temperature',
      'tool_choice',
      'tools',
      'top_logprobs',
      'top_p',
      'web_search_options',
    ];
    expect([...findProvider('openai').supportedParameters(chat, 'my-model')].sort()).toEqual(expected);
    expect([...findProvider('hosted_vllm').supportedParameters(chat, 'my-model')].sort()).toEqual(
      [...expected, 'thinking'].sort(),
    );
    expect([...findProvider('somebody').supportedParameters(chat, 'my-model')].sort()).toEqual(expected);
  });

  it('distinguish OpenAI’s models, which support everything, from models with similar names', () => {
    const own = [
      'gpt-4',
      'gpt-4o-mini',
      'gpt-4.1',
      'gpt-5',
      'gpt-5.1-codex',
      'o1',
      'o3-mini',
      'o4-mini',
      'gpt-3.5-turbo-16k',
      'chatgpt-4o-latest',
      'text-embedding-3-small',
      'ft:gpt-4o:acme::x',
    ];
    const others = [
      'gpt-oss-120b',
      'gpt-4all',
      'gptq',
      'o10',
      'openchat',
      'my-gpt-4',
      'gpt-j',
      'text-embedding-bge',
      'Qwen/Qwen3-32B',
    ];
    expect(own.filter((name) => !isOpenaiModel(name))).toEqual([]);
    expect(others.filter((name) => isOpenaiModel(name))).toEqual([]);
    expect(findProvider('openai').supportedParameters(chat, 'gpt-5')).toEqual(checkedParameters(chat));
    expect(findProvider('hosted_vllm').supportedParameters(chat, 'gpt-5').has('verbosity')).toBe(false);
  });

  it('are checked only for chat, text completions and embeddings', () => {
    expect(checkedParameters('responses').size).toBe(0);
    expect(checkedParameters('rerank').size).toBe(0);
    expect([...checkedParameters('embeddings')]).toEqual(['dimensions', 'encoding_format', 'user']);
    expect(checkedParameters('completions')).toEqual(checkedParameters(chat));
    expect(openaiParameters.has('dimensions') && openaiParameters.has('temperature')).toBe(true);
    for (const name of ['top_k', 'guided_json', 'chat_template_kwargs', 'best_of', 'echo'])
      expect(openaiParameters.has(name)).toBe(false);
  });

  it('support at least one parameter of each checked endpoint, and only checked parameters', () => {
    const names = [
      'openai',
      'hosted_vllm',
      'text-completion-openai',
      'litellm_proxy',
      'cerebras',
      'deepinfra',
      'deepseek',
      'fireworks_ai',
      'groq',
      'mistral',
      'nvidia_nim',
      'openrouter',
      'perplexity',
      'sambanova',
      'xai',
      'unknown',
    ];
    for (const name of names) {
      for (const endpoint of [chat, 'completions', 'embeddings']) {
        const supported = findProvider(name).supportedParameters(endpoint, 'm');
        expect([...supported].filter((parameter) => !checkedParameters(endpoint).has(parameter))).toEqual([]);
        expect(supported.size).toBeGreaterThan(0);
      }
    }
  });

  it('do not forward parameters that select the address, the key or the headers', () => {
    const dangerous = [
      'api_base',
      'base_url',
      'api_key',
      'api_version',
      'extra_headers',
      'headers',
      'default_headers',
      'organization',
      'custom_llm_provider',
      'model_list',
      'litellm_params',
      'litellm_anything',
    ];
    for (const endpoint of [chat, 'completions', 'embeddings', 'responses', 'anything']) {
      expect(dangerous.filter((name) => !isConsumed(name, endpoint))).toEqual([]);
    }
    expect(isConsumed('metadata', chat)).toBe(true);
    // At this endpoint, `metadata` is a parameter of OpenAI, so the proxy forwards it.
    expect(isConsumed('metadata', 'responses')).toBe(false);
    expect(isConsumed('messages', chat)).toBe(false);
  });

  it('have the addresses, variables and names of exceptions of LiteLLM', () => {
    const { name, exceptionName, apiKeyEnvironment, apiBaseEnvironment, defaultApiBase } = findProvider('hosted_vllm');
    expect({ name, exceptionName, apiKeyEnvironment, apiBaseEnvironment, defaultApiBase }).toEqual({
      name: 'hosted_vllm',
      exceptionName: 'Hosted_vllmException',
      apiKeyEnvironment: ['HOSTED_VLLM_API_KEY'],
      apiBaseEnvironment: ['HOSTED_VLLM_API_BASE'],
      defaultApiBase: null,
    });
    expect(findProvider('openai').exceptionName).toBe('OpenAIException');
    expect(findProvider('openai').headers('k')).toEqual({ authorization: 'Bearer k' });
    expect(findProvider('openai').headers(null)).toEqual({});
    expect(isKnownProvider('somebody')).toBe(false);
    expect(findProvider('somebody').apiKeyEnvironment).toEqual([]);
    expect(findProvider('groq').defaultApiBase).toBe('https://api.groq.com/openai/v1');
  });
});
