/** Effects of a start and a stop on a machine in memory, beside its power and its firmware. */
import type { SystemSnapshot } from '../driver.js';
import { afterUpdate } from '../firmware-update.js';

/** Returns the change that the end of a process makes. */
export function afterFailure({ failure }: SystemSnapshot): Partial<SystemSnapshot> {
  return failure === undefined ? {} : { failure: null };
}

/** Returns the change that a start makes. */
export function ownershipAfterStart(machine: SystemSnapshot): Partial<SystemSnapshot> {
  const { firmwareUpdate } = machine;
  return {
    ...afterFailure(machine),
    ...(firmwareUpdate === undefined ? {} : { firmwareUpdate: afterUpdate(firmwareUpdate) }),
  };
}
