import { describe, expect, it } from '@jest/globals';
import { acceptsPath, nameAtAnyProvider, rawTarget, staysBelow, upstreamUrl, type RawTarget } from './paths.js';

describe('a raw path', () => {
  it.each<[string, RawTarget]>([
    ['/openai/v1/models', { kind: 'provider', family: 'openai', rest: 'v1/models' }],
    ['/openai_passthrough/v1/responses?x=1', { kind: 'provider', family: 'openai', rest: 'v1/responses' }],
    ['/vllm/metrics/', { kind: 'provider', family: 'vllm', rest: 'metrics/' }],
    ['//vllm//score', { kind: 'provider', family: 'vllm', rest: 'score' }],
    ['http://evil.example/openai/models?a#b', { kind: 'provider', family: 'openai', rest: 'models' }],
    ['/openai/v1/models/org%2Fmodel', { kind: 'provider', family: 'openai', rest: 'v1/models/org%2Fmodel' }],
    ['/v1/files', { kind: 'files', provider: null, rest: 'files' }],
    ['/files/file-1/content', { kind: 'files', provider: null, rest: 'files/file-1/content' }],
    ['/v1/batches/b/cancel', { kind: 'files', provider: null, rest: 'batches/b/cancel' }],
    ['/hosted_vllm/v1/files', { kind: 'files', provider: 'hosted_vllm', rest: 'files' }],
    ['/v1/realtime?model=m', { kind: 'realtime', rest: 'realtime' }],
    ['/realtime', { kind: 'realtime', rest: 'realtime' }],
  ])('is parsed: %s', (url, target) => {
    expect(rawTarget(url)).toEqual(target);
  });

  it.each(['/openai', '/vllm', '/openais/x', '/v1/filesystem', '/v1/realtime/sessions', '/v1/chat/completions', '/'])(
    'cannot be %s',
    (path) => {
      expect([acceptsPath(path), rawTarget(path)]).toEqual([false, undefined]);
    },
  );
});

describe('the name of a path at any provider', () => {
  it.each([
    ['/v1/batches', '*/batches'],
    ['/batches', '*/batches'],
    ['/openai/v1/Batches/', '*/batches'],
    ['/vllm/batches', '*/batches'],
    ['/hosted_vllm/v1/batches', '*/batches'],
    ['/gemini/v1beta/openai/batches', '*/batches'],
    ['/files/file-1/content', '*/files/file-1/content'],
    ['/openai/v1/files/file-1/content;x', '*/files/file-1/content'],
    ['/v1/chat/completions', '*/chat/completions'],
    ['/openai/v1/chat/completions', '*/chat/completions'],
    ['/openai/v1/chat%252fcompletions', '*/chat/completions'],
    ['/openai/openai/v1/chat/completions', '*/chat/completions'],
    ['/openai_passthrough/deployments/a/b/chat/completions', '*/chat/completions'],
    ['/openai/v1/engines/100%25/completions', '*/completions'],
    ['/vllm/v2/rerank', '*/rerank'],
    ['/openai/v1/responses/resp_1', '*/responses/resp_1'],
    ['/vllm/metrics', '*/metrics'],
  ])('has no provider, version and model: %s', (path, name) => {
    expect(nameAtAnyProvider(path)).toBe(name);
  });
});

describe('a path that may lead out of its base, or that servers read in different ways,', () => {
  it.each([
    '..',
    '../admin',
    'v1/../../admin',
    '%2e%2e/admin',
    '.%2E/admin',
    'v1/%2e%2e%2fadmin',
    'v1/..%2fadmin',
    '%252e%252e/admin',
    '%25252e%25252e/admin',
    '%2525252525252e/admin',
    '..;/admin',
    '.;x/admin',
    'a\\..\\admin',
    'a%5c..%5cadmin',
    'a%00',
    'a%0d%0aHost:evil',
    'a\tb',
    'a%zz',
    'caf\u00e9',
  ])('is found in %j', (rest) => {
    expect(staysBelow(rest)).toBe(false);
    expect(rawTarget(`/openai/${rest}`)).toBeUndefined();
  });

  it.each(['v1/models', 'v1/files/file-..x', 'a/...', '.well-known/x', 'a%20b', '100%25', 'x@y:1', 'a//b'])(
    'is not found in %j',
    (rest) => {
      expect(staysBelow(rest)).toBe(true);
    },
  );
});

describe('the URL of an upstream', () => {
  const urlOf = (apiBase: string, url: string): string => {
    const target = rawTarget(url);
    if (target === undefined) throw new Error(`the URL ${url} has no target`);
    return upstreamUrl(apiBase, target);
  };

  it.each([
    ['https://host/v1', '/openai/v1/files', 'https://host/v1/files'],
    ['https://host/v1', '/openai/files', 'https://host/v1/files'],
    ['https://host/base', '/openai/v1/files', 'https://host/base/v1/files'],
    ['https://host/v1', '/vllm/metrics', 'https://host/metrics'],
    ['https://host/tenant/v1', '/vllm/v1/score', 'https://host/tenant/v1/score'],
    ['https://host', '/vllm/metrics', 'https://host/metrics'],
    ['https://host/v1', '/v1/files/f', 'https://host/v1/files/f'],
    ['https://host/v1', '/files/f', 'https://host/v1/files/f'],
    ['https://host/beta', '/v1/batches', 'https://host/beta/batches'],
    ['https://host/v1beta/openai', '/gemini/v1beta/models', 'https://host/v1beta/models'],
    ['https://host/v1beta', '/gemini/v1beta/models', 'https://host/v1beta/models'],
    ['https://host/v1alpha/openai', '/gemini/v1beta/models', 'https://host/v1beta/models'],
    ['https://host/v1/openai', '/gemini/v1alpha/models', 'https://host/v1alpha/models'],
    ['https://host', '/gemini/v1beta/models', 'https://host/v1beta/models'],
    ['https://host/v1', '/realtime', 'https://host/v1/realtime'],
  ])('is built from api_base and the raw path: %s with %s is %s', (apiBase, url, expected) => {
    expect(urlOf(apiBase, url)).toBe(expected);
  });
});
