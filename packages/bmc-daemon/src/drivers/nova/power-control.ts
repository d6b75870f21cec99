/** Executes power actions, and waits for their results. */
import { setTimeout as delay } from 'node:timers/promises';
import { DriverError, isDriverError } from '../driver-error.js';
import { endOf, type OperationOptions } from '../operation-options.js';
import type { PowerAction } from '../power.js';
import type { Accepted, ComputeApi } from './compute/compute-api.js';
import { planAction, taskOf, type PowerPlan } from './compute/power-plan.js';
import type { StatePolls } from './compute/state-polls.js';
import type { ServerList } from './compute/server-list.js';
import { isKnown, type Server } from './compute/server.js';
import { rejectionError } from './failure.js';
import { CloudFailure } from './http/cloud-failure.js';

/** Maximum age of a server's state on which an action may rely. */
const FRESH_MS = 1000;
/**
 * Longest wait for a result. Nova itself waits one minute for a guest to stop, and two minutes for
 * a guest to restart.
 */
const WAIT_MS = 600_000;
const FIRST_POLL_MS = 100;
const LAST_POLL_MS = 2000;
const POLL_GROWTH = 1.5;
/**
 * Maximum time without an answer. The driver polls until then, because Nova continues an accepted
 * action even while its API does not answer.
 */
const SILENCE_MS = 60_000;

/** The parts that power actions use. */
export interface PowerControlOptions {
  readonly api: ComputeApi;
  readonly list: ServerList;
  readonly polls: StatePolls;
  /** Aborts when the driver closes. */
  readonly closing: AbortSignal;
}

type Parts = Pick<PowerControlOptions, 'api' | 'list' | 'polls'>;

/**
 * Executes a power action. Resolves when the server has reached the expected state. If the guest
 * decides about the result, it resolves when Nova has accepted the action. Sends no action if there is nothing to do.
 * @param id the UUID.
 * @param known the server, if the operation has just read it.
 * @throws {DriverError} if the state does not allow the action, if Nova rejects it, or as {@link settle};
 *   {CloudFailure}; the reason of the signal.
 */
export async function executeAction(
  id: string,
  action: PowerAction,
  { known, ...options }: OperationOptions & { readonly known?: Server },
  control: PowerControlOptions,
): Promise<void> {
  await finish(id, await begin(id, action, { known, ...options, ...control }), options, control);
}

/** Options of {@link executePlan}. */
interface PlanOptions extends OperationOptions {
  /** Describes the action in errors. */
  readonly doing: string;
  /** Called after Nova has accepted the action, while Nova executes its task. */
  readonly onAccepted?: () => Promise<void>;
}

/** Executes a given action of Nova without a check of the state. Resolves and throws as {@link executeAction}. */
export async function executePlan(
  server: Server,
  plan: PowerPlan & { readonly body: NonNullable<PowerPlan['body']> },
  { doing, onAccepted, ...options }: PlanOptions,
  control: PowerControlOptions,
): Promise<void> {
  options.signal?.throwIfAborted();
  const accepted = await send(server.id, plan.body, { doing, ...control });
  await onAccepted?.();
  await finish(server.id, { server, doing, plan, accepted }, options, control);
}

/**
 * Waits for the result of an action, if the action has a result that the driver can see.
 * @throws as {@link settle}.
 */
async function finish(
  id: string,
  { server, doing, plan, accepted }: Begun,
  { signal }: OperationOptions,
  control: PowerControlOptions,
): Promise<void> {
  if (plan === undefined) return;
  const { goal } = plan;
  if (goal === undefined) return;
  const settling = { doing, accepted, wasThere: goal(server), ...control, signal: endOf(signal, control.closing) };
  await settle(id, goal, settling);
}

/** An action that Nova has accepted, that a running task of Nova already does, or that was not necessary. */
interface Begun {
  /** The server before the action. */
  readonly server: Server;
  readonly doing: string;
  readonly plan: PowerPlan | undefined;
  readonly accepted: Accepted | undefined;
}

/**
 * Plans and sends an action. If the last known state does not allow the action or makes it unnecessary, or if Nova
 * rejects the action as a conflict, reads the server again and decides by its new state.
 * @throws as {@link readServer}; {DriverError} conflict, if the new state does not allow the action; the errors of
 *   the action; the reason of the signal.
 */
async function begin(
  id: string,
  action: PowerAction,
  { known, signal, ...parts }: Parts & OperationOptions & { readonly known: Server | undefined },
): Promise<Begun> {
  const attempt = async (server: Server): Promise<Begun> => {
    // A cancelled operation sends no action.
    signal?.throwIfAborted();
    const doing = `${action} of server ${server.name}`;
    const plan = planAction(action, server);
    const accepted = plan?.body === undefined ? undefined : await send(id, plan.body, { doing, ...parts });
    return { server, doing, plan, accepted };
  };
  const last = known ?? lastReading(id, parts.list);
  if (last === undefined) return attempt(await readServer(id, parts));
  try {
    const begun = await attempt(last);
    // The plan says that no action is necessary. Another client may have changed the server meanwhile.
    return begun.plan === undefined ? await attempt(await readServer(id, parts)) : begun;
  } catch (error) {
    if (!isDriverError(error, 'conflict')) throw error;
    return attempt(await readServer(id, parts));
  }
}

/**
 * Returns the last known state; undefined if it is too old, if the cell of the server did not answer, or
 * if it shows a task of Nova, which may have ended.
 */
function lastReading(id: string, list: ServerList): Server | undefined {
  const known = list.find(id);
  if (known === undefined || performance.now() - known.readAt > FRESH_MS) return undefined;
  return known.server.task === null && known.snapshot.unansweredSince === undefined ? known.server : undefined;
}

/**
 * Reads a server.
 * @throws {DriverError} notFound, if the daemon does not serve the server; unavailable, if the cell of the server
 *   does not answer.
 * @throws {CloudFailure}
 */
export async function readServer(id: string, { api, list }: Pick<Parts, 'api' | 'list'>): Promise<Server> {
  const readAt = performance.now();
  const server = await api.getServer(id);
  const snapshot = list.record(id, server, { readAt });
  if (server === undefined || snapshot === undefined) {
    throw new DriverError('notFound', `looking up server ${id}: no such server`);
  }
  if (!isKnown(server)) throw new DriverError('unavailable', `reading server ${id}: its cell does not answer`);
  return server;
}

/**
 * Reads the state of a server for an operation. Its tags and metadata may be older. Many operations share a
 * listing. If the listing fails, each of them reads its own server.
 * @throws as {@link readServer}; the reason of `signal` or `closing`.
 */
export async function readState(
  id: string,
  { signal }: OperationOptions,
  control: PowerControlOptions,
): Promise<Server> {
  const { api, list, polls } = control;
  const since = performance.now();
  const { read, restMs } = polls.of(id, () => readServer(id, { api, list }));
  const ends = endOf(signal, control.closing);
  for (;;) {
    const server = await read(since);
    if (server !== undefined) return server;
    await pauseFor(restMs(), ends);
  }
}

/** Waits, but at most {@link LAST_POLL_MS}, because a longer rest may become shorter. @throws the signal's reason. */
async function pauseFor(ms: number, signal: AbortSignal): Promise<void> {
  const pause = Math.min(LAST_POLL_MS, Math.max(FIRST_POLL_MS, ms));
  await delay(pause, undefined, { signal }).catch((error: unknown) => {
    throw signal.aborted ? signal.reason : error;
  });
}

async function send(
  id: string,
  body: NonNullable<PowerPlan['body']>,
  { doing, api, list, polls }: Parts & { readonly doing: string },
): Promise<Accepted> {
  const answer = await polls.send(() => api.act(id, body));
  if (!('status' in answer)) {
    list.recordTask(id, taskOf(body));
    return answer;
  }
  // Nova answers "Instance is not ready" both while it builds a server and after a failed build. A read shows which.
  const isUnclear = answer.status === 404 || (answer.status === 409 && answer.reason.includes('is not ready'));
  if (!isUnclear) throw rejectionError(doing, answer, { isKnownServer: true });
  const readAt = performance.now();
  const isKnownServer = list.record(id, await api.getServer(id), { readAt }) !== undefined;
  throw rejectionError(doing, answer, { isKnownServer, isBuilding: list.find(id)?.server.vmState === 'building' });
}

type Goal = NonNullable<PowerPlan['goal']>;

interface Settling extends Omit<PowerControlOptions, 'closing'> {
  readonly doing: string;
  readonly accepted: Accepted | undefined;
  /**
   * Whether the server had the expected state already before the action. Then the state does not
   * prove that the action succeeded.
   */
  readonly wasThere: boolean;
  readonly signal: AbortSignal;
}

/**
 * Polls until the server has the expected state.
 * @throws {DriverError} conflict, if Nova reports a failure, or if the task of another client has ended without this
 *   state; unavailable, after {@link WAIT_MS}; those of {@link readServer}. {CloudFailure}, if Nova does not answer
 *   for {@link SILENCE_MS}. The reason of the signal.
 */
async function settle(id: string, goal: Goal, options: Settling): Promise<void> {
  const { doing, signal, polls, api, list } = options;
  const { read, restMs } = polls.of(id, () => readServer(id, { api, list }));
  const deadline = performance.now() + WAIT_MS;
  let answeredAt = performance.now();
  let pause = FIRST_POLL_MS;
  let since = answeredAt;
  while (performance.now() <= deadline) {
    try {
      const server = await read(since);
      if (server !== undefined) {
        if (await isSettled(server, goal, options)) return;
        since = answeredAt = performance.now();
      }
    } catch (error) {
      if (!(error instanceof CloudFailure) || performance.now() - answeredAt > SILENCE_MS) throw error;
    }
    await pauseFor(Math.max(pause, restMs()), signal);
    pause = Math.min(LAST_POLL_MS, pause * POLL_GROWTH);
  }
  throw new DriverError('unavailable', `${doing}: not complete after ${WAIT_MS / 1000} s`);
}

/**
 * Returns whether the server has reached the expected state.
 * @throws {DriverError} if it will not reach this state.
 */
async function isSettled(server: Server, goal: Goal, { doing, accepted, wasThere, api }: Settling): Promise<boolean> {
  if (server.task !== null) return false;
  if (server.vmState === 'error') {
    const why = server.fault === null ? '' : ` (${server.fault.message})`;
    throw conflictError(doing, `the server has the state ERROR${why}`);
  }
  const isThere = goal(server);
  if (isThere && !wasThere) return true;
  if (accepted?.requestId !== undefined && (await api.hasFailed(server.id, accepted.requestId))) {
    throw conflictError(doing, 'Nova reports an error in the list of its actions');
  }
  if (isThere) return true;
  // The driver waited for the task of another client and sent no action. That task has ended, but
  // without the expected state.
  if (accepted === undefined) throw conflictError(doing, `the server has the state ${server.vmState}`);
  return false;
}

const conflictError = (doing: string, why: string): DriverError => new DriverError('conflict', `${doing}: ${why}`);
