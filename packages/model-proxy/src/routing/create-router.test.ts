import { describe, expect, it } from '@jest/globals';
import type { Deployment } from '../providers/deployment.js';
import { makeDeployment, SIMPLE_SHUFFLE } from '../../test/support/deployment.js';
import type { Random } from './strategies.js';
import { createRouterNow } from '../../test/support/router.js';

let made = 0;
function deployment(modelName: string, upstreamModel: string, more: Partial<Deployment> = {}): Deployment {
  made += 1;
  return makeDeployment({ id: `id-${made}`, modelName, upstreamModel, ...more });
}

interface RouterInputs {
  readonly aliases?: Readonly<Record<string, string>>;
  readonly hidden?: readonly string[];
  readonly unserved?: readonly string[];
  readonly random?: Random;
}

function routerOf(
  deployments: readonly Deployment[],
  { aliases = {}, hidden = [], unserved = [], random }: RouterInputs = {},
) {
  const modelGroupAlias = new Map(Object.entries(aliases));
  const reasons = new Map(unserved.map((name) => [name, 'bedrock has its own API']));
  const strategy = SIMPLE_SHUFFLE;
  const settings = { deployments, modelGroupAlias, hiddenAliases: new Set(hidden), unserved: reasons, strategy };
  return createRouterNow(settings, {}, random);
}

describe('selecting by a public name', () => {
  const chat = deployment('chat', 'gpt-oss-120b');
  const any = deployment('*', 'fallback');
  const openaiStar = deployment('openai/*', '*');
  const gptStar = deployment('openai/gpt-*', 'gpt-*-turbo');

  it('finds the deployment, case-sensitively, and nothing for unknown names', () => {
    const router = routerOf([chat]);
    expect(router.select('chat')).toEqual({ deployment: chat, modelGroup: 'chat', upstreamModel: 'gpt-oss-120b' });
    for (const name of ['Chat', 'chat ', '', 'toString', '__proto__']) expect(router.select(name)).toBeUndefined();
  });

  it('matches no wildcard above 256 characters, where matching could take very long', () => {
    const router = routerOf([deployment('*-*-*-*-x', 'stars')]);
    const name = (length: number) => `${'-'.repeat(length - 1)}x`;
    expect(router.select(name(256))?.upstreamModel).toBe('stars');
    expect(router.select(name(257))).toBeUndefined();
    // Matching this name would take longer than the time limit of the tests.
    expect(router.select('-'.repeat(1_000_000))).toBeUndefined();
  });

  it('finds a deployment by an alias of its group, and by its id', () => {
    const router = routerOf([chat], { aliases: { 'gpt-4': 'chat', lost: 'nowhere' } });
    expect(router.select('gpt-4')).toEqual({ deployment: chat, modelGroup: 'chat', upstreamModel: 'gpt-oss-120b' });
    expect(router.select(chat.id)?.deployment).toBe(chat);
    expect(router.select('lost')).toBeUndefined();
  });

  it('prefers aliases to groups, and groups to ids and wildcards', () => {
    const other = deployment('other', 'b', { id: 'chat' });
    const router = routerOf([any, chat, other], { aliases: { other: 'chat' } });
    expect(router.select('other')?.deployment).toBe(chat);
    expect(router.select('chat')?.deployment).toBe(chat);
    expect(router.select('else')?.deployment).toBe(any);
  });

  it('prefers the most specific wildcard to earlier ones, and replaces the stars of the upstream name', () => {
    const router = routerOf([any, openaiStar, gptStar, chat]);
    expect(router.select('openai/gpt-4')).toEqual({
      deployment: gptStar,
      modelGroup: 'openai/gpt-*',
      upstreamModel: 'gpt-4-turbo',
    });
    expect(router.select('openai/a/b')).toEqual({
      deployment: openaiStar,
      modelGroup: 'openai/*',
      upstreamModel: 'a/b',
    });
    expect(router.select('claude')).toEqual({ deployment: any, modelGroup: '*', upstreamModel: 'fallback' });
  });

  it('treats dots and brackets literally, and supports several stars', () => {
    const router = routerOf([deployment('a.b(*)-*', '*:*')]);
    expect(router.select('a.b(x)-y')?.upstreamModel).toBe('x:y');
    expect(router.select('axb(x)-y')).toBeUndefined();
    expect(routerOf([deployment('x-*', '*/*')]).select('x-1')?.upstreamModel).toBe('1/1');
  });

  it('matches no wildcard if the model cannot be served', () => {
    const router = routerOf([any], { aliases: { '*': 'chat' }, unserved: ['claude'] });
    expect(router.select('claude')).toBeUndefined();
    expect(router.select('claude-2')?.deployment).toBe(any);
  });

  it('uses a hidden alias with a star only if nothing else matches', () => {
    const other = deployment('other', 'b');
    const router = routerOf([chat, other], { aliases: { '*': 'chat' }, hidden: ['*'] });
    expect(router.select('whatever')?.deployment).toBe(chat);
    expect(router.select('other')?.deployment).toBe(other);
    expect(router.modelNames).toEqual(['chat', 'other']);
  });
});

describe('the list of names', () => {
  it('has each name once in the order of the configuration, then the aliases that are not hidden', () => {
    const router = routerOf(
      [deployment('b', '1'), deployment('a', '2'), deployment('b', '3'), deployment('x/*', '*')],
      {
        aliases: { seen: 'a', unseen: 'b' },
        hidden: ['unseen'],
      },
    );
    expect(router.modelNames).toEqual(['b', 'a', 'x/*', 'seen']);
    expect(router.deploymentsOf('b').map(({ upstreamModel }) => upstreamModel)).toEqual(['1', '3']);
    expect(router.deploymentsOf('unseen')).toHaveLength(2);
    expect(router.deploymentsOf('none')).toEqual([]);
  });
});

describe('several deployments of one name', () => {
  const count = (weights: readonly number[], steps = 1000) => {
    let step = 0;
    const deployments = weights.map((weight, index) => deployment('m', String(index), { weight }));
    const router = routerOf(deployments, { random: () => (step++ % steps) / steps });
    const counts = weights.map(() => 0);
    for (let index = 0; index < steps; index += 1) {
      const chosen = Number(router.select('m')?.upstreamModel);
      counts[chosen] = (counts[chosen] ?? 0) + 1;
    }
    return counts;
  };

  it.each([
    [
      [1, 1],
      [500, 500],
    ],
    [
      [3, 1],
      [750, 250],
    ],
    [
      [0, 1],
      [0, 1000],
    ],
    [
      [0, 0],
      [500, 500],
    ],
    [
      [0.25, 0.5, 0.25],
      [250, 500, 250],
    ],
  ])('with weights %j are selected %j times of 1000', (weights, expected) => {
    expect(count(weights)).toEqual(expected);
  });

  it('are also selected by weight if the name is a wildcard', () => {
    const [a, b] = [deployment('w/*', 'a-*'), deployment('w/*', 'b-*', { weight: 3 })];
    const router = routerOf([a, b], { random: () => 0.25 });
    expect(router.select('w/x')).toEqual({ deployment: b, modelGroup: 'w/*', upstreamModel: 'b-x' });
  });
});
