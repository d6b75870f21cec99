import { describe, expect, it } from '@jest/globals';
import { endpoints } from './index.js';
import { parseForwardedPath } from './forwarded-path.js';
import { createPaths, forwardedTarget, plainPath } from './paths.js';

const paths = createPaths(endpoints);
const found = (url: string) => {
  const target = paths.exact(url) ?? paths.match(plainPath(url));
  return target === undefined ? undefined : [target.endpoint.path, target.model];
};

describe('the path of a request', () => {
  it.each([
    ['/v1/chat/completions', 'chat/completions', null],
    ['/chat/completions', 'chat/completions', null],
    ['//v1//chat///completions/', 'chat/completions', null],
    ['/v1/chat/completions/?api-version=1', 'chat/completions', null],
    ['http://proxy:4000/v1/chat/completions', 'chat/completions', null],
    ['/completions', 'completions', null],
    ['/v1/embeddings', 'embeddings', null],
    ['/v1/responses', 'responses', null],
    ['/rerank', 'rerank', null],
    ['/v2/rerank', 'rerank', null],
    ['/v1/moderations', 'moderations', null],
    ['/v1/audio/transcriptions', 'audio/transcriptions', null],
    ['/engines/gpt-4/completions', 'completions', 'gpt-4'],
    ['/engines/org/gpt%204/chat/completions', 'chat/completions', 'org/gpt 4'],
    ['/openai/deployments/gpt-4/chat/completions?api-version=2024-02-01', 'chat/completions', 'gpt-4'],
    ['/openai/deployments/e/embeddings', 'embeddings', 'e'],
  ])('leads to an endpoint: %s to %s', (url, path, model) => {
    expect(found(url)).toEqual([path, model]);
  });

  it.each([
    '/',
    '/v1',
    '/v1/chat',
    '/engines/completions',
    '/engines/%E0%A4%A/completions',
    '/v2/chat/completions',
    '/v1/load_lora_adapter',
    '/v1/sleep',
    '/v1/fine_tuning/jobs',
    '*',
  ])('leads to no endpoint: %s', (url) => {
    expect(found(url)).toBeUndefined();
  });
});

describe('a path of forwarded_paths', () => {
  it.each([
    ['fim/completions', 'fim/completions'],
    ['/v1/fim/completions', 'fim/completions'],
    ['v1/ocr', 'ocr'],
    ['/v3/new-thing', 'v3/new-thing'],
  ])('becomes a path below api_base: %s becomes %s', (path, below) => {
    expect(parseForwardedPath(path)).toBe(below);
  });

  it.each([
    '',
    '/',
    '/v1',
    '/v1/',
    '/v1/../admin',
    '/v1/./x',
    '/v1/%2e%2e/admin',
    '/v1/a%2fb',
    '/v1/a\\..\\b',
    '/v1/a b',
    '/.env',
    '/v1/a?b',
  ])('is rejected if it is %j', (path) => {
    expect(parseForwardedPath(path)).toBeUndefined();
  });

  it('is served with and without /v1, while similar paths are not served', () => {
    const opened = new Set(['fim/completions']);
    for (const path of ['/fim/completions', '/v1/fim/completions'])
      expect(forwardedTarget(path, opened)?.endpoint.path).toBe('fim/completions');
    for (const path of ['/v2/fim/completions', '/fim', '/v1/sleep', '/v1/v1/fim/completions'])
      expect(forwardedTarget(path, opened)).toBeUndefined();
  });
});
