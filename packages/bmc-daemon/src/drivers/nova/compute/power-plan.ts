/** Translates power actions into Nova's actions by the state of the server. */
import { isDeepStrictEqual } from 'node:util';
import { DriverError } from '../../driver-error.js';
import type { PowerAction } from '../../power.js';
import type { Server } from './server.js';
import { isStarting, stateOf, staysOn } from './snapshot.js';

/**
 * The power actions that the driver can execute. `reset` and `cycle` do the same: a hard reboot of
 * Nova always switches the server off and on. Nova has no power button.
 */
export const novaActions: ReadonlySet<PowerAction> = new Set([
  ...(['create', 'destroy', 'shutdown', 'reboot', 'reset', 'injectNmi', 'cycle'] as const),
  ...(['suspend', 'resume', 'pmSuspend'] as const),
]);

/** Returns whether a server has reached the result of an action. */
export type Goal = (server: Server) => boolean;

/** The request for an action, and its expected result. */
export interface PowerPlan {
  /** The body of Nova's action; undefined if the server already changes to the requested state. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  /** Undefined if the guest decides about the result: then the driver does not wait for it. */
  readonly goal: Goal | undefined;
}

const isRunning: Goal = (server) => stateOf(server) === 'running';
const isOff: Goal = (server) => stateOf(server) === 'shutoff';
const isPaused: Goal = (server) => stateOf(server) === 'paused';
const isSuspended: Goal = ({ vmState }) => vmState === 'suspended';

const hardReboot: PowerPlan = { body: { reboot: { type: 'HARD' } }, goal: isRunning };

/** Nova's tasks by action. Nova sets the task before it accepts the action. */
const tasks: Readonly<Record<string, string>> = {
  'os-start': 'powering-on',
  'os-stop': 'powering-off',
  pause: 'pausing',
  unpause: 'unpausing',
  suspend: 'suspending',
  resume: 'resuming',
  rescue: 'rescuing',
  unrescue: 'unrescuing',
  unshelve: 'unshelving',
};

/** Returns Nova's task for an accepted action; undefined if the action has none. */
export function taskOf(body: NonNullable<PowerPlan['body']>): string | undefined {
  const [action = ''] = Object.keys(body);
  if (action === 'reboot') return isDeepStrictEqual(body, hardReboot.body) ? 'rebooting_hard' : 'rebooting';
  return tasks[action];
}

/**
 * Returns the plan of an action; undefined if there is nothing to do, because the server is already in the
 * requested state or a graceful shutdown already runs.
 * @throws {DriverError} conflict, if the action needs a guest and the server is off; unavailable, if another
 *   task of Nova must end first; unsupported, for the power button.
 */
export function planAction(action: PowerAction, server: Server): PowerPlan | undefined {
  const { name, task, vmState } = server;
  const state = stateOf(server);
  switch (action) {
    case 'create':
      if (staysOn(server)) return undefined;
      if (isStarting(server) || task === 'unpausing') return { body: undefined, goal: isRunning };
      // Nova starts no server while another task runs. This task may stop the guest. The client may retry.
      if (task !== null)
        throw new DriverError('unavailable', `start of server ${name}: Nova executes its task ${task}`);
      return powerOn(server);
    case 'destroy':
      if (task === 'powering-off') return { body: undefined, goal: isOff };
      return state === 'shutoff' && task === null ? undefined : { body: { 'os-stop': null }, goal: isOff };
    case 'shutdown':
      requireGuest(server, 'graceful shutdown');
      return task === 'powering-off' ? undefined : { body: { 'os-stop': null }, goal: undefined };
    case 'reboot':
      requireGuest(server, 'graceful restart');
      return { body: { reboot: { type: 'SOFT' } }, goal: undefined };
    case 'reset':
    case 'cycle':
      return hardReboot;
    case 'injectNmi':
      requireGuest(server, 'non-maskable interrupt');
      return { body: { trigger_crash_dump: null }, goal: undefined };
    case 'suspend':
      requireGuest(server, 'pause');
      return state === 'paused' ? undefined : { body: { pause: null }, goal: isPaused };
    case 'resume':
      if (state === 'paused') return { body: { unpause: null }, goal: isRunning };
      if (vmState === 'suspended') return { body: { resume: null }, goal: isRunning };
      requireGuest(server, 'resume');
      return undefined;
    case 'pmSuspend':
      if (vmState === 'suspended') return undefined;
      requireGuest(server, 'suspend');
      return { body: { suspend: null }, goal: isSuspended };
    case 'pressButton':
      throw new DriverError('unsupported', 'power button: Nova has none');
  }
}

/**
 * Returns the plan that starts the server. The action depends on the state in which the guest does
 * not run.
 */
function powerOn({ vmState }: Server): PowerPlan {
  switch (vmState) {
    case 'paused':
      return { body: { unpause: null }, goal: isRunning };
    case 'suspended':
      return { body: { resume: null }, goal: isRunning };
    case 'shelved':
    case 'shelved_offloaded':
      return { body: { unshelve: null }, goal: isRunning };
    case 'active':
      // The guest has stopped, but Nova has not noticed it yet. Nova would reject a start.
      return hardReboot;
    default:
      return { body: { 'os-start': null }, goal: isRunning };
  }
}

function requireGuest(server: Server, what: string): void {
  if (stateOf(server) !== 'shutoff') return;
  throw new DriverError('conflict', `${what} of server ${server.name}: it is off (${server.vmState})`);
}
