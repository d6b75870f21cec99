/**
 * Remembers which deployments fail, and removes them from the choice for some time (cooldown). After
 * a cooldown, one request tries the deployment. Until the trial ends, all other requests prefer other
 * deployments. The state is keyed by deployment id, survives reloads, and lives as long as the process.
 */
import type { FailureKind } from '../errors/failure-kind.js';
import type { SiblingEvent } from './siblings.js';
import { coolsDown, cooldownMsOf, isBlamed, type Failure, type Minute } from './cooldown-rule.js';
import { createFailedChecks, type FailedChecks } from './failed-checks.js';

/** The health of all deployments. */
export interface DeploymentHealth {
  /** Forgets all deployments except those of the configuration. Later results of removed deployments have no effect. */
  retain(ids: ReadonlySet<string>): void;
  /** Counts a request that succeeded at the deployment. Ends a trial, and removes the failed check. */
  countSuccess(id: string): void;
  /** Counts a failed request, unless the client caused the failure. May begin a cooldown. */
  countFailure(id: string, failure: Failure): void;
  /**
   * Notes that a request goes to the deployment. The request is a trial if no other one has succeeded since the last
   * cooldown.
   */
  noteStart(id: string): void;
  /** Applies what another worker has observed. */
  applyEvent(event: HealthEvent): void;
  /**
   * Returns whether the last request failed, or another worker has begun a cooldown. Failures that the client caused do
   * not count.
   */
  isSuspect(id: string): boolean;
  /** Returns the milliseconds until the end of the cooldown; 0: there is none. */
  coolingMs(id: string): number;
  /** Returns whether a request tries the deployment after its cooldown. */
  isOnTrial(id: string): boolean;
  /** Failed checks in the background. A successful request removes the failed check of its deployment. */
  readonly failedChecks: FailedChecks;
  /** Whether no deployment cools down, no deployment must be tried after a cooldown, and no failed check is stored. */
  readonly isCalm: boolean;
  /** The deployments with a counted request, or with an event of another worker, for the metrics. */
  readonly states: ReadonlyMap<string, DeploymentState>;
}

/** The state of a deployment, for the metrics. */
interface DeploymentState {
  readonly isSuspect: boolean;
  /** Number of cooldowns that requests of this process began. Those of other workers do not count. */
  readonly cooldowns: number;
  /** End of the last cooldown, as `hostTimeMs` returns it; 0: there was none. */
  readonly coolsUntil: number;
}

interface State extends DeploymentState {
  isSuspect: boolean;
  cooldowns: number;
  coolsUntil: number;
  /** A cooldown has begun, and no request has succeeded since its end. */
  isOnProbation: boolean;
  /** Until this time, a request tries the deployment, and other requests prefer other deployments. */
  trialUntil: number;
  readonly minute: Minute;
}

/** A trial ends after this time even without a result, for example if its client has gone. */
const TRIAL_MS = 30_000;
const MINUTE_MS = 60_000;

/** Creates the states of all deployments. */
function createStates() {
  const all = new Map<string, State>();
  let onProbation = 0;
  return {
    all,
    /** Number of deployments on probation, which includes those that cool down. */
    get onProbation() {
      return onProbation;
    },
    of(id: string): State {
      let state = all.get(id);
      if (state === undefined) {
        const minute = { number: 0, successes: 0, failures: 0, failuresInRow: 0 };
        state = { isSuspect: false, cooldowns: 0, coolsUntil: 0, isOnProbation: false, trialUntil: 0, minute };
        all.set(id, state);
      }
      return state;
    },
    retain(ids: ReadonlySet<string>): void {
      for (const [id, { isOnProbation }] of all) {
        if (ids.has(id)) continue;
        all.delete(id);
        if (isOnProbation) onProbation -= 1;
      }
    },
    cool(state: State, until: number): void {
      state.coolsUntil = until;
      if (!state.isOnProbation) onProbation += 1;
      state.isOnProbation = true;
    },
    recover(state: State): void {
      state.isSuspect = false;
      state.isOnProbation = false;
      state.trialUntil = 0;
      onProbation -= 1;
    },
  };
}

/** Called when a cooldown begins. */
type OnCooldown = (id: string, cooldownMs: number, failure: FailureKind) => void;

/** Observations of one worker that the other workers of its group need. */
type HealthEvent = Extract<SiblingEvent, { readonly kind: 'cooled' | 'tried' | 'recovered' }>;

/**
 * Creates the state without results.
 * @param now returns the time in milliseconds.
 * @param publish gets what other workers must know.
 */
export function createDeploymentHealth(
  onCooldown: OnCooldown,
  now: () => number,
  publish: (event: HealthEvent) => void,
): DeploymentHealth {
  const states = createStates();
  /** The ids of the configuration; null: `retain` was not called yet, so all ids count. */
  let configured: ReadonlySet<string> | null = null;
  const failedChecks = createFailedChecks(now);

  const currentMinute = ({ minute }: State): Minute => {
    const number = Math.floor(now() / MINUTE_MS);
    if (minute.number !== number) Object.assign(minute, { number, successes: 0, failures: 0, failuresInRow: 0 });
    return minute;
  };

  return {
    retain(ids) {
      configured = ids;
      states.retain(ids);
    },
    countSuccess(id) {
      if (configured?.has(id) === false) return;
      const state = states.of(id);
      const minute = currentMinute(state);
      minute.successes += 1;
      minute.failuresInRow = 0;
      state.isSuspect = false;
      if (!failedChecks.isEmpty) failedChecks.remove(id);
      // A request that began before the cooldown does not end it.
      if (!state.isOnProbation || state.coolsUntil > now()) return;
      states.recover(state);
      publish({ kind: 'recovered', id });
    },
    countFailure(id, failed) {
      if (!isBlamed(failed.failure) || configured?.has(id) === false) return;
      const state = states.of(id);
      const minute = currentMinute(state);
      minute.failures += 1;
      minute.failuresInRow += 1;
      state.isSuspect = true;
      state.trialUntil = 0;
      const time = now();
      if (state.coolsUntil > time || !coolsDown(failed, minute, state.isOnProbation)) return;
      const cooldownMs = cooldownMsOf(failed);
      if (cooldownMs === 0) return;
      state.cooldowns += 1;
      states.cool(state, time + cooldownMs);
      publish({ kind: 'cooled', id, until: state.coolsUntil });
      onCooldown(id, cooldownMs, failed.failure);
    },
    noteStart(id) {
      if (states.onProbation === 0) return;
      const state = states.all.get(id);
      if (state?.isOnProbation !== true) return;
      const time = now();
      const isOnTrial = state.trialUntil > time;
      state.trialUntil = time + TRIAL_MS;
      if (!isOnTrial) publish({ kind: 'tried', id, until: state.trialUntil });
    },
    applyEvent(event) {
      if (configured?.has(event.id) === false) return;
      const state = states.of(event.id);
      if (event.kind === 'cooled') {
        state.isSuspect = true;
        state.trialUntil = 0;
        states.cool(state, Math.max(state.coolsUntil, event.until));
      } else if (event.kind === 'tried') state.trialUntil = event.until;
      else if (state.isOnProbation && state.coolsUntil <= now()) states.recover(state);
    },
    failedChecks,
    isSuspect: (id) => states.all.get(id)?.isSuspect === true,
    coolingMs: (id) => Math.max(0, (states.all.get(id)?.coolsUntil ?? 0) - now()),
    isOnTrial: (id) => (states.all.get(id)?.trialUntil ?? 0) > now(),
    get isCalm() {
      return states.onProbation === 0 && failedChecks.isEmpty;
    },
    states: states.all,
  };
}
