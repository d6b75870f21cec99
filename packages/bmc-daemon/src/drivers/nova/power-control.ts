/** Executes power actions, and waits for their results. */
import { setTimeout as delay } from 'node:timers/promises';
import { DriverError } from '../driver-error.js';
import type { OperationOptions } from '../operation-options.js';
import type { PowerAction } from '../power.js';
import type { Accepted, ComputeApi } from './compute/compute-api.js';
import { planAction, type PowerPlan } from './compute/power-plan.js';
import type { ServerList } from './compute/server-list.js';
import { isKnown, type Server } from './compute/server.js';
import { rejection } from './failure.js';

/** Longest wait for a result. Nova waits a minute for a guest to stop, and two for one to restart. */
const WAIT_MS = 600_000;
const FIRST_POLL_MS = 100;
const LAST_POLL_MS = 2000;
const POLL_GROWTH = 1.5;

/** The parts that power actions use. */
interface PowerControlOptions {
  readonly api: ComputeApi;
  readonly list: ServerList;
  /** Aborts when the driver closes. */
  readonly closing: AbortSignal;
}

/**
 * Executes a power action. It resolves when the server has reached its result, or when Nova has
 * accepted an action that the guest decides.
 * @param id the UUID.
 */
export async function executeAction(
  id: string,
  action: PowerAction,
  { signal }: OperationOptions,
  { api, list, closing }: PowerControlOptions,
): Promise<void> {
  const server = await read(id, { api, list });
  const doing = `${action} of server ${server.name}`;
  const plan = planAction(action, server);
  if (plan === undefined) return;
  const accepted = plan.body === undefined ? undefined : await send(id, plan.body, { doing, api, list });
  // The next reader sees the task.
  const after = await read(id, { api, list });
  if (plan.goal === undefined) return;
  const ends = signal === undefined ? closing : AbortSignal.any([signal, closing]);
  await settle(after, plan.goal, { doing, accepted, api, list, signal: ends });
}

async function read(id: string, { api, list }: Pick<PowerControlOptions, 'api' | 'list'>): Promise<Server> {
  const readAt = performance.now();
  const server = await api.getServer(id);
  const snapshot = list.record(id, server, { readAt });
  if (server === undefined || snapshot === undefined) {
    throw new DriverError('notFound', `looking up server ${id}: there is none`);
  }
  if (!isKnown(server)) throw new DriverError('unavailable', `reading server ${id}: its cell does not answer`);
  return server;
}

async function send(
  id: string,
  body: NonNullable<PowerPlan['body']>,
  { doing, api, list }: Pick<PowerControlOptions, 'api' | 'list'> & { readonly doing: string },
): Promise<Accepted> {
  const answer = await api.act(id, body);
  if (!('status' in answer)) return answer;
  const readAt = performance.now();
  const exists = answer.status === 404 && list.record(id, await api.getServer(id), { readAt }) !== undefined;
  throw rejection(doing, answer, { exists });
}

/** Polls until the task has ended. @throws {DriverError} if the server then has another state. */
async function settle(
  first: Server,
  goal: NonNullable<PowerPlan['goal']>,
  {
    doing,
    accepted,
    api,
    list,
    signal,
  }: Pick<PowerControlOptions, 'api' | 'list'> & {
    readonly doing: string;
    readonly accepted: Accepted | undefined;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const deadline = performance.now() + WAIT_MS;
  const { id } = first;
  let pause = FIRST_POLL_MS;
  for (let server = first; ; server = await read(id, { api, list })) {
    const ended = server.task === null;
    if (ended && server.vmState === 'error') throw failed(doing, 'the server has the state ERROR');
    if (ended && accepted?.requestId !== undefined && (await api.hasFailed(id, accepted.requestId))) {
      throw failed(doing, 'Nova reports an error in the list of its actions');
    }
    if (ended && goal(server)) return;
    // Another client may have changed the server meanwhile.
    if (ended && accepted === undefined) throw failed(doing, `the server has the state ${server.vmState}`);
    if (performance.now() > deadline) {
      throw new DriverError('unavailable', `${doing}: not complete after ${WAIT_MS / 1000} s`);
    }
    await delay(pause, undefined, { signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
      throw signal.reason;
    });
    pause = Math.min(LAST_POLL_MS, pause * POLL_GROWTH);
  }
}

const failed = (doing: string, why: string): DriverError => new DriverError('conflict', `${doing}: ${why}`);
