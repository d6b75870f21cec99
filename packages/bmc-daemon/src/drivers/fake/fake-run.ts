/** Effects of a start and a stop on the failure and the firmware version of a machine in memory. */
import type { CompleteSnapshot } from '../snapshot/system-snapshot.js';
import { afterUpdate } from '../rules/firmware-update.js';

/** Returns the change that clears a failure; an empty change if the snapshot has no member `failure`. */
export function withoutFailure({ failure }: CompleteSnapshot): Partial<CompleteSnapshot> {
  return failure === undefined ? {} : { failure: null };
}

/** Returns the change after a start: no failure, and the staged firmware version installed. */
export function afterStart(machine: CompleteSnapshot): Partial<CompleteSnapshot> {
  const { firmwareUpdate } = machine;
  return {
    ...withoutFailure(machine),
    ...(firmwareUpdate === undefined ? {} : { firmwareUpdate: afterUpdate(firmwareUpdate) }),
  };
}
