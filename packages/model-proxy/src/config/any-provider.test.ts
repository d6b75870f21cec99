import { describe, expect, it } from '@jest/globals';
import { configurationFixture } from '../../test/support/configuration.js';
import { createRouter } from '../routing/create-router.js';

const { load } = configurationFixture();

const environment = { OPENAI_API_KEY: 'openai-key', GROQ_API_KEY: 'groq-key', HOSTED_VLLM_API_BASE: 'http://vllm/v1' };

/** Where requests for a name go: provider, the upstream's name, address, key. */
function way(params: string, name: string, modelName = '*') {
  const entry = `model_list: [{model_name: ${JSON.stringify(modelName)}, litellm_params: ${params}}]\n`;
  const selection = createRouter(load(entry, { environment }).proxy).select(name);
  if (selection === undefined) return undefined;
  const { provider, apiBase, apiKey } = selection.deployment;
  return [provider.name, selection.upstreamModel, apiBase, apiKey, selection.modelGroup];
}

describe('a model of "*"', () => {
  it.each([
    ['gpt-4o', ['openai', 'gpt-4o', 'https://api.openai.com/v1', 'openai-key', '*']],
    ['openai/gpt-4o', ['openai', 'gpt-4o', 'https://api.openai.com/v1', 'openai-key', '*']],
    ['groq/llama/3', ['groq', 'llama/3', 'https://api.groq.com/openai/v1', 'groq-key', '*']],
    ['hosted_vllm/a', ['hosted_vllm', 'a', 'http://vllm/v1', null, '*']],
    ['facebook/opt', ['openai', 'facebook/opt', 'https://api.openai.com/v1', 'openai-key', '*']],
    ['anthropic/claude', undefined],
  ])('asks for %s where its beginning says, without that beginning (C5, C9)', (name, expected) => {
    expect(way('{model: "*"}', name)).toEqual(expected);
  });

  it('asks at its own address, with its own key, whatever the provider (C5, C9)', () => {
    const params = '{model: "*", api_base: "http://own/v1", api_key: own}';
    expect(way(params, 'groq/a')).toEqual(['groq', 'a', 'http://own/v1', 'own', '*']);
    expect(way(params, 'anthropic/a')).toEqual(['openai', 'anthropic/a', 'http://own/v1', 'own', '*']);
  });

  it('is told from one that names its provider (C5)', () => {
    expect(way('{model: "openai/*"}', 'groq/a')?.slice(0, 2)).toEqual(['openai', 'groq/a']);
    expect(way('{model: "*", custom_llm_provider: openai}', 'groq/a')?.slice(0, 2)).toEqual(['openai', 'groq/a']);
    expect(way('{model: "*"}', 'any/groq/a', 'any/*')?.slice(0, 2)).toEqual(['groq', 'a']);
  });
});
