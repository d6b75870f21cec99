/** Translates delays and failures of a machine file into those of the fake driver. */
import { formatPath } from '@rackless/daemon/yaml/yaml-node.js';
import type { Duration, MachinePlan, PlannedFailure } from '../../drivers/fake/fake-plan.js';
import type { FileDelays, FileFailure } from './file-schema.js';

/** How long an operation hangs if the file sets no time. */
const HANGS_MS = 3_600_000;

/**
 * Returns the failures of a list.
 * @param path the path of the list in the file.
 */
export function failuresOf(failures: readonly FileFailure[], path: readonly PropertyKey[]): readonly PlannedFailure[] {
  return failures.map((failure, index) => {
    const { effect, operation, after = 0, calls, every = 1, share = 1, machine_share: machineShare = 1 } = failure;
    const { lasts } = failure;
    return {
      place: formatPath([...path, index]),
      effect,
      operation,
      afterMs: after * 1000,
      forMs: (failure.for ?? Infinity) * 1000,
      calls,
      every,
      share,
      machineShare,
      lasts: lasts === undefined ? (effect === 'hang' ? HANGS_MS : Infinity) : milliseconds(lasts),
    };
  });
}

/** Returns delays in milliseconds. */
export function delaysOf(delays: FileDelays): MachinePlan['delays'] {
  return Object.fromEntries(
    Object.entries(delays).flatMap(([name, delay]) => (delay === undefined ? [] : [[name, milliseconds(delay)]])),
  );
}

function milliseconds(seconds: Duration): Duration {
  return typeof seconds === 'number' ? seconds * 1000 : [seconds[0] * 1000, seconds[1] * 1000];
}
