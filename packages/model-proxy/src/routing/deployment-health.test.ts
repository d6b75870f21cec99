import { describe, expect, it } from '@jest/globals';
import { makeDeployment, SIMPLE_SHUFFLE } from '../../test/support/deployment.js';
import type { FailureKind } from '../errors/failure-kind.js';
import type { CooldownSettings } from '../settings.js';
import type { Failure } from './cooldown-rule.js';
import { createRouterNow } from '../../test/support/router.js';
import { createDeploymentHealth } from './deployment-health.js';

const defaults: CooldownSettings = { isDisabled: false, cooldownMs: 5000, allowedFails: null, policy: new Map() };
const failureOf = (failure: FailureKind, more: Partial<Failure> = {}): Failure => ({
  failure,
  retryAfterMs: null,
  hasSiblings: true,
  settings: defaults,
  ownCooldownMs: null,
  ...more,
});

/** Creates health with a clock. `fail` counts a failure, and returns the rest of the cooldown. */
function setUp() {
  const clock = { now: 600_000 };
  const cooled: string[] = [];
  const health = createDeploymentHealth(
    (id, ms) => cooled.push(`${id} ${ms}`),
    () => clock.now,
    () => undefined,
  );
  const fail = (failure: FailureKind, more: Partial<Failure> = {}, id = 'a') => {
    health.countFailure(id, failureOf(failure, more));
    return health.coolingMs(id);
  };
  return { clock, cooled, health, fail };
}

describe('a deployment cools down', () => {
  it('at once after failures that will not end soon', () => {
    for (const failure of ['rateLimit', 'authentication', 'permission', 'notFound'] as const)
      expect(setUp().fail(failure)).toBe(5000);
  });

  it('after at least five requests in a minute if more than half of them failed', () => {
    const { clock, fail, health, cooled } = setUp();
    expect(Array.from({ length: 5 }, () => fail('internalServer'))).toEqual([0, 0, 0, 0, 5000]);
    expect([fail('internalServer'), cooled]).toEqual([5000, ['a 5000']]);
    for (let count = 0; count < 3; count += 1) health.countSuccess('b');
    expect(Array.from({ length: 3 }, () => fail('timeout', {}, 'b'))).toEqual([0, 0, 0]);
    expect(fail('timeout', {}, 'b')).toBe(5000);
    clock.now += 60_000;
    expect(Array.from({ length: 4 }, () => fail('timeout', {}, 'c'))).toEqual([0, 0, 0, 0]);
    clock.now += 60_000;
    expect(fail('timeout', {}, 'c')).toBe(0);
  });

  it('after five failures in a row, even if it has answered 10,000 requests in that minute', () => {
    const { fail, health } = setUp();
    for (let count = 0; count < 10_000; count += 1) health.countSuccess('a');
    expect(Array.from({ length: 4 }, () => fail('timeout'))).toEqual([0, 0, 0, 0]);
    health.countSuccess('a');
    expect(Array.from({ length: 5 }, () => fail('timeout'))).toEqual([0, 0, 0, 0, 5000]);
  });

  it('for its own cooldown_time, or for the Retry-After of the upstream up to five minutes', () => {
    expect(setUp().fail('rateLimit', { retryAfterMs: 7000 })).toBe(7000);
    expect(setUp().fail('rateLimit', { retryAfterMs: 1e12 })).toBe(300_000);
    expect(setUp().fail('rateLimit', { retryAfterMs: 7000, ownCooldownMs: 1000 })).toBe(1000);
    expect(setUp().fail('rateLimit', { retryAfterMs: 0 })).toBe(0);
  });

  it('after more failures than allowed_fails, even if it is the only deployment', () => {
    const settings = { ...defaults, allowedFails: 2, policy: new Map([['timeout', 0] as const]) };
    const alone = { settings, hasSiblings: false };
    const { fail } = setUp();
    expect([fail('internalServer', alone), fail('rateLimit', alone), fail('rateLimit', alone)]).toEqual([0, 0, 5000]);
    expect(setUp().fail('timeout', alone)).toBe(5000);
  });

  it('never after a fault of the request, never with disable_cooldowns, nor alone if allowed_fails is not set', () => {
    const { fail, health } = setUp();
    for (let count = 0; count < 100; count += 1) {
      expect(fail('badRequest') + fail('contextWindow') + fail('contentPolicy')).toBe(0);
      expect(fail('rateLimit', { hasSiblings: false }, 'b')).toBe(0);
      expect(fail('rateLimit', { settings: { ...defaults, isDisabled: true } }, 'c')).toBe(0);
    }
    expect([health.isSuspect('a'), health.isSuspect('b'), health.isCalm]).toEqual([false, true, true]);
  });
});

describe('during and after a cooldown', () => {
  it('a single request tries the deployment, and its failure begins the next cooldown', () => {
    const { clock, fail, health } = setUp();
    const deployments = [makeDeployment({ id: 'a', weight: 1000 }), makeDeployment({ id: 'b' })];
    const router = createRouterNow(
      { deployments, modelGroupAlias: new Map(), strategy: SIMPLE_SHUFFLE },
      { health },
      () => 0,
    );
    const select = () => {
      const id = router.select('public')?.deployment.id ?? '';
      health.noteStart(id);
      return id;
    };
    fail('rateLimit');
    expect([select(), health.isCalm]).toEqual(['b', false]);
    clock.now += 5000;
    expect([select(), select(), select()]).toEqual(['a', 'b', 'b']);
    fail('internalServer');
    expect([health.coolingMs('a'), select()]).toEqual([5000, 'b']);
    clock.now += 5000;
    expect([select(), select()]).toEqual(['a', 'b']);
    health.countSuccess('a');
    expect([health.isCalm, select(), select()]).toEqual([true, 'a', 'a']);
  });

  it('the deployment gets requests after a trial that succeeded, although another one still cools down', () => {
    const { clock, fail, health } = setUp();
    fail('rateLimit');
    fail('rateLimit', { ownCooldownMs: 3_600_000 }, 'b');
    clock.now += 5000;
    health.noteStart('a');
    health.countSuccess('a');
    expect([health.isCalm, health.isOnTrial('a')]).toEqual([false, false]);
  });

  it('a request that never ends does not prevent the next trial', () => {
    const { clock, fail, health } = setUp();
    fail('rateLimit');
    clock.now += 5000;
    health.noteStart('a');
    expect(health.isOnTrial('a')).toBe(true);
    clock.now += 30_000;
    expect(health.isOnTrial('a')).toBe(false);
  });

  it('the success of a request that began earlier does not end the cooldown', () => {
    const { fail, health } = setUp();
    fail('rateLimit');
    health.countSuccess('a');
    expect(health.coolingMs('a')).toBe(5000);
  });
});

describe('a reload', () => {
  it('forgets removed deployments, also those with requests that fail later', () => {
    const { health, fail } = setUp();
    fail('rateLimit');
    health.retain(new Set(['a', 'b']));
    expect([health.isCalm, health.coolingMs('a')]).toEqual([false, 5000]);
    health.retain(new Set(['b']));
    expect([health.isCalm, health.coolingMs('a'), health.states.size]).toEqual([true, 0, 0]);
    fail('rateLimit');
    health.countSuccess('a');
    expect([health.isCalm, health.states.size]).toEqual([true, 0]);
  });
});

describe('a failed check', () => {
  const select = (health: ReturnType<typeof setUp>['health']) => {
    const deployments = ['a', 'b'].map((id) => makeDeployment({ id, apiBase: `https://${id}.test/v1` }));
    const settings = { deployments, modelGroupAlias: new Map<string, string>(), strategy: SIMPLE_SHUFFLE };
    return createRouterNow(settings, { health }, () => 0).select('public')?.deployment.id;
  };

  it('moves requests to other deployments until it is too old', () => {
    const { clock, health } = setUp();
    health.failedChecks.add('a', { until: clock.now + 1000, steersRouting: true, provesFailure: true });
    expect(select(health)).toBe('b');
    clock.now += 1000;
    expect([health.failedChecks.isDown('a'), select(health)]).toEqual([false, 'a']);
  });

  it('counts less than a failed request', () => {
    const { clock, health, fail } = setUp();
    health.failedChecks.add('a', { until: clock.now + 60_000, steersRouting: true, provesFailure: true });
    fail('rateLimit', {}, 'b');
    expect(select(health)).toBe('a');
  });

  it('is reported, but does not change the choice without enable_health_check_routing', () => {
    const { clock, health } = setUp();
    health.failedChecks.add('a', { until: clock.now + 1000, steersRouting: false, provesFailure: true });
    expect([health.failedChecks.isDown('a'), select(health)]).toEqual([true, 'a']);
  });
});
