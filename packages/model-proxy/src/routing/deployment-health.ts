/**
 * Remembers which deployments fail, and removes them from the choice for some time (cooldown). After
 * a cooldown, a single request tries the deployment before all others may use it. The state is keyed
 * by deployment id, survives reloads, and lives as long as the process.
 */
import type { FailureKind } from '../errors/failure-kind.js';
import { coolsDown, cooldownMsOf, isBlamed, type Failure, type Minute } from './cooldown-rule.js';
import { createFailedChecks, type FailedChecks } from './failed-checks.js';

/** The health of all deployments. */
export interface DeploymentHealth {
  /** Forgets all deployments except those of the configuration. Later results of others have no effect. */
  retain(ids: ReadonlySet<string>): void;
  succeeded(id: string): void;
  failed(id: string, failure: Failure): void;
  /** A request goes to the deployment. */
  began(id: string): void;
  /** Returns whether the last request failed. */
  isSuspect(id: string): boolean;
  /** Returns the milliseconds until the end of the cooldown; 0: there is none. */
  coolingMs(id: string): number;
  /** Returns whether a request tries the deployment after its cooldown. */
  isOnTrial(id: string): boolean;
  /** Failed checks in the background. A successful request removes that of its deployment. */
  readonly failedChecks: FailedChecks;
  /** Whether all deployments are equally available: none cools down, must be tried or is avoided. */
  readonly isCalm: boolean;
  /** The deployments that have answered or failed a request, for the metrics. */
  readonly states: ReadonlyMap<string, DeploymentState>;
}

/** The state of a deployment, for the metrics. */
interface DeploymentState {
  readonly isSuspect: boolean;
  /** Number of cooldowns since the start. */
  readonly cooldowns: number;
  /** Time in milliseconds. */
  readonly coolsUntil: number;
}

interface State extends DeploymentState {
  isSuspect: boolean;
  cooldowns: number;
  coolsUntil: number;
  /** The deployment has cooled down, and no request has succeeded since. */
  isOnProbation: boolean;
  /** Until this time, the request that tries the deployment is the only one. */
  trialUntil: number;
  readonly minute: Minute;
}

/** A trial ends after this time even without a result, for example if its client has gone. */
const TRIAL_MS = 30_000;
const MINUTE_MS = 60_000;

/** Called when a cooldown begins. */
type OnCooldown = (id: string, cooldownMs: number, failure: FailureKind) => void;

/**
 * Creates the state without results.
 * @param now returns the time in milliseconds.
 */
export function createDeploymentHealth(
  onCooldown: OnCooldown = () => undefined,
  now: () => number = Date.now,
): DeploymentHealth {
  const states = new Map<string, State>();
  /** The ids of the configuration; null: not known. */
  let configured: ReadonlySet<string> | null = null;
  /** Number of deployments on probation, which includes those that cool down. */
  let onProbation = 0;
  const failedChecks = createFailedChecks(now);

  const stateOf = (id: string): State => {
    let state = states.get(id);
    if (state === undefined) {
      const minute = { number: 0, successes: 0, failures: 0, failuresInRow: 0 };
      state = { isSuspect: false, cooldowns: 0, coolsUntil: 0, isOnProbation: false, trialUntil: 0, minute };
      states.set(id, state);
    }
    return state;
  };
  const currentMinute = ({ minute }: State): Minute => {
    const number = Math.floor(now() / MINUTE_MS);
    if (minute.number !== number) Object.assign(minute, { number, successes: 0, failures: 0, failuresInRow: 0 });
    return minute;
  };

  return {
    retain(ids) {
      configured = ids;
      for (const [id, { isOnProbation }] of states) {
        if (ids.has(id)) continue;
        states.delete(id);
        if (isOnProbation) onProbation -= 1;
      }
    },
    succeeded(id) {
      if (configured?.has(id) === false) return;
      const state = stateOf(id);
      const minute = currentMinute(state);
      minute.successes += 1;
      minute.failuresInRow = 0;
      state.isSuspect = false;
      if (!failedChecks.isEmpty) failedChecks.remove(id);
      // A request that began before the cooldown does not end it.
      if (!state.isOnProbation || state.coolsUntil > now()) return;
      state.isOnProbation = false;
      state.trialUntil = 0;
      onProbation -= 1;
    },
    failed(id, failed) {
      if (!isBlamed(failed.failure) || configured?.has(id) === false) return;
      const state = stateOf(id);
      const minute = currentMinute(state);
      minute.failures += 1;
      minute.failuresInRow += 1;
      state.isSuspect = true;
      state.trialUntil = 0;
      const time = now();
      if (state.coolsUntil > time || !coolsDown(failed, minute, state.isOnProbation)) return;
      const cooldownMs = cooldownMsOf(failed);
      if (cooldownMs === 0) return;
      state.coolsUntil = time + cooldownMs;
      state.cooldowns += 1;
      if (!state.isOnProbation) onProbation += 1;
      state.isOnProbation = true;
      onCooldown(id, cooldownMs, failed.failure);
    },
    began(id) {
      if (onProbation === 0) return;
      const state = states.get(id);
      if (state?.isOnProbation === true) state.trialUntil = now() + TRIAL_MS;
    },
    failedChecks,
    isSuspect: (id) => states.get(id)?.isSuspect === true,
    coolingMs: (id) => Math.max(0, (states.get(id)?.coolsUntil ?? 0) - now()),
    isOnTrial: (id) => (states.get(id)?.trialUntil ?? 0) > now(),
    get isCalm() {
      return onProbation === 0 && failedChecks.isEmpty;
    },
    states,
  };
}
