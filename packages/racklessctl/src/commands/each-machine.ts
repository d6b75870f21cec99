/** Does something with several machines at the same time, and reports each of them. */
import { CommandFailure, exitCode } from '../failure.js';
import type { Machine } from '../machines/machine.js';
import { mapConcurrently } from '../redfish/collection.js';
import type { Resource } from '../redfish/resource.js';
import type { Call } from './command.js';
import { ProgressBars } from './progress-bars.js';

/** A result for one machine. */
interface MachineResult {
  /** For people. */
  readonly text: string;
  /** For `--json`. */
  readonly data?: Resource;
}

/** Machines that are changed at the same time. */
const CONCURRENCY = 8;

/** Returns the name of a machine as messages show it: `rack1/node-1` if there are several services. */
export function labelsOf(machines: readonly Machine[]): (machine: Machine) => string {
  const several = new Set(machines.map(({ service }) => service)).size > 1;
  return ({ context, name }) => (several && context !== undefined ? `${context}/${name}` : name);
}

/**
 * Calls a function for each machine. Prints the results as they arrive, or all of them as JSON. A failure of one
 * machine does not affect the others.
 * @throws {CommandFailure} if a machine failed.
 */
export async function eachMachine(
  call: Call,
  machines: readonly Machine[],
  change: (machine: Machine, bars: ProgressBars) => Promise<MachineResult>,
): Promise<void> {
  const bars = new ProgressBars(call.terminal);
  const labelOf = labelsOf(machines);
  const outcomes = await mapConcurrently(machines, CONCURRENCY, async (machine): Promise<Outcome> => {
    const label = labelOf(machine);
    try {
      call.signal.throwIfAborted();
      const result = await change(machine, bars);
      if (!call.flag('json')) call.terminal.print(`${label}: ${result.text}`);
      return { machine, result };
    } catch (error) {
      if (!(error instanceof CommandFailure) || call.signal.aborted) throw error;
      if (!call.flag('json')) call.terminal.complain(`${label}: ${error.message}`);
      return { machine, failure: error };
    } finally {
      bars.end(machine);
    }
  });
  if (call.flag('json')) call.terminal.printJson(outcomes.map(jsonOf));
  throwFailures(outcomes);
}

interface Outcome {
  readonly machine: Machine;
  readonly result?: MachineResult;
  readonly failure?: CommandFailure;
}

function jsonOf({ machine, result, failure }: Outcome): Resource {
  const { context, name, id, uuid } = machine;
  const base = { context, name, id, uuid };
  return failure === undefined
    ? { ...base, result: result?.text, ...result?.data }
    : { ...base, error: failure.message, exitCode: failure.code };
}

function throwFailures(outcomes: readonly Outcome[]): void {
  const failures = outcomes.flatMap(({ failure }) => failure ?? []);
  const [first] = failures;
  if (first === undefined) return;
  const code = failures.every((failure) => failure.code === first.code) ? first.code : exitCode.failed;
  // The lines above have the reasons.
  throw new CommandFailure(
    code,
    outcomes.length === 1 ? '' : `${failures.length} of ${outcomes.length} machines failed`,
  );
}
