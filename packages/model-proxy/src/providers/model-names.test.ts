import { describe, expect, it } from '@jest/globals';
import { providerOfModel } from './model-names.js';

describe('the provider of a model without a prefix such as openai/', () => {
  it.each([
    [
      'openai',
      'gpt-4o',
      'gpt-3.5-turbo',
      'gpt-5.1-codex-max',
      'gpt-image-1',
      'gpt-realtime',
      'o1',
      'o3-mini',
      'o4-mini',
    ],
    ['openai', 'chatgpt-4o-latest', 'ft:gpt-4o-2024-08-06:org::id', 'ft:o4-mini-2025-04-16', 'codex-mini-latest'],
    ['openai', 'text-embedding-3-large', 'text-embedding-ada-002', 'dall-e-3', 'whisper-1', 'tts-1-hd', 'sora-2'],
    ['openai', 'omni-moderation-latest', 'text-moderation-stable', 'computer-use-preview'],
    ['text-completion-openai', 'gpt-3.5-turbo-instruct', 'babbage-002', 'davinci-002', 'ft:davinci-002:org'],
    ['anthropic', 'claude-opus-4-1', 'claude-3-5-sonnet-20241022', 'claude-instant-1', 'claude-*'],
    ['bedrock', 'anthropic.claude-v2', 'us.anthropic.claude-opus-4-20250514-v1:0', 'amazon.titan-text-lite-v1'],
    ['bedrock', 'meta.llama3-70b-instruct-v1:0', 'us-gov.anthropic.claude-3', 'openai.gpt-oss-120b-1:0'],
    ['vertex_ai', 'gemini-2.5-pro', 'gemini-embedding-001', 'text-bison', 'text-embedding-004', 'imagen-3.0'],
    ['cohere', 'command-r-plus', 'command', 'embed-english-v3.0', 'rerank-v3.5'],
    ['ai21', 'jamba-1.5-large', 'j2-ultra'],
    ['replicate', `meta/llama-2:${'0a'.repeat(32)}`],
  ])('is %s', (provider, ...models) => {
    expect(models.map((model) => [model, providerOfModel(model)])).toEqual(models.map((model) => [model, provider]));
  });

  it.each(['gpt-oss-120b', 'my-model', 'llama-3', 'mistral-large', 'deepseek-chat', 'o', 'opus', 'claude', 'gpt', ''])(
    'is unknown for %j',
    (model) => {
      expect(providerOfModel(model)).toBeUndefined();
    },
  );
});
