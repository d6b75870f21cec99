import { describe, expect, it } from '@jest/globals';
import { makeDeployment, SIMPLE_SHUFFLE } from '../../test/support/deployment.js';
import type { Deployment } from '../providers/deployment.js';
import type { RoutingStrategy } from '../settings.js';
import { createRouterNow } from '../../test/support/router.js';
import { createLatencies } from './latencies.js';
import { createLimits } from './limits.js';

/** Returns a router with its parts. `counts` selects 1,000 times, and returns how often each deployment was chosen. */
function setUp(name: RoutingStrategy, given: readonly Partial<Deployment>[], latencyBuffer = 0) {
  const clock = { now: 600_000 };
  const deployments = given.map((more, index) => makeDeployment({ id: 'abc'[index] ?? '', ...more }));
  const limits = createLimits(() => clock.now);
  const latencies = createLatencies(() => clock.now);
  const strategy = { ...SIMPLE_SHUFFLE, name, latencyBuffer };
  const router = createRouterNow({ deployments, modelGroupAlias: new Map(), strategy }, { limits, latencies });
  const chosen = (session: string | null, streams = false) =>
    router.select('public', undefined, { session, streams })?.deployment.id ?? '';
  const counts = (session: (request: number) => string | null = () => null, streams = false) => {
    const found: Record<string, number> = {};
    for (let request = 0; request < 1000; request += 1) {
      const id = chosen(session(request), streams);
      found[id] = (found[id] ?? 0) + 1;
    }
    return found;
  };
  return { clock, deployments, limits, latencies, chosen, counts };
}

describe('simple-shuffle', () => {
  const shareOfA = (given: readonly Partial<Deployment>[]) =>
    Math.round((setUp('simple-shuffle', given).counts()['a'] ?? 0) / 100);

  it('follows the weights, or else rpm, or else tpm', () => {
    expect(shareOfA([{ weight: 9 }, { weight: 1 }])).toBeGreaterThanOrEqual(8);
    expect(shareOfA([{ weight: 9, rpm: 1 }, { rpm: 1000 }])).toBeGreaterThanOrEqual(8);
    expect(shareOfA([{ rpm: 900 }, { rpm: 100 }])).toBeGreaterThanOrEqual(8);
    expect(shareOfA([{ tpm: 100, weight: null }, { tpm: 900 }])).toBeLessThanOrEqual(2);
  });

  it('also selects a deployment without rpm or tpm if others have one', () => {
    expect(shareOfA([{}, { rpm: 100 }])).toBeGreaterThanOrEqual(4);
  });
});

describe('the strategy', () => {
  it('least-busy chooses the deployment with the fewest running requests', () => {
    const { counts, limits, deployments } = setUp('least-busy', [{}, {}, {}]);
    for (const deployment of deployments.slice(0, 2)) limits.admit(deployment);
    expect(counts()).toEqual({ c: 1000 });
    for (const deployment of deployments.slice(1)) limits.admit(deployment);
    limits.admit(makeDeployment({ id: 'b' }));
    expect(Object.keys(counts()).sort()).toEqual(['a', 'c']);
    for (const deployment of deployments) limits.release(deployment);
    expect(Object.keys(counts()).sort()).toEqual(['a', 'c']);
  });

  it('usage-based-routing chooses the deployment with the fewest tokens in the current minute', () => {
    const { clock, counts, limits, deployments } = setUp('usage-based-routing', [{}, {}]);
    for (const [index, deployment] of deployments.entries()) {
      limits.admit(deployment);
      limits.addTokens(deployment, 100 - index);
    }
    expect(counts()).toEqual({ b: 1000 });
    clock.now += 60_000;
    expect(Object.keys(counts()).sort()).toEqual(['a', 'b']);
  });

  it('latency-based-routing chooses the fastest deployments by recent times, with separate times for streams', () => {
    const { clock, counts, latencies } = setUp('latency-based-routing', [{}, {}, {}], 0.5);
    latencies.add('a', false, 100);
    latencies.add('b', false, 140);
    latencies.add('c', false, 200);
    expect(Object.keys(counts()).sort()).toEqual(['a', 'b']);
    expect(Object.keys(counts(undefined, true)).sort()).toEqual(['a', 'b', 'c']);
    for (let count = 0; count < 10; count += 1) latencies.add('a', false, 1000);
    expect(counts()).toEqual({ b: expect.any(Number), c: expect.any(Number) });
    clock.now += 3_600_001;
    expect(Object.keys(counts()).sort()).toEqual(['a', 'b', 'c']);
  });

  it('cost-based-routing chooses the cheapest deployment', () => {
    const price = (input: number) => ({ modelInfo: { input_cost_per_token: input, output_cost_per_token: 1 } });
    expect(setUp('cost-based-routing', [price(3), price(2), {}]).counts()).toEqual({ b: 1000 });
    // YAML 1.1 reads `1e-6` as a text.
    const text = { modelInfo: { input_cost_per_token: '1e-6', output_cost_per_token: '1e-6' } };
    expect(setUp('cost-based-routing', [price(3), text, price(2)]).counts()).toEqual({ b: 1000 });
  });
});

describe('the router', () => {
  it('prefers the lowest order of the deployments with room', () => {
    const { counts, limits, deployments } = setUp('least-busy', [{}, { order: 2 }, { order: 1, rpm: 1 }]);
    expect(counts()).toEqual({ c: 1000 });
    limits.admit(deployments[2] ?? makeDeployment());
    expect(counts()).toEqual({ b: 1000 });
  });

  it('keeps a session at one deployment, and spreads sessions', () => {
    const { counts } = setUp('simple-shuffle', [{}, {}, {}]);
    for (const session of ['a', 'b', 'user-17']) expect(Object.keys(counts(() => session))).toHaveLength(1);
    const spread = counts((request) => `session ${request}`);
    expect(Object.values(spread).every((count) => count > 250)).toBe(true);
  });

  it('moves only the sessions of a deployment that has no room', () => {
    const given = [{}, {}, { rpm: 1 }];
    const [all, without] = [setUp('simple-shuffle', given), setUp('simple-shuffle', given)];
    without.limits.admit(without.deployments[2] ?? makeDeployment());
    for (let request = 0; request < 100; request += 1) {
      const session = `session ${request}`;
      const [first, second] = [all.chosen(session), without.chosen(session)];
      expect([first === 'c' ? 'a or b' : first, second]).toEqual([first === 'c' ? 'a or b' : second, second]);
    }
  });

  it('sends a session elsewhere while its deployment has far more requests than the others', () => {
    const { counts, limits, deployments } = setUp('simple-shuffle', [{}, {}]);
    const [id = ''] = Object.keys(counts(() => 'x'));
    const busy = deployments.find((deployment) => deployment.id === id) ?? makeDeployment();
    for (let count = 0; count < 10; count += 1) limits.admit(busy);
    expect(Object.keys(counts(() => 'x'))).not.toEqual([id]);
  });
});

describe('limits of a deployment', () => {
  it('reject more tokens and more parallel requests than allowed', () => {
    const { limits } = setUp('simple-shuffle', []);
    const parallel = makeDeployment({ id: 'p', maxParallelRequests: 2 });
    expect([limits.admit(parallel), limits.admit(parallel)]).toEqual([undefined, undefined]);
    expect([limits.hasRoom(parallel), limits.admit(parallel)?.status]).toEqual([false, 429]);
    limits.release(parallel);
    expect(limits.admit(parallel)).toBeUndefined();
    const tokens = makeDeployment({ id: 't', tpm: 100 });
    limits.admit(tokens);
    limits.addTokens(tokens, 100);
    expect([limits.hasRoom(tokens), limits.admit(tokens)?.message]).toEqual([
      false,
      expect.stringContaining('TPM limit=100'),
    ]);
  });
});
