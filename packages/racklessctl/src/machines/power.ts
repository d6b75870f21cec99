/** Power actions of a machine. */
import { CommandFailure, exitCode } from '../failure.js';
import { linkAt, listAt, objectAt, textAt, textsAt, type Resource } from '../redfish/resource.js';
import type { Service } from '../redfish/service.js';
import { completeTask, type TaskOptions } from '../redfish/task.js';
import { wait } from '../redfish/wait.js';
import { summaryOf, type Machine, type MachineSummary } from './machine.js';

/**
 * A power command: Redfish's reset types in the order of preference, and the power state that
 * follows.
 */
export interface PowerCommand {
  readonly summary: string;
  /** racklessctl sends the first type that the service lists for the machine; without a list, the first of all. */
  readonly resetTypes: readonly string[];
  /**
   * A machine in this state needs no request, unless the state is only the last known one. `--wait` waits for this
   * state. Absent: the command always sends a request, and has no option `--wait`.
   */
  readonly target?: 'On' | 'Off';
  /** The text for the user after the name of the machine, such as `on`. */
  readonly done: string;
}

/** The power commands by their names. */
export const powerCommands = {
  on: { summary: 'switch on', resetTypes: ['On', 'ForceOn'], target: 'On', done: 'on' },
  off: {
    summary: 'ask the operating system to shut down',
    resetTypes: ['GracefulShutdown'],
    target: 'Off',
    done: 'shutting down',
  },
  'force-off': { summary: 'switch off at once', resetTypes: ['ForceOff'], target: 'Off', done: 'off' },
  restart: { summary: 'ask the operating system to restart', resetTypes: ['GracefulRestart'], done: 'restarting' },
  'force-restart': { summary: 'reset at once', resetTypes: ['ForceRestart'], done: 'reset' },
  cycle: { summary: 'switch off and on', resetTypes: ['PowerCycle', 'FullPowerCycle'], done: 'power cycled' },
  nmi: { summary: 'send a non-maskable interrupt', resetTypes: ['Nmi'], done: 'interrupted' },
} as const satisfies Readonly<Record<string, PowerCommand>>;

/**
 * Returns whether the service cannot reach a machine, for example because its host is lost. The service then reports
 * only the last known values of the machine.
 */
export const isUnavailable = ({ state }: Pick<MachineSummary, 'state'>): boolean => state === 'UnavailableOffline';

/** Returns the power state for people. Marks it if it is only the last known one. */
export const powerText = ({ power, state }: Pick<MachineSummary, 'power' | 'state'>): string | undefined =>
  power !== undefined && isUnavailable({ state }) ? `${power} (last known)` : power;

/** Options of {@link runPower}. */
interface PowerOptions extends TaskOptions {
  /** Maximum time to wait for the target of the command, in milliseconds. Undefined: does not wait. */
  readonly waitMs: number | undefined;
}

/** Milliseconds between two reads of the power state. */
const POLL_MS = 1000;

/**
 * Executes a power command, and waits for its task. Sends no request if the machine already had the target state when
 * the command read it, unless that state is only the last known one.
 * @returns the text for the user.
 * @throws {CommandFailure} if the machine does not support the command, if the request or its task fails, or
 *   if the machine does not reach the target within `waitMs`.
 */
export async function runPower(machine: Machine, command: PowerCommand, options: PowerOptions): Promise<string> {
  const { service, uri, resource } = machine;
  const { target } = command;
  const { power, state } = summaryOf(machine);
  const isLastKnown = isUnavailable({ state });
  if (target !== undefined && power === target && !isLastKnown) return `already ${target.toLowerCase()}`;
  const action = objectAt(resource, 'Actions', '#ComputerSystem.Reset');
  const path = linkAt(action, 'target');
  if (path === undefined)
    throw new CommandFailure(exitCode.failed, 'the service offers no power actions for this machine');
  const allowed = await allowableValues(service, action, 'ResetType');
  const resetType = command.resetTypes.find((type) => allowed?.includes(type) ?? true);
  if (resetType === undefined)
    throw new CommandFailure(
      exitCode.failed,
      `the machine does not support ${command.resetTypes.join(' or ')} (ResetType). It supports: ${allowed?.join(', ') ?? ''}`,
    );
  try {
    const answer = await service.post(path, { ResetType: resetType }, `ResetType ${resetType}`);
    await completeTask(service, answer, options);
  } catch (error) {
    if (!isLastKnown || !(error instanceof CommandFailure)) throw error;
    throw new CommandFailure(error.code, `${error.message.replace(/\.?$/, '.')} ${lastKnownText(power)}`, {
      cause: error,
    });
  }
  if (target === undefined || options.waitMs === undefined) return command.done;
  await reachPowerState({ service, uri }, target, options.waitMs);
  return target.toLowerCase();
}

const lastKnownText = (power = 'unknown'): string =>
  `The service cannot reach the machine (UnavailableOffline), whose last known power state is ${power}.`;

async function reachPowerState(
  { service, uri }: Pick<Machine, 'service' | 'uri'>,
  target: string,
  waitMs: number,
): Promise<void> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const resource = await service.get(uri);
    const power = textAt(resource, 'PowerState');
    const isLastKnown = isUnavailable({ state: textAt(resource, 'Status', 'State') });
    if (power === target && !isLastKnown) return;
    const left = deadline - performance.now();
    if (left <= 0)
      throw new CommandFailure(
        exitCode.timeout,
        isLastKnown
          ? `the machine is unavailable after ${waitMs / 1000} s. ${lastKnownText(power)}`
          : `the power state is ${power ?? 'unknown'}, not ${target}, after ${waitMs / 1000} s`,
      );
    await wait(Math.min(POLL_MS, left), service.signal);
  }
}

/**
 * Returns the values that a parameter of an action may have; undefined if the service does not list
 * them. Services list them in the action itself or in its ActionInfo.
 */
async function allowableValues(
  service: Service,
  action: Resource,
  parameter: string,
): Promise<readonly string[] | undefined> {
  const listed = textsAt(action, `${parameter}@Redfish.AllowableValues`);
  if (listed !== undefined && listed.length > 0) return listed;
  const info = linkAt(action, '@Redfish.ActionInfo');
  if (info === undefined) return undefined;
  const parameters = listAt(await service.find(info), 'Parameters');
  return textsAt(
    parameters.find((each) => textAt(each, 'Name') === parameter),
    'AllowableValues',
  );
}
