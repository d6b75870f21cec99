import { describe, expect, it } from '@jest/globals';
import { makeDeployment, SIMPLE_SHUFFLE } from '../../test/support/deployment.js';
import { createRouterNow } from '../../test/support/router.js';
import { createLimits } from './limits.js';

describe('rpm of a deployment', () => {
  it('rejects requests with 429 and the seconds to wait, until the next minute', () => {
    let now = 120_000 + 45_500;
    const limits = createLimits(() => now);
    const deployment = makeDeployment({ rpm: 2 });
    expect([limits.admit(deployment), limits.admit(deployment)]).toEqual([undefined, undefined]);
    expect(limits.hasRoom(deployment)).toBe(false);
    const refused = limits.admit(deployment);
    expect([refused?.status, refused?.type, refused?.headers]).toEqual([
      429,
      'rate_limit_error',
      { 'retry-after': '15' },
    ]);
    now = 180_000;
    expect([limits.hasRoom(deployment), limits.admit(deployment)]).toEqual([true, undefined]);
  });

  it('is counted for each deployment separately, and only if it is configured', () => {
    const limits = createLimits(() => 0);
    expect(limits.admit(makeDeployment({ id: 'a', rpm: 1 }))).toBeUndefined();
    expect(limits.admit(makeDeployment({ id: 'b', rpm: 1 }))).toBeUndefined();
    for (let count = 0; count < 10; count += 1) expect(limits.admit(makeDeployment({ id: 'c' }))).toBeUndefined();
  });

  it('sends requests to the other deployments of the group while they have room', () => {
    const limits = createLimits(() => 0);
    const deployments = [
      makeDeployment({ id: 'small', rpm: 1, weight: 1000 }),
      makeDeployment({ id: 'large', rpm: 3 }),
      makeDeployment({ id: 'star', modelName: 'x/*', upstreamModel: '*', rpm: 1 }),
    ];
    const router = createRouterNow(
      { deployments, modelGroupAlias: new Map(), strategy: SIMPLE_SHUFFLE },
      { limits },
      () => 0,
    );
    const ask = (name: string) => {
      const deployment = router.select(name)?.deployment;
      return deployment === undefined || limits.admit(deployment) !== undefined ? 'refused' : deployment.id;
    };
    expect(Array.from({ length: 5 }, () => ask('public'))).toEqual(['small', 'large', 'large', 'large', 'refused']);
    expect([ask('x/a'), ask('x/b')]).toEqual(['star', 'refused']);
  });
});
