/** Calls a function for several machines at the same time, and reports the result of each. */
import { CommandFailure, commonCode } from '../failure.js';
import { labelsIn } from '../machines/label.js';
import type { Machine } from '../machines/machine.js';
import { mapConcurrently } from '../redfish/collection.js';
import type { Resource } from '../redfish/resource.js';
import type { TaskOptions } from '../redfish/task.js';
import type { Call } from './command.js';
import { ProgressBars } from './progress-bars.js';
import { taskOptions } from './task-options.js';

/** The result for one machine. */
interface MachineResult {
  /** For people, after the name of the machine. Also the member `result` of `--json`. */
  readonly text: string;
  /** Further members for `--json`. */
  readonly data?: Resource;
}

/** Maximum number of machines that a command reads or changes at the same time. */
const CONCURRENCY = 8;

/**
 * Returns a function that returns the name of a machine for messages: `rack1/node-1` if the machines belong to
 * several services, and `node-1 (kvm-2)`, with the chassis or the id, if several of the machines in one service have
 * this name.
 */
export function labelsWithContext(machines: readonly Machine[]): (machine: Machine) => string {
  const several = new Set(machines.map(({ service }) => service)).size > 1;
  const labelOf = labelsIn(machines);
  return (machine) => {
    const label = labelOf(machine);
    return several && machine.context !== undefined ? `${machine.context}/${label}` : label;
  };
}

/** The result or the failure of one machine. */
interface Outcome<Result> {
  readonly machine: Machine;
  readonly result?: Result;
  readonly failure?: CommandFailure;
}

/**
 * Calls a function for each machine, for several at the same time. A {@link CommandFailure} of one
 * machine does not affect the others.
 * @param onFailure is called as soon as a machine fails, with the name that {@link labelsWithContext} returns.
 * @throws any other error, and the failure of a machine if the user has interrupted the command.
 */
export async function attemptEach<Result>(
  call: Call,
  machines: readonly Machine[],
  run: (machine: Machine, label: string) => Promise<Result>,
  onFailure: (label: string, failure: CommandFailure, machine: Machine) => void,
): Promise<readonly Outcome<Result>[]> {
  const labelOf = labelsWithContext(machines);
  return mapConcurrently(machines, CONCURRENCY, async (machine) => {
    const label = labelOf(machine);
    try {
      call.signal.throwIfAborted();
      return { machine, result: await run(machine, label) };
    } catch (error) {
      if (!(error instanceof CommandFailure) || call.signal.aborted) throw error;
      onFailure(label, error, machine);
      return { machine, failure: error };
    }
  });
}

/**
 * Changes each machine. Prints the results as they arrive, or with `--json` all of them at the end.
 * Shows the progress of tasks.
 * @param change gets the options for the task of the machine.
 * @throws {CommandFailure} after the last machine, if a machine failed. If the user interrupts the
 *   command, throws at once.
 */
export async function changeEach(
  call: Call,
  machines: readonly Machine[],
  change: (machine: Machine, options: TaskOptions) => Promise<MachineResult>,
): Promise<void> {
  const bars = new ProgressBars(call.terminal);
  const isJson = call.flag('json');
  const outcomes = await attemptEach(
    call,
    machines,
    async (machine, label) => {
      try {
        const options = taskOptions(call, (progress) => bars.show(machine, label, progress));
        const result = await change(machine, options);
        if (!isJson) call.terminal.print(`${label}: ${result.text}`);
        return result;
      } finally {
        bars.end(machine);
      }
    },
    (label, { message }, { name, uuid }) => {
      // Redfish's messages name a machine by its id, which is the UUID in bmc-daemon.
      const text = uuid === undefined ? message : message.replaceAll(`'${uuid}'`, () => `'${name}'`);
      if (!isJson) call.terminal.complain(`${label}: ${text}`);
    },
  );
  if (isJson) call.terminal.printJson(outcomes.map(jsonOf));
  throwFailures(outcomes);
}

function jsonOf({ machine, result, failure }: Outcome<MachineResult>): Resource {
  const { context, name, id, uuid } = machine;
  const base = { context, name, id, uuid };
  return failure === undefined
    ? { ...base, result: result?.text, ...result?.data }
    : { ...base, error: failure.message, exitCode: failure.code };
}

function throwFailures(outcomes: readonly Outcome<MachineResult>[]): void {
  const failures = outcomes.flatMap(({ failure }) => failure ?? []);
  if (failures.length === 0) return;
  // The printed lines already contain the reasons, so this text only counts the failures.
  const summary = outcomes.length === 1 ? '' : `${failures.length} of ${outcomes.length} machines failed`;
  throw new CommandFailure(commonCode(failures), summary);
}
