/** Effects of a start and a stop on a machine in memory, except power and firmware. */
import type { CompleteSnapshot } from '../snapshot/system-snapshot.js';
import { afterUpdate } from '../rules/firmware-update.js';

/** Returns the change after the end of a process. */
export function afterFailure({ failure }: CompleteSnapshot): Partial<CompleteSnapshot> {
  return failure === undefined ? {} : { failure: null };
}

/** Returns the change after a start. */
export function ownershipAfterStart(machine: CompleteSnapshot): Partial<CompleteSnapshot> {
  const { firmwareUpdate } = machine;
  return {
    ...afterFailure(machine),
    ...(firmwareUpdate === undefined ? {} : { firmwareUpdate: afterUpdate(firmwareUpdate) }),
  };
}
