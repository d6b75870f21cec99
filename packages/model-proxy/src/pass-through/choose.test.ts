import { describe, expect, it } from '@jest/globals';
import { deploymentAt } from '../../test/support/app.js';
import { SIMPLE_SHUFFLE } from '../../test/support/deployment.js';
import { ProxyError } from '../errors/proxy-error.js';
import type { Deployment } from '../providers/deployment.js';
import { findProvider } from '../providers/index.js';
import { createRouterNow } from '../../test/support/router.js';
import { chooseForFiles, chooseForProvider, type SelectionContext, type FilesChoice } from './choose.js';

function made(modelName: string, provider: string, more: Partial<Deployment> = {}): Deployment {
  return deploymentAt('https://one/v1', {
    id: modelName,
    modelName,
    provider: findProvider(provider),
    upstreamModel: `${modelName}-upstream`,
    ...more,
  });
}

function choosing(
  deployments: readonly Deployment[],
  environmentDeployment: Deployment | null = null,
): SelectionContext {
  const unserved = new Map([['claude', 'bedrock has its own API']]);
  const settings = { deployments, unserved, modelGroupAlias: new Map(), hiddenAliases: new Set<string>() };
  return {
    settings,
    router: createRouterNow({ ...settings, strategy: SIMPLE_SHUFFLE }, {}, () => 0.99),
    environmentDeployment,
  };
}

function refusal(act: () => unknown): [number, string] {
  try {
    act();
  } catch (error) {
    if (error instanceof ProxyError) return [error.status, error.message];
  }
  throw new Error('nothing was refused');
}

const gpt = made('gpt', 'openai');
const other = made('other', 'openai', { apiBase: 'https://two/v1' });
const marked = made('marked', 'openai', { apiBase: 'https://three/v1', useInPassThrough: true });
const oss = made('oss', 'hosted_vllm', { apiBase: 'https://vllm/v1' });
const vllm = made('vllm', 'hosted_vllm', { apiBase: 'https://vllm-2/v1', useInPassThrough: true });
const env = made('env', 'openai', { apiBase: 'https://env/v1' });

describe('the deployment of a provider', () => {
  it('is the first with use_in_pass_through, or else the one from the environment', () => {
    const chosen = (...args: Parameters<typeof choosing>) =>
      chooseForProvider('openai', undefined, '/openai/x', choosing(...args)).deployment;
    expect(chosen([oss, gpt, other, marked])).toBe(marked);
    expect(chosen([oss, gpt, other], env)).toBe(env);
    expect(chosen([oss], env)).toBe(env);
    expect(chooseForProvider('vllm', undefined, '/vllm/x', choosing([gpt, oss, vllm], env)).deployment).toBe(vllm);
  });

  it('is the deployment with the requested public name and use_in_pass_through, or else the first eligible one', () => {
    const second = made('second', 'openai', { useInPassThrough: true });
    const all = choosing([gpt, second, marked, oss, vllm]);
    const chosen = (family: 'openai' | 'vllm', model: string) => {
      const { deployment, upstreamModel } = chooseForProvider(family, model, '/x', all);
      return [deployment.id, upstreamModel];
    };
    expect(chosen('openai', 'marked')).toEqual(['marked', 'marked-upstream']);
    expect(chosen('openai', 'gpt-9')).toEqual(['second', 'gpt-9']);
    // Raw requests must not use the key of a deployment without use_in_pass_through.
    expect(chosen('openai', 'gpt')).toEqual(['second', 'gpt']);
    expect(chosen('vllm', 'vllm')).toEqual(['vllm', 'vllm-upstream']);
    // Another deployment of the same name is not eligible, whichever the weights would select.
    const pair = [
      made('pair', 'openai', { useInPassThrough: true }),
      made('pair', 'openai'),
      made('pair', 'hosted_vllm'),
    ];
    expect(chooseForProvider('openai', 'pair', '/x', choosing([marked, ...pair]))).toEqual({
      deployment: pair[0],
      modelGroup: 'pair',
      upstreamModel: 'pair-upstream',
    });
    // A public name of another provider must not select that provider's key.
    expect(chosen('vllm', 'gpt')).toEqual(['vllm', 'gpt']);
  });

  it('causes a 400 that names the missing setting if no model has use_in_pass_through', () => {
    expect(refusal(() => chooseForProvider('vllm', 'x', '/vllm/score', choosing([gpt, oss], env)))).toEqual([
      400,
      '/vllm/score: no configured deployment can serve it: set use_in_pass_through: true for a model of hosted_vllm/ in model_list.',
    ]);
    expect(refusal(() => chooseForProvider('openai', 'x', '/openai/x', choosing([oss, gpt])))).toEqual([
      400,
      '/openai/x: no configured deployment can serve it: set use_in_pass_through: true for a model of openai/ in model_list, or set OPENAI_API_KEY.',
    ]);
  });
});

describe('the deployment of a file', () => {
  const nothing: FilesChoice = { models: [], provider: null };
  const chosen = (choice: Partial<FilesChoice>, ...args: Parameters<typeof choosing>) =>
    chooseForFiles({ ...nothing, ...choice }, '/v1/files', choosing(...args)).deployment;

  it('is the first deployment of the only account', () => {
    expect(chosen({}, [oss])).toBe(oss);
    expect(chosen({}, [gpt, made('again', 'openai')])).toBe(gpt);
    expect(chosen({}, [], env)).toBe(env);
  });

  it("is the deployment with use_in_pass_through, or else OpenAI's, or else the environment's", () => {
    expect(chosen({}, [oss, gpt])).toBe(gpt);
    expect(chosen({}, [oss, made('x', 'hosted_vllm', { apiBase: 'https://v2/v1' })], env)).toBe(env);
    expect(chosen({}, [gpt, other, marked, oss])).toBe(marked);
  });

  it('is selected by public name or provider; it is the first of several deployments with the name', () => {
    const all = [gpt, other, oss];
    expect(chosen({ models: ['other'] }, all)).toBe(other);
    expect(chosen({ provider: 'hosted_vllm' }, all)).toBe(oss);
    expect(chosen({ provider: 'vllm' }, all)).toBe(oss);
    expect(chosen({ provider: 'openai' }, all)).toBe(gpt);
    expect(chosen({ models: ['oss'], provider: 'openai' }, all)).toBe(oss);
    const group = [made('g', 'openai', { id: '1' }), made('g', 'openai', { id: '2', apiBase: 'https://two/v1' })];
    expect(chosen({ models: ['g'] }, group).id).toBe('1');
    const wildcard = ['1', '2'].map((id) =>
      made('openai/*', 'openai', { id, upstreamModel: '*', apiBase: `https://${id}/v1` }),
    );
    expect(chosen({ models: ['openai/gpt-4o'] }, wildcard).id).toBe('1');
    expect(chosen({ models: ['gpt', 'again'] }, [gpt, other, made('again', 'openai')])).toBe(gpt);
    expect(chosen({ models: ['openai/x'] }, [made('openai/*', 'openai', { upstreamModel: '*' }), oss]).modelName).toBe(
      'openai/*',
    );
  });

  it('causes a 400 that says how to choose if it is ambiguous, unknown or missing', () => {
    const two = [gpt, other];
    expect(refusal(() => chosen({}, two))).toEqual([
      400,
      "/v1/files: it is not clear which deployment is meant: add ?model=<public name> or ?custom_llm_provider=<provider>, or set 'use_in_pass_through: true' for a deployment.",
    ]);
    expect(refusal(() => chosen({ models: ['gpt', 'other'] }, two))).toEqual([
      400,
      "/v1/files: it is not clear which deployment is meant: the request's models are at different upstreams; a file is at one upstream only.",
    ]);
    expect(refusal(() => chosen({ models: ['nobody'] }, two))[1]).toContain(
      'Invalid model name passed in model=nobody.',
    );
    expect(refusal(() => chosen({ models: ['claude'] }, two))[1]).toContain('bedrock has its own API');
    expect(refusal(() => chosen({ provider: 'azure' }, two))).toEqual([
      400,
      '/v1/files: no configured deployment can serve it: no deployment has the provider azure; configured: openai.',
    ]);
    expect(refusal(() => chosen({}, []))[0]).toBe(400);
  });
});
