import { describe, expect, it } from '@jest/globals';
import { environmentDeployment } from './environment-deployment.js';

describe('OpenAI by the environment', () => {
  const of = (environment: Readonly<Record<string, string>>) => {
    const deployment = environmentDeployment(environment);
    return deployment === null ? null : [deployment.apiBase, deployment.apiKey, deployment.tls.verify];
  };

  it('is there with a key, at its own address or at that of the environment (C13)', () => {
    expect(of({ OPENAI_API_KEY: ' sk-1 ' })).toEqual(['https://api.openai.com/v1', 'sk-1', true]);
    expect(of({ OPENAI_API_KEY: 'sk-1', OPENAI_API_BASE: 'https://mine/v1/' })).toEqual([
      'https://mine/v1',
      'sk-1',
      true,
    ]);
  });

  it('is not there without a key, or with an address that is none (C13)', () => {
    expect([of({}), of({ OPENAI_API_KEY: '' }), of({ OPENAI_API_KEY: 'k', OPENAI_BASE_URL: 'mine' })]).toEqual([
      null,
      null,
      null,
    ]);
  });
});
