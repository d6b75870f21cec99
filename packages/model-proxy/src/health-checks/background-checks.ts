/** Checks deployments regularly, and stores the results. */
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '@rackless/daemon/log/log.js';
import type { ProxyState } from '../exchange/exchange.js';
import type { Deployment } from '../providers/deployment.js';
import type { CheckRecord, CheckResult } from '../routing/check-record.js';
import { hostTimeMs } from '../routing/host-clock.js';
import type { SiblingEvent } from '../routing/siblings.js';
import type { BackgroundCheckSettings } from '../settings.js';
import { checkList, checkModel, type SharedListChecks } from './check.js';
import { mapWithLimit } from './map-with-limit.js';

/** The checks in the background. */
interface BackgroundChecks {
  /** Begins the checks if `background_health_checks` is true. Otherwise only removes earlier results. */
  start(proxy: ProxyState): void;
  /**
   * Uses new settings: ends running checks without a result, and begins again as {@link start}. Before
   * {@link start}, only removes the results of removed deployments.
   */
  apply(proxy: ProxyState): void;
  /** Ends running checks without a result, and begins no more checks. */
  stop(): void;
}

/** Share by which the interval between the starts of two rounds varies, up or down. */
const JITTER = 0.1;
/** Maximum time before the first round. */
const MAX_FIRST_WAIT_MS = 5000;
/** Time between the starts of two checks, so that many deployments do not slow down clients' requests. */
const GAP_MS = 5;
/** Minimum pause between the end of a round and the start of the next one. */
const MIN_PAUSE_MS = 50;
/** Statuses that do not count with `health_check_ignore_transient_errors`. */
const transient: ReadonlySet<number | null> = new Set([408, 429]);

/**
 * Creates the checks. They begin with {@link BackgroundChecks.start}.
 * @param publish sends each result to the other workers.
 */
export function createBackgroundChecks(
  log: Pick<Log, 'info' | 'warn' | 'error'>,
  publish: (event: CheckEvent) => void,
): BackgroundChecks {
  let current = new AbortController();
  let hasStarted = false;
  const begin = (proxy: ProxyState): void => {
    current.abort();
    current = new AbortController();
    const { background } = proxy.settings.healthChecks;
    const checked = background === null ? [] : checkedDeployments(proxy.settings.deployments, background);
    forgetOthers(proxy, checked);
    if (background === null || checked.length === 0) return;
    const { signal } = current;
    // Each running check adds a listener. Without this call, Node would warn of more than ten listeners.
    setMaxListeners(0, signal);
    repeat(proxy, checked, background, { log, publish }, signal).catch((error: unknown) => {
      if (!signal.aborted) log.error('checking deployments in the background failed', { error });
    });
  };
  return {
    start(proxy) {
      hasStarted = true;
      begin(proxy);
    },
    apply(proxy) {
      if (hasStarted) begin(proxy);
      else forgetOthers(proxy, proxy.settings.deployments);
    },
    stop: () => current.abort(),
  };
}

function checkedDeployments(
  deployments: readonly Deployment[],
  { modelGroups }: BackgroundCheckSettings,
): readonly Deployment[] {
  return deployments.filter((one) => !isCheckDisabled(one) && (modelGroups?.has(one.modelName) ?? true));
}

/** Returns whether `model_info` of a deployment excludes it from checks in the background. */
export function isCheckDisabled({ modelInfo }: Deployment): boolean {
  return modelInfo['disable_background_health_check'] === true;
}

/** Removes the results of deployments that are no longer checked. */
function forgetOthers({ checks, health }: ProxyState, checked: readonly Deployment[]): void {
  const ids = new Set(checked.map(({ id }) => id));
  for (const id of checks.keys()) {
    if (ids.has(id)) continue;
    checks.delete(id);
    health.failedChecks.remove(id);
  }
}

type CheckEvent = Extract<SiblingEvent, { readonly kind: 'checked' }>;

/** The recipients of the results: the log and the other workers. */
interface Reports {
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly publish: (event: CheckEvent) => void;
}

/** Checks the given deployments in rounds. Rejects when the signal aborts. */
async function repeat(
  proxy: ProxyState,
  deployments: readonly Deployment[],
  settings: BackgroundCheckSettings,
  reports: Reports,
  signal: AbortSignal,
): Promise<never> {
  const { intervalMs } = settings;
  const pause = (ms: number) => delay(ms, undefined, { ref: false, signal });
  await pause(Math.random() * Math.min(JITTER * intervalMs, MAX_FIRST_WAIT_MS));
  for (;;) {
    const end = performance.now() + intervalMs * (1 - JITTER + 2 * JITTER * Math.random());
    await checkAll(proxy, deployments, settings, reports, signal);
    await pause(Math.max(MIN_PAUSE_MS, end - performance.now()));
  }
}

/** Checks each deployment once, and stores the results. Rejects when the signal aborts. */
async function checkAll(
  proxy: ProxyState,
  deployments: readonly Deployment[],
  settings: BackgroundCheckSettings,
  reports: Reports,
  signal: AbortSignal,
): Promise<void> {
  const { log } = reports;
  const lists: SharedListChecks = new Map();
  let nextAt = performance.now();
  await mapWithLimit(deployments, proxy.settings.healthChecks.concurrency, async (deployment) => {
    nextAt = Math.max(performance.now(), nextAt + GAP_MS);
    await delay(nextAt - performance.now(), undefined, { ref: false, signal });
    const startedAt = performance.now();
    const result =
      settings.method === 'models'
        ? await checkList(proxy, deployment, { lists, log, signal })
        : await checkModel(proxy, deployment, signal);
    signal.throwIfAborted();
    store(proxy, deployment, result, { settings, ...reports, durationMs: performance.now() - startedAt });
  });
}

/** Inputs of {@link store}, besides the deployment and its result. */
interface StoreContext extends Reports {
  readonly settings: BackgroundCheckSettings;
  readonly durationMs: number;
}

/** Stores and publishes a result. Logs when the deployment begins to fail, and when it recovers. */
function store(
  proxy: ProxyState,
  { id }: Deployment,
  result: CheckResult,
  { settings, log, publish, durationMs }: StoreContext,
): void {
  const errorBefore = proxy.checks.get(id)?.error ?? null;
  const check = { ...result, checkedAt: Date.now(), durationMs };
  const { error } = result;
  if (error !== null && errorBefore === null) log.warn('a health check failed', { deployment: id, reason: error });
  if (error === null && errorBefore !== null) log.info('a health check succeeded again', { deployment: id });
  const event: CheckEvent = { kind: 'checked', id, check, failed: failedCheckOf(check, settings) };
  applyCheck(proxy, event);
  publish(event);
}

/**
 * Returns the failure that a check found.
 * @returns null: healthy, or no request was sent, so an earlier failure is removed; undefined: the failure does not
 *   count, and an earlier failure stays.
 */
function failedCheckOf(
  { error, status, isChecked, provesFailure }: CheckRecord,
  settings: BackgroundCheckSettings,
): CheckEvent['failed'] {
  if (error === null || !isChecked) return null;
  if (settings.ignoresTransient && transient.has(status)) return undefined;
  return { until: hostTimeMs() + settings.staleMs, steersRouting: settings.steersRouting, provesFailure };
}

/** Stores the result of a check of this worker or of another worker. */
export function applyCheck(
  { checks, health }: Pick<ProxyState, 'checks' | 'health'>,
  { id, check, failed }: CheckEvent,
): void {
  checks.set(id, check);
  if (failed === null) health.failedChecks.remove(id);
  else if (failed !== undefined) health.failedChecks.add(id, failed);
}
