import { describe, expect, it } from '@jest/globals';
import { configurationFixture } from '../../../test/support/configuration.js';
import { createRouterNow } from '../../../test/support/router.js';

const { faults, load } = configurationFixture();

const environment = { OPENAI_API_KEY: 'openai-key', GROQ_API_KEY: 'groq-key', HOSTED_VLLM_API_BASE: 'http://vllm/v1' };

/** Returns the target of a name: provider, upstream's model name, address, key, model group; undefined: no target. */
function targetOf(params: string, name: string, modelName = '*') {
  const entry = `model_list: [{model_name: ${JSON.stringify(modelName)}, litellm_params: ${params}}]\n`;
  const selection = createRouterNow(load(entry, { environment }).proxy).select(name);
  if (selection === undefined) return undefined;
  const { provider, apiBase, apiKey } = selection.deployment;
  return [provider.name, selection.upstreamModel, apiBase, apiKey, selection.modelGroup];
}

describe('an entry with the model "*"', () => {
  it.each([
    ['gpt-4o', ['openai', 'gpt-4o', 'https://api.openai.com/v1', 'openai-key', '*']],
    ['openai/gpt-4o', ['openai', 'gpt-4o', 'https://api.openai.com/v1', 'openai-key', '*']],
    ['groq/llama/3', ['groq', 'llama/3', 'https://api.groq.com/openai/v1', 'groq-key', '*']],
    ['hosted_vllm/a', ['hosted_vllm', 'a', 'http://vllm/v1', null, '*']],
    ['facebook/opt', undefined],
    ['claude-opus-4-1', ['anthropic', 'claude-opus-4-1', 'https://api.anthropic.com/v1', null, '*']],
    ['anthropic.claude-v2', undefined],
    ['mistral-large', undefined],
    ['gpt-oss-120b', undefined],
    ['humanloop/claude', undefined],
    ['gemini-2.5-pro', undefined],
    ['vertex_ai/gemini-2.5-pro', undefined],
    ['azure/gpt-4o', undefined],
    ['bedrock/openai.gpt-oss-120b-1:0', undefined],
  ])('sends %s to the provider of its prefix or of its known name, or nowhere', (name, expected) => {
    expect(targetOf('{model: "*"}', name)).toEqual(expected);
  });

  it('sends a key only to the provider whose variable contains it', () => {
    const params = '{model: "*", api_key: os.environ/OPENAI_API_KEY}';
    expect(targetOf(params, 'gpt-4o')?.[3]).toBe('openai-key');
    expect(targetOf(params, 'openai/gpt-4o')?.[3]).toBe('openai-key');
    expect(targetOf(params, 'groq/a')?.[3]).toBe('groq-key');
    expect(targetOf(params, 'mistral/a')?.[3]).toBeNull();
    const groq = '{model: "*", api_key: os.environ/GROQ_API_KEY}';
    expect(targetOf(groq, 'groq/a')?.[3]).toBe('groq-key');
    expect(targetOf(groq, 'gpt-4o')?.[3]).toBe('openai-key');
  });

  it.each(['sk-literal', 'os.environ/MY_KEY'])('prevents the start if its key has an unknown provider: %s', (key) => {
    const text = `model_list: [{model_name: "*", litellm_params: {model: "*", api_key: ${key}}}]\n`;
    expect(faults(text, { environment: { MY_KEY: 'k' } })).toEqual([
      'config.yaml:1: model_list[0].litellm_params.api_key: the provider of this key is unknown, because the entry is for any model: set custom_llm_provider or api_base, or remove api_key, so that each provider gets the key of its own variable',
    ]);
  });

  it('sends no key of the environment to an api_base', () => {
    const params = '{model: "*", api_base: "http://own/v1"}';
    for (const name of ['gpt-4o', 'openai/gpt-4o', 'groq/a', 'anthropic/a', 'a'])
      expect(targetOf(params, name)?.slice(2)).toEqual(['http://own/v1', null, '*']);
  });

  it('sends no access token of the environment to an api_base', () => {
    const variables = {
      VERTEXAI_PROJECT: 'p',
      AZURE_AD_TOKEN: 'ey',
      AZURE_TENANT_ID: 't',
      AZURE_CLIENT_ID: 'c',
      AZURE_CLIENT_SECRET: 's',
    };
    const text = 'model_list: [{model_name: "*", litellm_params: {model: "*", api_base: "http://own/v1"}}]\n';
    const router = createRouterNow(load(text, { environment: variables }).proxy);
    for (const name of ['vertex_ai/gemini-2.5-pro', 'azure/gpt-4o', 'azure_ai/phi']) {
      const { token, extraHeaders, apiKey } = router.select(name)?.deployment ?? {};
      expect([token, extraHeaders, apiKey]).toEqual([undefined, {}, null]);
    }
  });

  it('uses its api_base and api_key for known providers and for an unknown one', () => {
    const params = '{model: "*", api_base: "http://own/v1", api_key: own}';
    expect(targetOf(params, 'groq/a')).toEqual(['groq', 'a', 'http://own/v1', 'own', '*']);
    expect(targetOf(params, 'anthropic/a')).toEqual(['anthropic', 'a', 'http://own/v1', 'own', '*']);
    expect(targetOf(params, 'humanloop/a')).toEqual(['openai', 'humanloop/a', 'http://own/v1', 'own', '*']);
  });

  it('reads no provider from a requested name if its params name one; removes a prefix of model_name first', () => {
    expect(targetOf('{model: "openai/*"}', 'groq/a')?.slice(0, 2)).toEqual(['openai', 'groq/a']);
    expect(targetOf('{model: "*", custom_llm_provider: openai}', 'groq/a')?.slice(0, 2)).toEqual(['openai', 'groq/a']);
    expect(targetOf('{model: "*"}', 'any/groq/a', 'any/*')?.slice(0, 2)).toEqual(['groq', 'a']);
  });
});
